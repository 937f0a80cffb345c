"""The commands on cited contexts: build a file from a run, compare the contexts of runs.

Whether the models of several runs read the same context is checked from the traces alone: the
digest in each is compared with that of the text before the question, then those of all episodes
with contexts of the same name.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from agent_env.sdk.commands import Opt
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.inside import (
    KINDS,
    Contexts,
    Kind,
    TrustRun,
    check_store,
    find_runs,
    make_tokenizer,
    needs_web,
    site_of,
    store_path,
    web_tools,
)
from agent_env.sdk.run import Run, own_call
from agent_env.sdk.trace import write_whole

if TYPE_CHECKING:
    from agent_env.sdk.inside import EpisodeContext, Fetcher
    from agent_env.sdk.records import Manifest
    from agent_env.sdk.web import SqlitePages

DEFAULT_KINDS: tuple[Kind, ...] = ("cited", "opened")
FETCHED = "fetched.db"
"""Pages fetched after the run, apart from those of the run itself."""


@dataclass(frozen=True, slots=True)
class BuildOptions:
    run: Annotated[Path, Opt("A run whose model had a web.", metavar="RUN", argument=True)]
    out: Annotated[Path, Opt("The file to write.")]
    condition: Annotated[str | None, Opt("Whose pages.", shown="web, or the only one")] = None
    """None takes the run's `web`, or its only condition that has a web."""
    kinds: Annotated[
        tuple[str, ...],
        Opt(
            "Joined by commas: cited, opened, returned.",
            typed=str,
            default=",".join(DEFAULT_KINDS),
            read=lambda text: tuple(part.strip() for part in text.split(",")),
        ),
    ] = DEFAULT_KINDS
    budget: Annotated[int, Opt("Tokens of one sample's pages.", min=200)] = 8000
    page_budget: Annotated[int, Opt("Tokens of one page.", min=50)] = 3000
    tokenizer: Annotated[str, Opt("Counts them: estimate, o200k_base, cl100k_base.")] = "estimate"
    repeat: Annotated[int, Opt("Which of a sample's episodes.", min=1)] = 1
    fetch: Annotated[bool, Opt("Get pages that no store holds from the live web.")] = False
    allow_hosts: Annotated[
        tuple[str, ...],
        Opt("HOST:PORT of your own network to fetch from. Repeatable.", flag="--allow-host"),
    ] = ()
    """HOST:PORT that may be fetched from though they are not on the public internet."""
    trust_run: TrustRun = False
    """Whether a page store outside the folder is read though this user did not make the run."""


@dataclass(frozen=True, slots=True)
class BuildResult:
    contexts: Contexts
    dead: Mapping[str, str]
    """Why pages could not be fetched, by URL."""

    def counts(self) -> dict[str, int]:
        """Number of pages by kind, then by outcome, missing ones included."""
        kinds: Counter[str] = Counter()
        fates: Counter[str] = Counter()
        for row in self.contexts.by_sample.values():
            kinds.update(page.kind for page in row.pages)
            kinds.update(page.kind for page in row.missing)
            fates.update(page.cut for page in row.pages)
            fates.update(page.why for page in row.missing)
        return {**{kind: kinds[kind] for kind in KINDS if kinds[kind]}, **fates}


def build(
    options: BuildOptions,
    fetcher: Fetcher | None = None,
    note: Callable[[str], None] = lambda text: None,
) -> BuildResult:
    """Write the file; `fetcher` takes the place of the live one."""
    from agent_env.features.contexts.pages import (
        BuildRules,
        Stores,
        build_contexts,
        fetch_missing,
        read_sources,
    )

    folder = Run(options.run)
    manifest = folder.manifest
    rules = BuildRules(
        condition=_condition(options, manifest),
        kinds=_kinds(options.kinds),
        budget=options.budget,
        page_budget=min(options.page_budget, options.budget),
        repeat=options.repeat,
    )
    if options.repeat > manifest.repeats:
        raise ConfigError(
            f"--repeat {options.repeat}: {options.run} asked each sample {manifest.repeats} times"
        )
    if options.allow_hosts and not options.fetch:
        raise ConfigError("--allow-host is for pages that are fetched; say --fetch too")
    built_of = [c for c in manifest.conditions if c.name == rules.condition]
    if options.fetch and needs_web(built_of) and manifest.web in ("sealed", "frozen"):
        raise ConfigError(
            f"--fetch: condition '{rules.condition}' had a {manifest.web} web, whose pages are all "
            "in its store; build without --fetch"
        )
    pages = store_path(folder.path, note, options.trust_run)
    sources = read_sources(folder, folder.task, rules)
    hosts = frozenset(map(site_of, options.allow_hosts))

    async def made() -> BuildResult:
        with ExitStack() as stack:
            as_of = manifest.web_settings.as_of if manifest.web in ("record", "frozen") else None
            run = _opened(pages, stack, as_of=as_of)
            dead: Mapping[str, str] = {}
            check_store(folder, folder.path / FETCHED)
            if options.fetch:
                from agent_env.sdk.inside import HttpFetcher

                fetched = _opened(folder.path / FETCHED, stack, make=True)
                assert fetched is not None  # made where it was not
                stores = Stores(run, fetched)
                live = fetcher or HttpFetcher(permit=own_call(), open_hosts=hosts)
                dead = await fetch_missing(sources, stores, fetched, live)
            else:
                stores = Stores(run, _opened(folder.path / FETCHED, stack))
            tokenizer = make_tokenizer(options.tokenizer)
            contexts = await build_contexts(folder, manifest, sources, rules, stores, tokenizer)
        return BuildResult(contexts, dead)

    built = asyncio.run(made())
    write_whole(options.out, built.contexts.data())
    return built


def build_pages(run: Path, out: Path) -> None:
    """The pages that the run's model cited or opened."""
    build(BuildOptions(run, out))


def _opened(
    file: Path, stack: ExitStack, make: bool = False, as_of: str | None = None
) -> SqlitePages | None:
    from agent_env.sdk.web import SqlitePages

    if not make and not file.exists():
        return None
    store = SqlitePages(file, read_only=not make, as_of=as_of)
    stack.callback(store.close)
    return store


def _condition(options: BuildOptions, manifest: Manifest) -> str:
    names = [condition.name for condition in manifest.conditions]
    if options.condition is not None:
        if options.condition not in names:
            raise ConfigError(
                f"{options.run} has no condition '{options.condition}'; it has {', '.join(names)}"
            )
        return options.condition
    searching = [c.name for c in manifest.conditions if web_tools(c)]
    if "web" in searching or len(searching) == 1:
        return "web" if "web" in searching else searching[0]
    if len(names) == 1:
        return names[0]
    raise ConfigError(f"name the condition whose pages you want: --condition {'|'.join(names)}")


def _kinds(names: Sequence[str]) -> tuple[Kind, ...]:
    for name in names:
        if name not in KINDS:
            raise ConfigError(f"unknown kind of page '{name}'; known: {', '.join(KINDS)}")
    return tuple(kind for kind in KINDS if kind in names)


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


def verify(runs: Sequence[Path]) -> list[ContextComparison]:
    """For each set of cited pages and each sample, whether all runs read the same bytes."""
    from agent_env.sdk.inside import RunFolder, episode_contexts

    paths = find_runs(runs)
    reads = {str(path): list(episode_contexts(RunFolder(path))) for path in paths}
    for path, contexts in reads.items():
        if not contexts:
            raise ConfigError(f"{path} has no episode under a cited condition")
    return compare_contexts([read for contexts in reads.values() for read in contexts], list(reads))


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
