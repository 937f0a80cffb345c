"""Logs of lines `SAMPLE SCORE`, in files that end in .lines."""

from pathlib import Path

from agent_env.features.interop.foreign.log import ForeignEpisode, ForeignLog, LogReader


def read(file: Path, with_transcripts: bool) -> list[ForeignLog]:
    """One log."""
    rows = [line.split() for line in file.read_text().splitlines()]
    episodes = tuple(ForeignEpisode(name, 1, {"right": float(score)}) for name, score in rows)
    samples = {name: {"kind": "line"} for name, _ in rows}
    return [ForeignLog(file, "lines 1", "lines", file.stem, episodes, samples)]


READER = LogReader(lambda path: path.suffix == ".lines", read)
