"""What is kept of another tool's log: where a run came from, what its episodes came to there."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, JsonValue

from agent_env.records.reach import Plain


class ImportedResult(BaseModel):
    """What the source says of one episode's end; our own scorers had no part in it."""

    model_config = ConfigDict(frozen=True, extra="allow")

    metrics: Plain[dict[str, float]] = {}
    """By scorer, or by scorer and part; empty where it has no score."""
    answer: Plain[str | None] = None
    """As it was scored; None where the source does not tell it."""
    output: Plain[str | None] = None
    """What was given out in the end, where that is known; may be other than the last reply."""
    used: Plain[dict[str, float]] = {}
    """By `analysis.study.QUANTITIES`; is in the place of sums over the calls."""
    stop_reason: Plain[str | None] = None
    """In the source's words."""


class ImportSource(BaseModel):
    """The log that a run was imported from."""

    model_config = ConfigDict(frozen=True, extra="allow")

    tool: Plain[str]
    """With its version, where the log tells it."""
    file: Plain[str]
    """Its name, without its folder."""
    digest: Plain[str | None] = None
    """SHA-256 of the file; None where the log is compared as it is."""
    status: Plain[str | None] = None
    """How the whole log ended, in the source's words."""
    results: Plain[tuple[dict[str, JsonValue], ...]] = ()
    """The source's own figures over all episodes, an object for each scorer."""
    metrics: Plain[tuple[str, ...]]
    """Of all episodes, in the log's order."""
    notes: Plain[tuple[str, ...]] = ()
    """What the source lacks, and what of it could not be read, counted."""
