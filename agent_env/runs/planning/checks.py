"""Whether the conditions of a run can ask its samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from agent_env.errors import ConfigError
from agent_env.records.manifest import WebSettings
from agent_env.records.schema import Condition, MaterialTable, Sample
from agent_env.registry import Plugins
from agent_env.runs.options.run_options import RunOptions
from agent_env.runs.planning.draft import Draft
from agent_env.tasks.conditions import LADDER
from agent_env.tasks.family import SampleSet, by_digest
from agent_env.tasks.tool_registry import (
    needs_web,
    open_tool,
    traits_of,
)
from agent_env.wiring.models import (
    api_of,
)
from agent_env.wiring.web import WebOptions

if TYPE_CHECKING:
    from agent_env.tasks.task import Task
    from agent_env.web.page_store import SqlitePages


ANSWERING = ("tool-loop", "one-round", "few-shot", "cot")
"""Strategies whose last reply is the answer."""
Note = Callable[[str], None]


def check_asking(draft: Draft, web: WebSettings, is_asked: bool) -> None:
    """ConfigError for a condition that cannot ask the samples. `is_asked`: false if another program
    replies for the model."""
    options, task, samples = draft.options, draft.task, draft.sample_set.samples
    if options.web != WebOptions() and not needs_web(draft.conditions):
        draft.note("no condition uses the web, so the options for it have no effect")
    for condition in draft.conditions:
        task.prompt(samples[0], condition)
    _check_forms(options, task, draft.conditions, samples, is_asked)
    if not draft.is_again:
        _check_days(samples, draft.conditions, task)
    if options.conditions:
        _check_wordings(task, draft.conditions, samples)
    if options.web_mode == "sealed":
        is_chosen = bool(options.conditions) and LADDER not in options.conditions
        off_web = task.off_web if is_chosen else None
        _check_proofs(draft.conditions, draft.sample_set, web, draft.note, off_web)


def check_tables(conditions: Sequence[Condition], sample_set: SampleSet, plugins: Plugins) -> None:
    """ConfigError for a condition whose tool needs a table that a sample does not have."""
    tables = by_digest(sample_set.tables)
    asking = {t: c.name for c in reversed(conditions) for t in traits_of(c) if t.needs_table}
    for traits, condition in asking.items():
        reads = open_tool(plugins, traits).reads
        for sample in sample_set.samples:
            sample_tables = [tables[digest] for digest in sample.materials]
            if not any(reads is None or reads(table) for table in sample_tables):
                needed = f"needs {traits.needs_table}; '{sample.id}' has none"
                raise ConfigError(f"condition '{condition}' {needed}")


def _check_forms(
    options: RunOptions,
    task: Task,
    conditions: Sequence[Condition],
    samples: Sequence[Sample],
    is_asked: bool,
) -> None:
    """ConfigError for an answer format that the answers, the model or the strategy cannot have."""
    body = options.parameters.get("extra_body")
    for condition in (each for each in conditions if each.answer_format != "free"):
        where = f"condition '{condition.name}'"
        if not is_asked or api_of(options.model, options.plugins) is None:
            raise ConfigError(
                f"{where}: only a server can hold an answer to a schema, and {options.model} is "
                "none; leave --answer-format out, or name compatible/NAME or openai/NAME"
            )
        if condition.strategy not in ANSWERING:
            raise ConfigError(
                f"{where}: the replies of strategy {condition.strategy} are no answers; leave "
                "--answer-format out"
            )
        if condition.strategy == "cot" and condition.answer_format == "schema":
            raise ConfigError(
                f"{where}: strategy cot reasons in its reply, which a schema would forbid; write "
                "--answer-format schema-last"
            )
        if isinstance(body, dict) and (clash := {"response_format", "text"} & set(body)):
            raise ConfigError(f"{where}: --extra-body sets {clash.pop()} too; take it out there")
        for sample in samples:
            task.form_under(condition, sample)


def _check_wordings(task: Task, conditions: Sequence[Condition], samples: Sequence[Sample]) -> None:
    """ConfigError for an explicit condition that changes no prompt; the task must have the samples'
    tables."""
    for condition in unworded(task, conditions, samples):
        raise ConfigError(
            f"condition '{condition.name}': these questions of {task.name} have no dates to "
            f"spell out, so `{condition.wording}` would change nothing; leave it out"
        )


def unworded(
    task: Task, conditions: Sequence[Condition], samples: Sequence[Sample]
) -> Iterator[Condition]:
    """The explicit conditions that change no prompt."""
    for condition in (each for each in conditions if each.wording != "implicit"):
        plain = condition.model_copy(update={"wording": "implicit"})
        if all(task.prompt(sample, condition) == task.prompt(sample, plain) for sample in samples):
            yield condition


def _check_proofs(
    conditions: Sequence[Condition],
    sample_set: SampleSet,
    settings: WebSettings,
    note: Note,
    off_web: Callable[[Sample], str] | None = None,
) -> None:
    """ConfigError if the sealed web has no such day as a condition's, or without a day none of the
    samples' evidence pages; a note on missing ones, for each day. `off_web` of the task, where the
    shipped web has to state something of the samples."""
    from agent_env.wiring.web import sealed_urls

    asking = {c.today: c.name for c in conditions if needs_web([c]) and c.wording == "implicit"}
    days = {c.today for c in conditions if needs_web([c]) and c.today}
    evidence = {sample.id: set(sample.evidence) for sample in sample_set.samples if sample.evidence}
    if asking and not evidence:
        name = next(iter(asking.values()))
        missing = off_web and off_web(sample_set.samples[0])
        if missing and settings.pages is None:
            raise ConfigError(
                f"condition '{name}': no page of the sealed web states {missing}; leave "
                f"{name} out, or name another web with --pages or --web"
            )
        note(f"no sample names a page that proves its answer, so {name} may find nothing")
    if not days and not (asking and evidence):
        return
    wanted = set().union(*evidence.values())
    on_days = (*asking, *sorted(days - asking.keys()))
    served = sealed_urls(settings, sample_set.tables, on_days, wanted)
    for day, name in asking.items() if evidence else ():
        lacking = [each for each, urls in evidence.items() if not urls <= served[day]]
        if day is None and not any(urls & served[day] for urls in evidence.values()):
            where = settings.pages or "the shipped web, which is served without --pages,"
            raise ConfigError(
                f"condition '{name}': {where} holds none of the pages that prove the answers, "
                f"such as {min(evidence[lacking[0]])}; name with --pages the web that was built "
                "from the same facts (agent-env web build --out pages.db), or have the proofs "
                "found in these pages (agent-env questions prove)"
            )
        if lacking:
            note(
                f"{len(lacking)} of {len(sample_set.samples)} samples name proving pages that the "
                f"web does not hold{f' on {day}' if day else ''}, the first one {lacking[0]}: "
                f"{min(evidence[lacking[0]] - served[day])}"
            )


def _check_days(samples: Sequence[Sample], conditions: Sequence[Condition], task: Task) -> None:
    """ConfigError for a condition without a day, where a question asks about the present."""
    dayless = next((each.name for each in conditions if each.today is None), None)
    asking = (each.id for each in samples if task.needs_day and task.needs_day(each))
    if dayless is not None and (name := next(asking, None)) is not None:
        raise ConfigError(
            f"condition '{dayless}': question {name} asks about the present, so its answer is that "
            "of a day; name the day with --today YYYY-MM-DD"
        )


@contextmanager
def planned_pages(
    settings: WebSettings, mode: str, tables: Sequence[MaterialTable]
) -> Iterator[SqlitePages | None]:
    """The store of the run's web; None where it is yet to be recorded."""
    from agent_env.web.page_store import SqlitePages
    from agent_env.wiring.web import open_sealed

    if mode == "sealed" and settings.pages is None:
        pages = open_sealed(settings, Path(":memory:"), tables).store
    elif settings.pages is None or not (mode == "sealed" or Path(settings.pages).exists()):
        pages = None
    else:
        as_of = None if mode == "sealed" else settings.as_of
        pages = SqlitePages(Path(settings.pages), read_only=True, as_of=as_of)
    try:
        yield pages
    finally:
        if pages is not None:
            pages.close()
