"""The study.toml that `study new` writes: it runs as it is, without key or network."""

from __future__ import annotations

from pathlib import Path

from agent_env.features.studies.read import FILE
from agent_env.sdk.errors import ConfigError

_EXAMPLE = Path(__file__).with_name("example.toml")


def write_study(folder: Path, text: str | None = None) -> Path:
    """Writes study.toml, by default the example; ConfigError where a study is there."""
    file = folder / FILE
    if file.exists():
        raise ConfigError(f"{file} is there already; name another folder, or edit it")
    if (folder / "run.json").exists():
        raise ConfigError(f"{folder} is a run; name a new folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(_EXAMPLE.read_text("utf-8") if text is None else text, encoding="utf-8")
    except OSError as exc:
        raise ConfigError(f"cannot write to {folder}: {exc.strerror}") from exc
    return file
