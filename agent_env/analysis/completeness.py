"""What lacks of runs in shards, and the mark that every table over them bears."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from agent_env.analysis.result_tables import ResultTable

if TYPE_CHECKING:
    from agent_env.analysis.study import Arm, RunData, Study

MARK = "Incomplete: "
"""How a remark on it begins."""


def incomplete(runs: Sequence[RunData], arms: Sequence[Arm]) -> Iterator[str]:
    """A remark for each shard, and for each merged run that lacks shards or ends of episodes."""
    for run in runs:
        manifest, where = run.manifest, f"{run.name}: " if len(runs) > 1 else ""
        own = [arm for arm in arms if arm.run == run.name]
        number = sum(arm.missing + arm.outcomes["unfinished"] for arm in own)
        if manifest.lack:
            yield f"{MARK}{where}{manifest.lack}."
        if number and (manifest.merged or manifest.shard):
            yield f"{MARK}{where}{number} episodes did not come to their end."


def marked(table: ResultTable, study: Study) -> ResultTable:
    """The table of the study, with what lacks where something does."""
    remarks = [note for note in study.notes if note.startswith(MARK)]
    if not remarks:
        return table
    notes = (*remarks, *(note for note in table.notes if note not in remarks))
    return replace(table, title=f"{table.title} (incomplete)", notes=notes, brief="")
