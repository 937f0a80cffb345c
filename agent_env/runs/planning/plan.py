"""What a run is to be: its options with every name resolved, checked before anything is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from agent_env.episodes.calls.options import allow_open_files, asked_tier, manifest_fields
from agent_env.episodes.run_folder import digest
from agent_env.errors import ConfigError
from agent_env.models.addresses import short_names
from agent_env.records.manifest import Manifest
from agent_env.records.options import entries
from agent_env.records.schema import Sample
from agent_env.registry import NO_OBJECTS, Objects, Plugins, use_of
from agent_env.runs.options.run_options import PreflightWish, RunOptions
from agent_env.runs.planning.checks import check_asking, planned_pages
from agent_env.runs.planning.conditions import episode_limits, usable_conditions
from agent_env.runs.planning.draft import Draft, read_tools, with_features, with_server
from agent_env.runs.planning.ladder import PageBuilder, cited_pages
from agent_env.runs.planning.questions import Questions, check_script
from agent_env.tasks.family import SampleSet
from agent_env.tasks.sample_files import samples_bytes
from agent_env.tasks.tool_registry import needs_web
from agent_env.wiring.components import Parts, versions
from agent_env.wiring.models import (
    make_model,
    make_tokenizer,
    model_entry,
    not_known_of,
    open_model,
    steps_of_task,
)
from agent_env.wiring.plugins import uses_in
from agent_env.wiring.registry import FAMILIES
from agent_env.wiring.web import settings_of

if TYPE_CHECKING:
    from agent_env.episodes.contexts import ContextCopy
    from agent_env.tasks.task import Task

Note = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """A run as it is to be; nothing of it is on the disk."""

    path: Path
    manifest: Manifest
    task: Task
    sample_set: SampleSet
    """The samples that are asked, with their tables."""
    contexts: Mapping[str, bytes]
    """Copies of cited pages, by their places in the folder."""
    preflight: PreflightWish = "off"
    objects: Objects = field(default_factory=lambda: NO_OBJECTS)
    parts: Parts = field(default_factory=Parts)
    """What was opened to check the plan; open until the stack is closed that it was made with."""

    @property
    def samples(self) -> tuple[Sample, ...]:
        return self.sample_set.samples


async def plan_run(
    options: RunOptions,
    note: Note,
    stack: AsyncExitStack,
    is_asked: bool = True,
    build_pages: PageBuilder | None = None,
) -> Plan:
    """The run of these options; ConfigError or DatasetError for whatever keeps it from being run.
    `is_asked`: false if another program replies for the model. `build_pages` finds the cited pages
    where no file has them; None where the user has to name them."""
    (options,) = options.addressed([options.model])
    options, server = with_server(options, note) if is_asked else (options, {})
    questions = Questions.of(options)
    check_script(options, questions.family)
    task = questions.task({})
    plugins, model = _plugins(options, task, is_asked)
    options = replace(questions.options, model=model)
    questions = replace(questions, options=options)
    parts = await _model_parts(options, task, plugins, note, stack, is_asked, bool(server))
    settings, tools = await read_tools(options, note)
    conditions, sandbox = await usable_conditions(options, task, tools, note)
    fit = {"fit_context": True} if options.parameters.get("tool_texts") == "short" else {}
    limits = episode_limits(fit | dict(options.limits), task, conditions)
    draft = questions.draft(task, conditions, note, plugins)
    web = settings_of(options.web, dict.fromkeys(c.today for c in conditions if c.today))
    pages = partial(planned_pages, web, options.web_mode, draft.sample_set.tables)
    draft = replace(draft, pages=pages, is_call_by_call=is_asked, settings=server | settings)
    draft = with_features(draft)
    tier = draft.tier or asked_tier(options.parameters)
    about_calls = manifest_fields(options.calls, model, limits, note, plugins.permit, tier)
    check_asking(draft, web, is_asked)
    copies = await _copies(draft, questions, build_pages)
    return _plan(
        draft,
        questions,
        {copy.use.file: copy.data for copy in copies},
        plugins,
        replace(parts, sandbox=sandbox),
        about_calls
        | {
            "not_known": not_known_of(model, plugins) if is_asked else (),
            "limits": limits,
            "sandbox": None if sandbox is None else sandbox.name,
            "web_settings": web,
            "contexts": tuple(copy.use for copy in copies),
            "calls_tier": draft.tier,
        },
    )


def _plan(
    draft: Draft,
    questions: Questions,
    contexts: Mapping[str, bytes],
    plugins: Plugins,
    parts: Parts,
    settings: dict[str, Any],
) -> Plan:
    """The plan of the draft; ConfigError where its folder holds a run."""
    options, task, sample_set, now = draft.options, draft.task, draft.sample_set, datetime.now(UTC)
    tables = samples_bytes(sample_set.tables)
    manifest = Manifest(
        **entries(options)
        | questions.texts
        | {
            "id": token_hex(16),
            "task": task.name,
            "plugins": plugins.uses,
            "model_parameters": {"base_url": options.base_url, **options.parameters},
            "conditions": draft.conditions,
            "options": questions.own.model_dump(mode="json"),
            "tier": questions.tier,
            "seed": None if options.dataset else options.seed,
            "dataset": options.dataset.name if options.dataset else None,
            "samples": len(sample_set.samples),
            "samples_digest": digest(samples_bytes(sample_set.samples)),
            "left_out": draft.left_out,
            "features": draft.recorded,
            "materials_digest": digest(tables) if tables else None,
            "web": options.web_mode if needs_web(draft.conditions) else None,
            "versions": versions(),
            "study": options.study,
            "created_at": now.isoformat(timespec="seconds"),
        }
        | settings
    )
    path = options.out or _free_name(Path("runs"), f"{task.name}-{now:%Y%m%d-%H%M%S}")
    if (path / "run.json").exists():
        raise ConfigError(f"{path} holds a run already; resume it or name another --out")
    return Plan(
        path=path,
        manifest=manifest.model_copy(update={"plugins": uses_in(manifest, plugins.permit)}),
        task=task,
        sample_set=sample_set,
        contexts=contexts,
        preflight=options.preflight,
        objects=options.objects,
        parts=parts,
    )


async def _model_parts(
    options: RunOptions,
    task: Task,
    plugins: Plugins,
    note: Note,
    stack: AsyncExitStack,
    is_asked: bool,
    is_served: bool,
) -> Parts:
    """The model, opened where that can be done before the run begins; ConfigError where it cannot
    be made."""
    parts = Parts()
    if not is_asked:
        make_tokenizer(options.tokenizer)
    elif is_served:  # opened when it is up
        make_model(options.model, options.base_url, options.parameters, plugins)
    else:
        counted = await open_model(
            options.model, options.base_url, options.parameters, options.tokenizer, note, stack,
            plugins, steps=steps_of_task(task.name, plugins),
        )  # fmt: skip
        parts = Parts(counted)
    allow_open_files(options.concurrency)
    return parts


async def _copies(
    draft: Draft, questions: Questions, build_pages: PageBuilder | None
) -> Sequence[ContextCopy]:
    """The cited pages that the conditions are given."""
    from agent_env.episodes.contexts import make_copies, parse_context_options

    options, sample_set = draft.options, draft.sample_set
    asked = parse_context_options(options.cited_from)
    if any(each.context == "cited" for each in draft.conditions) and not options.cited_from:
        return await cited_pages(options, questions.own, sample_set, build_pages, draft.note)
    return make_copies(asked, sample_set.samples, draft.note)


# The model and where it is ------------------------------------------------------------------------


def one_per_model(options: RunOptions, models: Sequence[str]) -> list[RunOptions]:
    """The options of each model's run over the same samples; several models get a folder each
    below `out`. ConfigError for an invalid model, before any call."""
    if len(set(models)) < len(models):
        raise ConfigError("a model is named twice; use --repeats to ask more than once")
    each = options.addressed(models)
    if len(models) == 1:
        return each
    for one in each:
        if not with_server(one)[1]:
            make_model(one.model, one.base_url, one.parameters, one.plugins)
    now = datetime.now(UTC)
    parent = options.out or _free_name(Path("runs"), f"{options.task}-{now:%Y%m%d-%H%M%S}")
    labels = short_names(models)
    names = [re.sub(r"[^A-Za-z0-9._-]+", "-", labels[model]) for model in models]
    if len(set(names)) < len(names):
        raise ConfigError(f"these models would share a folder: {', '.join(models)}")
    return [replace(one, out=parent / name) for one, name in zip(each, names, strict=True)]


def _free_name(parent: Path, name: str) -> Path:
    numbers = (f"{name}-{n}" if n > 1 else name for n in range(1, 1000))
    return next(parent / free for free in numbers if not (parent / free).exists())


def _plugins(options: RunOptions, task: Task, is_asked: bool) -> tuple[Plugins, str]:
    """What finds the run's plug-ins, with what is noted of a family and a model that are not built
    in; and the model's name in run.json. ConfigError for a family that calls itself like
    another."""
    plugins, model, used = options.plugins, options.model, []
    family = plugins.entry(FAMILIES, options.task)
    if not family.is_built_in:
        FAMILIES.check_free(task.name, family)
        used.append(replace(family, name=task.name))
    if is_asked:
        entry, model = model_entry(options.model, plugins)
        used += [] if entry.is_built_in else [entry]
    return replace(plugins, uses=tuple(use_of(each, plugins.permit) for each in used)), model
