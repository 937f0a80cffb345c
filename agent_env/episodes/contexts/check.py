"""Checks from the traces alone that the models of several runs read the same context.

For each episode, compares the digest in its trace with that of the actual text before the question;
then the digests of all episodes with contexts of the same name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from agent_env.episodes.run_folder import RunFolder
from agent_env.episodes.trace.lines import read_trace
from agent_env.errors import DatasetError
from agent_env.records.trace_events import EpisodeStarted
from agent_env.tasks.context_text import split
from agent_env.tasks.contexts import text_digest


@dataclass(frozen=True, slots=True)
class EpisodeContext:
    """The context of one episode."""

    run: str
    episode: str
    context: str
    """`cited` or `cited:NAME`."""
    sample: str
    digest: str | None
    """Of the text before the question; None if the trace states another."""


@dataclass(frozen=True, slots=True)
class ContextComparison:
    """One sample under one set of cited pages, over all runs."""

    context: str
    sample: str
    digests: tuple[str, ...]
    """The different ones, sorted."""
    absent: tuple[str, ...]
    """Runs without such an episode."""
    broken: tuple[str, ...]
    """Episodes whose trace has a wrong digest, or none."""

    @property
    def is_equal(self) -> bool:
        """Whether every run read the same bytes."""
        return len(self.digests) == 1 and not self.absent and not self.broken


def episode_contexts(folder: RunFolder) -> Iterator[EpisodeContext]:
    """The contexts of the run's episodes; an unreadable trace counts as broken."""
    named = {c.name: c.context for c in folder.manifest.conditions if c.context is not None}
    for trace in folder.traces():
        context = named.get(trace.parent.name)
        if context is not None:
            sample = trace.stem.rpartition(".")[0]
            key = folder.key_of(trace)
            yield EpisodeContext(str(folder.path), key, context, sample, _digest(folder, trace))


def _digest(folder: RunFolder, trace: object) -> str | None:
    try:
        events = read_trace(trace)  # type: ignore[arg-type]
    except DatasetError:
        return None
    start = events[0] if events else None
    if not isinstance(start, EpisodeStarted):
        return None
    content = next((m.content for m in start.messages if m.role == "user"), "")
    digest = text_digest(split(content)[0])
    return digest if digest == start.context else None


def compare_contexts(
    contexts: Iterable[EpisodeContext], runs: Sequence[str]
) -> list[ContextComparison]:
    """A row for each set of pages and sample, in order."""
    groups: dict[tuple[str, str], list[EpisodeContext]] = {}
    for each in contexts:
        groups.setdefault((each.context, each.sample), []).append(each)
    return [
        ContextComparison(
            context=context,
            sample=sample,
            digests=tuple(sorted({r.digest for r in group if r.digest is not None})),
            absent=tuple(run for run in runs if run not in {r.run for r in group}),
            broken=tuple(f"{r.run} {r.episode}" for r in group if r.digest is None),
        )
        for (context, sample), group in sorted(groups.items())
    ]
