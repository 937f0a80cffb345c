"""The ladder of conditions: those that mean something for a run's samples, and its cited pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from agent_env.errors import ConfigError
from agent_env.records.schema import Condition, Record, Sample
from agent_env.runs.options.run_options import RunOptions
from agent_env.tasks.family import SampleSet, option_texts
from agent_env.tasks.tool_registry import web_tools

PageBuilder = Callable[[RunOptions, SampleSet], Awaitable[Path]]
"""From options of a scripted run, with its folder, and the samples to the file of the pages that
it cites."""


def rungs_of(
    conditions: Sequence[Condition],
    unworded: Collection[str],
    samples: Sequence[Sample],
    note: Callable[[str], None],
) -> tuple[Condition, ...]:
    """The conditions of a ladder that mean something for these samples; notes on the others."""
    lost = dict.fromkeys(unworded, "these questions have no dates to spell out")
    if not any(sample.evidence for sample in samples):
        without = (each.name for each in conditions if each.context or web_tools(each))
        lost |= dict.fromkeys(without, "no page proves the answers")
    kept = tuple(each for each in conditions if each.name not in lost)
    if len(kept) < 2:
        reasons = "; ".join(dict.fromkeys(lost.values()))
        raise ConfigError(f"--condition ladder: {reasons}, so there is nothing to compare")
    for name, reason in lost.items():
        note(f"left {name} out of the ladder: {reason}")
    return kept


async def cited_pages(
    options: RunOptions,
    chosen: Record,
    sample_set: SampleSet,
    build: PageBuilder | None,
    note: Callable[[str], None],
) -> tuple[Any, ...]:
    """The pages that the scripted reference cites for these samples on the sealed web."""
    from agent_env.episodes.contexts import ContextOption, make_copies

    if options.web_mode != "sealed" or build is None:
        raise ConfigError(
            "cited pages are found on our sealed web alone; name them: --cited-from FILE "
            "(agent-env web context build)"
        )
    if not any(sample.evidence for sample in sample_set.samples):
        raise ConfigError(
            "condition 'cited': no page proves the answers of these samples; name their pages: "
            "--cited-from FILE"
        )
    with TemporaryDirectory() as parent:
        scripted = RunOptions(
            options.task,
            conditions=("web",),
            options=option_texts(chosen.model_dump(mode="json")),
            out=Path(parent) / "reference",
            web=options.web,
            objects=options.objects,
            permit=options.permit,
        )
        pages = ContextOption("cited", await build(scripted, sample_set))
        return make_copies([pages], sample_set.samples, note)
