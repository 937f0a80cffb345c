"""What `new` does: writes a package with something of the user's own that conforms and works."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path
from string import Template

from agent_env.errors import ConfigError
from agent_env.wiring.registry import registry_of

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_PUZZLES = "agent-env run time-puzzles --limit 4"
KINDS = {
    "family": "agent-env run {entry}",
    "tool": f"{_PUZZLES} --condition {{entry}}",
    "scorer": f"{_PUZZLES} --scorer {{entry}}",
    "metric": f"{_PUZZLES} --metric {{entry}}",
    "model": f"{_PUZZLES} --model {{entry}}",
    "feature": f"{_PUZZLES} --condition base --{{entry}} 'Are you sure?'",
    "exporter": f"{_PUZZLES} --out {{entry}}-run && "
    "agent-env episodes export {entry}-run --to {entry}",
}
"""What can be written, with the command that uses it."""
_TEXTS = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Skeleton:
    folder: Path
    files: tuple[Path, ...]
    command: str
    """Uses what was written, once the package is installed."""


def write_skeleton(kind: str, name: str, out: Path | None = None) -> Skeleton:
    """Writes the package, by default into a new folder NAME; ConfigError where it cannot be."""
    if kind not in KINDS:
        raise ConfigError(f"no skeleton of a '{kind}'; write one of {', '.join(KINDS)}")
    if not NAME.fullmatch(name) or len(name) > 40:
        raise ConfigError(
            f"'{name}' is not a name for a package; write up to 40 small letters, digits and "
            "hyphens, such as leap-days"
        )
    package = name.replace("-", "_")
    registry = registry_of("families" if kind == "family" else f"{kind}s")
    entry = package if kind in ("tool", "metric") else name
    if entry in registry.names():
        raise ConfigError(
            f"{kind} '{entry}' is there: {registry.entry(entry).origin}; take another"
        )
    if iskeyword(package) or find_spec(package) is not None:
        raise ConfigError(f"'{package}' is a module of Python or of an installed package already")
    folder = out or Path(name)
    names = {
        "pyproject.toml": "pyproject",
        f"{package}/__init__.py": "package",
        f"{package}/{kind}.py": kind,
        f"tests/test_{package}.py": f"{kind}_test",
    }
    values = {
        "name": name,
        "package": package,
        "entry": entry,
        "group": registry.group,
        "target": f"{package}.{kind}:{'FAMILY' if kind == 'family' else package}",
    }
    texts = {file: Template(_text(text)).substitute(values) for file, text in names.items()}
    return Skeleton(folder, _write(folder, texts), KINDS[kind].format(entry=entry))


def _text(name: str) -> str:
    return (_TEXTS / f"{name}.txt").read_text(encoding="utf-8")


def _write(folder: Path, texts: Mapping[str, str]) -> tuple[Path, ...]:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder} is there and not empty; name another folder by --out")
    files = {folder / file: text for file, text in texts.items()}
    try:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as exc:
        raise ConfigError(f"cannot write to {folder}: {exc.strerror}") from exc
    return tuple(files)
