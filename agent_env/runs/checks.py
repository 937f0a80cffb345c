"""Checks of conditions against samples, before a run is created."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from agent_env.errors import ConfigError
from agent_env.records.manifest import WebSettings
from agent_env.records.schema import Condition, MaterialTable, Sample
from agent_env.registry import NO_PLUGINS, Plugins
from agent_env.runs.options import RunOptions
from agent_env.tasks.family import SampleSet, by_digest
from agent_env.tasks.task import Task
from agent_env.tasks.tool_registry import needs_web, open_tool, tool_names, traits_of
from agent_env.wiring.models import api_of


def check_tables(
    conditions: Sequence[Condition], made: SampleSet, plugins: Plugins = NO_PLUGINS
) -> None:
    """ConfigError for a condition whose tool needs a table that a sample does not have."""
    tables = by_digest(made.tables)
    asking = {t: c.name for c in reversed(conditions) for t in traits_of(c) if t.needs_table}
    for traits, condition in asking.items():
        reads = open_tool(plugins, traits).reads
        for sample in made.samples:
            own = [tables[digest] for digest in sample.materials]
            if not any(reads is None or reads(table) for table in own):
                needed = f"needs {traits.needs_table}; '{sample.id}' has none"
                raise ConfigError(f"condition '{condition}' {needed}")


def check_questions(
    task: Task,
    conditions: Sequence[Condition],
    samples: Sequence[Sample],
    options: RunOptions,
    is_asked: bool,
) -> None:
    """ConfigError where a condition cannot ask the samples, or would ask nothing else than another.
    `is_asked`: false if another program replies for the model."""
    check_prompt(task, conditions, samples)
    check_forms(task, conditions, samples, options, is_asked)
    if options.conditions:
        check_wordings(task, conditions, samples)


def check_prompt(task: Task, conditions: Sequence[Condition], samples: Sequence[Sample]) -> None:
    """ConfigError where the task cannot word the first sample's prompt."""
    for condition in conditions:
        task.prompt(samples[0], condition)


ANSWERING = ("tool-loop", "one-round", "few-shot", "cot")
"""Whose last reply is the answer."""


def check_forms(
    task: Task,
    conditions: Sequence[Condition],
    samples: Sequence[Sample],
    options: RunOptions,
    is_asked: bool,
) -> None:
    """ConfigError for an answer format that the answers, the model or the strategy cannot have."""
    held = [condition for condition in conditions if condition.answer_format != "free"]
    for condition in held:
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
        if beside := {"response_format", "text"} & set(_extra_body(options)):
            raise ConfigError(f"{where}: --extra-body sets {beside.pop()} too; take it out there")
        for sample in samples:
            task.form_under(condition, sample)


def _extra_body(options: RunOptions) -> Mapping[str, object]:
    body = options.parameters.get("extra_body")
    return body if isinstance(body, dict) else {}


def check_wordings(task: Task, conditions: Sequence[Condition], samples: Sequence[Sample]) -> None:
    """ConfigError for an explicit condition that changes no prompt; the task must have the samples'
    tables."""
    for condition in conditions:
        if condition.wording == "implicit":
            continue
        plain = condition.model_copy(update={"wording": "implicit"})
        if all(task.prompt(sample, condition) == task.prompt(sample, plain) for sample in samples):
            raise ConfigError(
                f"condition '{condition.name}': these questions of {task.name} have no dates to "
                f"spell out, so `{condition.wording}` would change nothing; leave it out"
            )


def check_proofs(
    conditions: Sequence[Condition],
    made: SampleSet,
    settings: WebSettings,
    note: Callable[[str], None],
) -> None:
    """ConfigError if the sealed web has none of the samples' evidence pages; a note on missing
    ones."""
    asking = [c.name for c in conditions if needs_web([c]) and c.wording == "implicit"]
    if not asking:
        return
    evidence = {sample.id: set(sample.evidence) for sample in made.samples if sample.evidence}
    if not evidence:
        note(f"no sample names a page that proves its answer, so {asking[0]} may find nothing")
        return
    held = _addresses(settings, made.tables)
    lacking = [name for name, urls in evidence.items() if not urls <= held]
    if not any(urls & held for urls in evidence.values()):
        where = settings.pages or "the shipped web, which is served without --pages,"
        raise ConfigError(
            f"condition '{asking[0]}': {where} holds none of the pages that prove the answers, "
            f"such as {min(evidence[lacking[0]])}; name with --pages the web that was built from "
            "the same facts (agent-env web build --out pages.db)"
        )
    if lacking:
        note(
            f"{len(lacking)} of {len(made.samples)} samples name proving pages that the web "
            f"does not hold, the first one {lacking[0]}: {min(evidence[lacking[0]] - held)}"
        )


def _addresses(settings: WebSettings, tables: Sequence[MaterialTable]) -> set[str]:
    """The URLs of all pages of the run's sealed web."""
    from agent_env.web.page_store import SqlitePages
    from agent_env.wiring.web import open_sealed

    if settings.pages is None:
        pages = open_sealed(settings, Path(":memory:"), tables).store
        assert pages is not None
    else:
        pages = SqlitePages(Path(settings.pages), read_only=True)
    try:
        return set(pages.urls())
    finally:
        pages.close()


def episode_limits(
    options: RunOptions, task: Task, conditions: Sequence[Condition]
) -> dict[str, Any]:
    """The task's limits, overridden by those of the options; ConfigError for a limit of a tool that
    there is not."""
    limits: dict[str, Any] = asdict(task.limits)
    overrides = {name: options.limits[name] for name in limits if name in options.limits}
    known = sorted({*tool_names(), *(tool for each in conditions for tool in each.tools)})
    for tool in overrides.get("per_tool") or ():
        if tool not in known:
            raise ConfigError(f"--tool-limit: no tool '{tool}'; known: {', '.join(known)}")
    return limits | overrides
