"""Web ablations of a new run: what they change for each sample, drawn before the first episode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from agent_env.errors import ConfigError
from agent_env.records.ablation import SampleAblation, ShiftedWorld
from agent_env.records.disturbance import WebAblation
from agent_env.records.schema import Condition, MaterialTable, Sample
from agent_env.runs.options import RunOptions
from agent_env.tasks.conditions import is_twin
from agent_env.tasks.family import SampleSet
from agent_env.tasks.task import CannotShift, Task
from agent_env.tasks.tool_registry import needs_web
from agent_env.wiring.components import HOSTED_WEB
from agent_env.wiring.web import open_sealed, settings_of

if TYPE_CHECKING:
    from agent_env.web.full_text import FullText
    from agent_env.web.page_store import SqlitePages

NAMED = 5
"""Samples that a note names."""


def check_ablations(
    options: RunOptions,
    task: Task,
    conditions: Sequence[Condition],
    note: Callable[[str], None],
) -> None:
    """ConfigError for an ablation of a web that is not ours to change; a note on conditions that
    get no twin."""
    names, mode = options.web_ablations, options.web_mode
    if not names:
        return
    option = f"--web-ablation {names[0]}"
    if not any(_ablation(condition) for condition in conditions):
        raise ConfigError(
            f"{option}: no condition looks anything up on our web (implicit wording, and no tool "
            "that reads the tables themselves); add --condition web"
        )
    if mode in (HOSTED_WEB, "live"):
        whose = "the provider's own web" if mode == HOSTED_WEB else "the live web"
        advice = "leave --hosted-tools out" if mode == HOSTED_WEB else "take --web record"
        raise ConfigError(f"{option}: {whose} cannot be changed by us; {advice}")
    if "shifted" in names and mode != "sealed":
        raise ConfigError(
            f"--web-ablation shifted: recorded pages (--web {mode}) cannot be written anew; take "
            "--web-ablation blocked, or the sealed web"
        )
    if "shifted" in names and task.shift is None:
        raise ConfigError(
            f"--web-ablation shifted: {task.name} has no shifted worlds; take --web-ablation "
            "blocked"
        )
    whole = [c.name for c in conditions if needs_web([c]) and _is_plain_without_twin(c, conditions)]
    if whole:
        note(
            f"no ablation of {', '.join(whole)}: the prompt or a tool gives what the web is to be "
            "searched for"
        )


def _ablation(condition: Condition) -> WebAblation | None:
    return None if condition.disturbance is None else condition.disturbance.ablation


def _is_plain_without_twin(condition: Condition, conditions: Sequence[Condition]) -> bool:
    return condition.disturbance is None and not any(
        _ablation(each) and is_twin(condition, each, "disturbance") for each in conditions
    )


@dataclass(frozen=True, slots=True)
class AblatedSet:
    """The samples that every condition of the run can ask."""

    made: SampleSet
    left_out: dict[str, str]
    """Why, by sample."""


def with_ablations(
    made: SampleSet, options: RunOptions, task: Task, note: Callable[[str], None]
) -> AblatedSet:
    """The samples with what the ablations change for them, without those that have no proving page
    or no shifted world; ConfigError where none has."""
    if not options.web_ablations:
        return AblatedSet(made, {})
    samples: list[Sample] = []
    left_out: dict[str, str] = {}
    with ExitStack() as stack:
        store, index = open_web_store(options, made.tables, stack)
        for sample in made.samples:
            try:
                changes = _ablation_of(sample, options, task, store, index)
                samples.append(sample.model_copy(update={"ablation": changes}))
            except CannotShift as exc:
                left_out[sample.id] = str(exc)
    if not samples:
        first, reason = next(iter(left_out.items()))
        raise ConfigError(
            f"--web-ablation {options.web_ablations[0]}: no sample can be asked, such as "
            f"'{first}': {reason}"
        )
    note_left_out(left_out, len(made.samples), note)
    return AblatedSet(replace(made, samples=tuple(samples)), left_out)


def note_left_out(left_out: Mapping[str, str], count: int, note: Callable[[str], None]) -> None:
    """Names the samples that are left out of so many, by reason."""
    for reason in dict.fromkeys(left_out.values()):
        own = [name for name, why in left_out.items() if why == reason]
        names = ", ".join(own[:NAMED]) + (", …" if len(own) > NAMED else "")
        note(f"left {len(own)} of {count} samples out, as {reason}: {names}")


def _ablation_of(
    sample: Sample,
    options: RunOptions,
    task: Task,
    store: SqlitePages | None,
    index: FullText | None,
) -> SampleAblation:
    """CannotShift where there is nothing to block or no shifted world."""
    from agent_env.web.ablation import proving_pages, stored_page

    blocked = proving_pages(sample, store, index)
    if not blocked:
        raise CannotShift("the web has no page that proves their answers")

    def text_at(url: str) -> str | None:
        page = stored_page(store, url)
        return None if page is None else page.text

    shifted: ShiftedWorld | None = None
    if "shifted" in options.web_ablations:
        assert task.shift is not None  # checked before
        shifted = task.shift(sample, Random(f"shift/{options.seed}/{sample.id}"), text_at)
    is_blocked = "blocked" in options.web_ablations
    return SampleAblation(blocked=blocked if is_blocked else (), shifted=shifted)


def open_web_store(
    options: RunOptions, tables: Sequence[MaterialTable], stack: ExitStack
) -> tuple[SqlitePages | None, FullText | None]:
    """The store of the run's web, and the index of a sealed one; no store where it is yet to be
    recorded."""
    from agent_env.web.full_text import FullText
    from agent_env.web.page_store import SqlitePages

    settings = settings_of(options.web)
    pages = settings.pages
    if options.web_mode == "sealed" and pages is None:
        sealed = open_sealed(settings, Path(":memory:"), tables).store
        assert sealed is not None
        stack.callback(sealed.close)
        return sealed, FullText(sealed.connection)
    if pages is None or not Path(pages).exists():
        return None, None
    store = SqlitePages(Path(pages), read_only=True)
    stack.callback(store.close)
    return store, FullText(store.connection) if options.web_mode == "sealed" else None
