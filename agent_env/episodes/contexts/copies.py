"""Copies of context files in a run's folder, checked against its samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_env.episodes.run_folder import RunFolder, digest
from agent_env.errors import ConfigError, DatasetError
from agent_env.records.manifest import ContextUse, Manifest
from agent_env.records.schema import Sample
from agent_env.tasks.conditions import CONTEXT_NAME
from agent_env.tasks.contexts import Contexts, check_covers, parse_contexts, read_contexts


@dataclass(frozen=True, slots=True)
class ContextOption:
    """A `--cited-from` of the user."""

    name: str
    """`cited` or `cited:NAME`."""
    file: Path


def parse_context_options(options: Sequence[str]) -> tuple[ContextOption, ...]:
    """FILE or NAME=FILE each; a file whose own name has a `=` is written ./a=b.jsonl."""
    given = tuple(map(_parse, options))
    names = [each.name for each in given]
    for name in names:
        if names.count(name) > 1:
            what = f"name '{name[6:]}'" if ":" in name else "option without a name"
            raise ConfigError(f"--cited-from: the {what} is given twice; write NAME=FILE")
    return given


def _parse(option: str) -> ContextOption:
    name, equals, file = option.partition("=")
    if not equals or "/" in name:
        return ContextOption("cited", Path(option))
    if not CONTEXT_NAME.fullmatch(name):
        raise ConfigError(
            f"--cited-from: '{name}' is no name; use up to 40 letters, digits, dots, - and _"
        )
    return ContextOption(f"cited:{name}", Path(file))


@dataclass(frozen=True, slots=True)
class ContextCopy:
    """A context file as the run keeps it."""

    use: ContextUse
    data: bytes


def make_copies(
    given: Sequence[ContextOption], samples: Sequence[Sample], note: Callable[[str], None]
) -> tuple[ContextCopy, ...]:
    """Each file with its entry in run.json; ConfigError for a file of other samples. `note` reports
    samples without a page."""
    return tuple(_copy(each, samples, note) for each in given)


def _copy(
    given: ContextOption, samples: Sequence[Sample], note: Callable[[str], None]
) -> ContextCopy:
    contexts = read_contexts(given.file)
    check_covers(given.file, contexts, samples)
    data, header = contexts.data(), contexts.header
    use = ContextUse(
        name=given.name,
        file=f"contexts/{given.name.replace(':', '-')}.jsonl",
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
        note(f"{given.file} has contexts for {header.samples} samples, {len(samples)} are asked")
    if use.empty:
        note(describe_use(use))
    return ContextCopy(use, data)


def describe_use(use: ContextUse) -> str:
    """One line on the source of the pages and the number of samples without any."""
    return (
        f"{use.name}: pages that {use.source_model} {' or '.join(use.kinds)} in {use.source_run} "
        f"({use.source_condition}); {use.empty} of {use.samples} samples have none and are asked "
        "without"
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
