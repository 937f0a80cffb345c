"""Cited pages as a run keeps and shows them: context files copied into its folder, and what its
episodes had before the question, by their traces alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_env.episodes.run_folder import RunFolder, digest
from agent_env.episodes.trace.lines import read_trace
from agent_env.errors import ConfigError, DatasetError
from agent_env.records.manifest import ContextUse, Manifest
from agent_env.records.schema import Sample
from agent_env.records.trace_events import (
    EpisodeStarted,
)
from agent_env.tasks.conditions import CONTEXT_NAME
from agent_env.tasks.contexts import (
    Contexts,
    check_covers,
    parse_contexts,
    read_contexts,
    split,
    text_digest,
)


@dataclass(frozen=True, slots=True)
class ContextOption:
    """A `--cited-from` of the user."""

    name: str
    """`cited` or `cited:NAME`."""
    file: Path


def parse_context_options(options: Sequence[str]) -> tuple[ContextOption, ...]:
    """FILE or NAME=FILE each; a file whose own name has a `=` is written ./a=b.jsonl."""
    parsed = tuple(map(_parse_option, options))
    names = [each.name for each in parsed]
    for name in names:
        if names.count(name) > 1:
            what = f"name '{name[6:]}'" if ":" in name else "option without a name"
            raise ConfigError(f"--cited-from: the {what} is given twice; write NAME=FILE")
    return parsed


def _parse_option(option: str) -> ContextOption:
    name, equals, file = option.partition("=")
    if not equals or "/" in name:
        return ContextOption("cited", Path(option))
    if not CONTEXT_NAME.fullmatch(name):
        raise ConfigError(
            f"--cited-from: '{name}' is not a name; use up to 40 letters, digits, dots, - and _"
        )
    return ContextOption(f"cited:{name}", Path(file))


@dataclass(frozen=True, slots=True)
class ContextCopy:
    """A context file as the run keeps it."""

    use: ContextUse
    data: bytes


def make_copies(
    context_options: Sequence[ContextOption], samples: Sequence[Sample], note: Callable[[str], None]
) -> tuple[ContextCopy, ...]:
    """Each file with its entry in run.json; ConfigError for a file of other samples. `note` reports
    samples without a page."""
    return tuple(_copy(each, samples, note) for each in context_options)


def _copy(
    option: ContextOption, samples: Sequence[Sample], note: Callable[[str], None]
) -> ContextCopy:
    contexts = read_contexts(option.file)
    check_covers(option.file, contexts, samples)
    data, header = contexts.data(), contexts.header
    use = ContextUse(
        name=option.name,
        file=f"contexts/{option.name.replace(':', '-')}.jsonl",
        digest=digest(data),
        source_run=header.source_run,
        source_model=header.source_model,
        source_condition=header.source_condition,
        kinds=header.kinds,
        budget=header.budget,
        tokenizer=header.tokenizer,
        samples=len(samples),
        empty=sum(not contexts.by_sample[sample.id].text for sample in samples),
    )
    if header.samples > len(samples):
        note(f"{option.file} has contexts for {header.samples} samples, {len(samples)} are asked")
    if use.empty:
        note(describe_use(use))
    return ContextCopy(use, data)


def describe_use(use: ContextUse) -> str:
    """One line on the source of the pages and the number of samples without any."""
    return (
        f"{use.name}: pages that {use.source_model} {' or '.join(use.kinds)} in {use.source_run} "
        f"({use.source_condition})"
    ) + (
        f"; {use.empty} of {use.samples} samples have none and are asked without" * (use.empty > 0)
    )


def copied_files(folder: RunFolder, manifest: Manifest) -> dict[str, bytes]:
    """The copies by their paths in the folder, for a run with the same pages; DatasetError if one
    was changed since."""
    read_copies(folder, manifest)
    return {use.file: folder.read(use.file) for use in manifest.contexts}


def read_copies(folder: RunFolder, manifest: Manifest) -> dict[str, Contexts]:
    """The contexts by name, from the run's folder; DatasetError if one was changed since."""
    by_name = {}
    for use in manifest.contexts:
        file = folder.path / use.file
        data = folder.read(use.file)
        by_name[use.name] = parse_contexts(file, data)
        if digest(data) != use.digest:
            raise DatasetError(file, None, "was changed after the run; its digest is another")
    return by_name


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


def episode_contexts(folder: RunFolder) -> Iterator[EpisodeContext]:
    """The contexts of the run's episodes; an unreadable trace counts as broken."""
    named = {c.name: c.context for c in folder.manifest.conditions if c.context is not None}
    for trace in folder.traces():
        context = named.get(trace.parent.name)
        if context is not None:
            sample = trace.stem.rpartition(".")[0]
            key = folder.key_of(trace)
            yield EpisodeContext(str(folder.path), key, context, sample, _digest_of(folder, trace))


def _digest_of(folder: RunFolder, trace: object) -> str | None:
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
