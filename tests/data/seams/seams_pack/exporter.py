"""The names of a run's episodes, a line each."""

from pathlib import Path

from agent_env.features.interop.export.source import Source


def write(source: Source, out: Path) -> dict[str, int]:
    """How many names there are."""
    names = [f"{each.episode.condition}/{each.episode.sample}" for each in source]
    (out / "names.txt").write_text("".join(f"{name}\n" for name in sorted(names)))
    return {"names": len(names)}
