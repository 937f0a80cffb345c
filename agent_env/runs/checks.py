"""Whether the conditions can do anything for the samples; said before anything is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from agent_env.errors import ConfigError
from agent_env.records.manifest import WebSettings
from agent_env.records.schema import Condition, MaterialTable, Sample
from agent_env.tasks.family import Made, by_digest
from agent_env.tasks.task import Task


def check_tables(conditions: Sequence[Condition], made: Made) -> None:
    """ConfigError where a condition looks into a table that a sample does not have."""
    from agent_env.temporal.facts.table_pages import is_temporal
    from agent_env.tools.query_events import is_event_list

    tables = by_digest(made.tables)
    for tool, fits, needed in (
        ("query_events", is_event_list, "a list of events"),
        ("sql", is_temporal, "a table whose rows have a start and an end"),
    ):
        asking = next((c.name for c in conditions if tool in c.tools), None)
        if asking is None:
            continue
        for sample in made.samples:
            if not any(fits(tables[digest]) for digest in sample.materials):
                raise ConfigError(f"condition '{asking}' needs {needed}; '{sample.id}' has none")


def check_wordings(task: Task, conditions: Sequence[Condition], samples: Sequence[Sample]) -> None:
    """ConfigError where a condition spells nothing out, so that it is another one by its name;
    the task must have the samples' tables."""
    for condition in conditions:
        if condition.wording == "implicit":
            continue
        plain = condition.model_copy(update={"wording": "implicit"})
        if all(task.prompt(sample, condition) == task.prompt(sample, plain) for sample in samples):
            raise ConfigError(
                f"condition '{condition.name}': these questions of {task.name} have no dates to "
                "spell out, so `explicit` would change nothing; leave it out"
            )


def check_proofs(
    conditions: Sequence[Condition],
    made: Made,
    settings: WebSettings,
    note: Callable[[str], None],
) -> None:
    """ConfigError where the sealed web holds none of the pages that the samples name as proving;
    `note` hears of some that it lacks."""
    asking = [c.name for c in conditions if "web_search" in c.tools and c.wording == "implicit"]
    if not asking:
        return
    named = {sample.id: set(sample.evidence) for sample in made.samples if sample.evidence}
    if not named:
        note(f"no sample names a page that proves its answer, so {asking[0]} may find nothing")
        return
    held = _addresses(settings, made.tables)
    lacking = [name for name, urls in named.items() if not urls <= held]
    if not any(urls & held for urls in named.values()):
        where = settings.pages or "the shipped web, which is served without --pages,"
        raise ConfigError(
            f"condition '{asking[0]}': {where} holds none of the pages that prove the answers, "
            f"such as {min(named[lacking[0]])}; name with --pages the web that was built from the "
            "same facts (agent-env web build --out pages.db)"
        )
    if lacking:
        note(
            f"{len(lacking)} of {len(made.samples)} samples name proving pages that the web does "
            f"not hold, the first one {lacking[0]}: {min(named[lacking[0]] - held)}"
        )


def _addresses(settings: WebSettings, tables: Sequence[MaterialTable]) -> set[str]:
    """Of all pages of the sealed web, as the run will open it."""
    from agent_env.temporal.facts.table_pages import is_temporal
    from agent_env.temporal.facts.tables import shipped_tables
    from agent_env.web.page_store import SqlitePages
    from agent_env.web.site.render import render_all

    if settings.pages is None:
        own = [table for table in tables if is_temporal(table)]
        return {sheet.url for sheet in render_all(shipped_tables(), temporal=own)}
    store = SqlitePages(Path(settings.pages), read_only=True)
    try:
        return set(store.urls())
    finally:
        store.close()
