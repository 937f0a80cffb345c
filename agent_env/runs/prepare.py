"""Validates the options of a run and makes its folder; writes nothing before validation."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from agent_env.episodes.calls.options import allow_open_files, manifest_fields
from agent_env.errors import ConfigError, DatasetError, DatasetErrors
from agent_env.models.addresses import base_urls, key_variables, with_variable
from agent_env.records.manifest import Manifest, PluginUse, TextFile
from agent_env.records.mcp import mcp_traits
from agent_env.records.options import entries
from agent_env.records.schema import Condition, Record, Sample
from agent_env.registry import Plugins, use_of
from agent_env.runs.ablation import check_ablations
from agent_env.runs.attacks import apply_disturbances
from agent_env.runs.checks import check_proofs, check_questions, check_tables, episode_limits
from agent_env.runs.options import RunOptions
from agent_env.runs.run import Run
from agent_env.runs.serving import with_server
from agent_env.runs.stop_options import stopping_settings, with_pass_rates
from agent_env.tasks.conditions import (
    Tools,
    parse_conditions,
    with_disturbances,
    with_first_steps,
    with_formats,
)
from agent_env.tasks.family import Family, Materials, SampleSet, by_digest, read_options
from agent_env.tasks.scorers import with_measures
from agent_env.tasks.templates import read_text_file, with_texts
from agent_env.tasks.tool_registry import needs_sandbox, needs_web
from agent_env.tasks.where import select
from agent_env.wiring.local_models import find_local, is_local
from agent_env.wiring.mcp import read_servers
from agent_env.wiring.mcp_options import servers_of
from agent_env.wiring.models import (
    make_model,
    make_tokenizer,
    model_entry,
    open_model,
    steps_of_task,
)
from agent_env.wiring.plugins import tools_named, uses_in
from agent_env.wiring.registry import FAMILIES, FORMER_SCRIPTS, POLICIES
from agent_env.wiring.rooms import Parts, versions
from agent_env.wiring.sandboxes import choose_sandbox
from agent_env.wiring.trust import record_run
from agent_env.wiring.web_options import WebOptions, settings_of

if TYPE_CHECKING:
    from agent_env.episodes.contexts.copies import ContextCopy
    from agent_env.protocols import SandboxBackend
    from agent_env.tasks.task import Task
    from agent_env.tasks.where import Filter

DEFAULT_COUNT = 12


async def prepare_run(
    options: RunOptions,
    note: Callable[[str], None],
    stack: AsyncExitStack,
    is_asked: bool = True,
    is_sealed: bool = False,
) -> Run:
    """Validates the options and creates the run's folder; writes nothing before validation.
    `is_asked`: false if another program replies for the model; `is_sealed`: true if the samples
    are kept from the folder until `release`. The objects opened for the checks
    stay open in the run until the stack is closed."""
    (options,) = addressed(options, [options.model])
    server = None
    if is_asked:
        options, server = with_server(options, note)
    plugins = options.plugins
    family = plugins.find(FAMILIES, options.task)
    _check_script(options, family)
    chosen = read_options(family, options.options)
    options, texts = _with_texts(options)
    task = _task(options, family, chosen, {}, texts)
    uses = _uses(options, plugins, task, is_asked)
    plugins = replace(plugins, uses=uses)
    counted = None
    if is_asked:
        options = replace(options, model=model_entry(options.model, plugins)[1])
        if server is None:
            counted = await open_model(
                options.model, options.base_url, options.parameters, options.tokenizer, note,
                stack, plugins, steps=steps_of_task(task.name, plugins),
            )  # fmt: skip
        else:  # opened when it is up
            make_model(options.model, options.base_url, options.parameters, plugins)
    else:
        make_tokenizer(options.tokenizer)
    allow_open_files(options.concurrency)
    own = tools_named(options.tools, plugins.permit)
    servers = await read_servers(servers_of(options.mcp), note, plugins, own)
    conditions, sandbox = await _conditions(options, task, {**own, **mcp_traits(servers)}, note)
    limits = episode_limits(options, task, conditions)
    about_calls = manifest_fields(options.calls, options.model, limits, note, plugins.permit)
    about_calls |= {} if server is None else {"server": server}
    until = stopping_settings(options.stop, options.model, task, conditions, options.seed)
    _check_web(options, conditions, note)
    made = select_samples(options, family, chosen, task)
    for text in made.notes:
        note(text)
    check_tables(conditions, made, plugins)
    if made.tables:
        task = _task(options, family, chosen, by_digest(made.tables), texts)
    check_ablations(options, task, conditions, note)
    check_questions(task, conditions, made.samples, options, is_asked)
    if options.web_mode == "sealed":
        check_proofs(conditions, made, settings_of(options.web), note)
    asked = apply_disturbances(made, options, conditions, task, note)
    made = asked.made
    if until is not None:
        until = with_pass_rates(until, options.stop, options.model, made.samples, note)
    run = _create(
        options, task, chosen, conditions, sandbox, made, limits,
        about_calls | {"until": until, "mcp": servers, "left_out": asked.left_out},
        uses, _copies(options, made.samples, note), texts, is_sealed,
    )  # fmt: skip
    run.task, run.parts, run.objects = task, Parts(counted, sandbox), options.objects
    stack.callback(run.let_go)
    record_run(run, note)
    return run


def _check_script(options: RunOptions, family: Family) -> None:
    """ConfigError for a scripted model that has no policy for the family, or a former name."""
    if (name := FORMER_SCRIPTS.get(options.model)) is not None:
        raise ConfigError(f"the scripted model {options.model} is called {name}: --model {name}")
    known = family.policies if family.reference is not None else ()
    if options.model in POLICIES and options.model not in known:
        others = f"take --model {' or '.join(known)}, or name" if known else "name"
        raise ConfigError(
            f"the scripted model {options.model} has no policy for {family.name}; {others} a "
            "model: --model openai/NAME or compatible/NAME@URL"
        )


def one_per_model(options: RunOptions, models: Sequence[str]) -> list[RunOptions]:
    """The options of each model's run over the same samples; several models get a folder each
    below `out`. ConfigError for an invalid model, before any call."""
    if len(set(models)) < len(models):
        raise ConfigError("a model is named twice; use --repeats to ask more than once")
    each = addressed(options, models)
    if len(models) == 1:
        return each
    for one in each:
        if is_local(one.model):
            find_local(one.model)
        elif one.serve is None:
            make_model(one.model, one.base_url, one.parameters, one.plugins)
    now = datetime.now(UTC)
    parent = options.out or _free_name(Path("runs"), f"{options.task}-{now:%Y%m%d-%H%M%S}")
    names = [re.sub(r"[^A-Za-z0-9._-]+", "-", model) for model in models]
    if len(set(names)) < len(names):
        raise ConfigError(f"these models would share a folder: {', '.join(models)}")
    return [replace(one, out=parent / name) for one, name in zip(each, names, strict=True)]


def addressed(options: RunOptions, models: Sequence[str]) -> list[RunOptions]:
    """The options for each model, with its own URL and key variable."""
    if options.serve is not None and len(models) > 1:
        raise ConfigError(
            "--serve starts the server of one model; run each by itself, or give each its `serve` "
            "in a study file"
        )
    urls = base_urls(models, options.base_url)
    variables = key_variables(urls, options.api_key_envs)
    return [
        replace(
            options,
            model=model,
            base_url=urls[model],
            api_key_envs=(),
            parameters=with_variable(options.parameters, variables[model]),
        )
        for model in models
    ]


def _task(
    options: RunOptions, family: Family, chosen: Record, tables: Materials, texts: PromptTexts
) -> Task:
    task = with_texts(family.make_task(options.prompt, chosen, tables), *texts)
    return with_measures(task, options.scorer, options.metrics, options.plugins)


def _uses(
    options: RunOptions, plugins: Plugins, task: Task, is_asked: bool
) -> tuple[PluginUse, ...]:
    """What is noted of the family and the model that are not built in; ConfigError for a family
    that calls itself like another."""
    entries = []
    family = plugins.entry(FAMILIES, options.task)
    if not family.is_built_in:
        FAMILIES.check_free(task.name, family)
        entries.append(replace(family, name=task.name))
    if is_asked:
        model, _ = model_entry(options.model, plugins)
        entries += [] if model.is_built_in else [model]
    return tuple(use_of(entry) for entry in entries)


async def _conditions(
    options: RunOptions, task: Task, tools: Tools, note: Callable[[str], None]
) -> tuple[tuple[Condition, ...], SandboxBackend | None]:
    """The named conditions, or those of the task that can run here; and the sandbox."""
    from agent_env.episodes.contexts.copies import parse_context_options

    named = bool(options.conditions)
    contexts = [given.name for given in parse_context_options(options.cited_from)]
    names = options.conditions or task.default_conditions
    parsed = parse_conditions(names, contexts, tools, options.plugins.permit)
    chosen = with_first_steps(parsed, options.first_steps)
    chosen = with_disturbances(chosen, options.disturbances_of(chosen))
    chosen = with_formats(chosen, options.answer_formats or ("free",))
    conditions = tuple(_with_strategy(condition, options, task) for condition in chosen)
    if _hosts(options) or not any(needs_sandbox(condition) for condition in conditions):
        return conditions, None
    try:
        backend = await choose_sandbox(options.sandbox, options.plugins)
    except ConfigError as exc:
        if named or options.sandbox != "auto":
            raise
        note(f"left out the conditions with ci: {exc}")
        return tuple(c for c in conditions if not needs_sandbox(c)), None
    return conditions, backend


def _check_web(
    options: RunOptions, conditions: Sequence[Condition], note: Callable[[str], None]
) -> None:
    """ConfigError for invalid web options; a note on options without effect."""
    settings_of(options.web)
    if options.web != WebOptions() and not needs_web(conditions):
        note("no condition uses the web, so the options for it have no effect")


def _with_strategy(condition: Condition, options: RunOptions, task: Task) -> Condition:
    """The condition with the strategy of the options."""
    from agent_env.graph.strategies import make_strategy
    from agent_env.tasks.templates import example_turns

    name, own = condition.name, Condition(name=condition.name).strategy
    if _hosts(options) and task.setup is not None and needs_sandbox(condition):
        raise ConfigError(f"condition '{name}': a provider's interpreter cannot be prepared by us")
    if options.strategy not in (None, condition.strategy) and condition.strategy != own:
        raise ConfigError(
            f"condition '{name}' has the strategy {condition.strategy}; drop --strategy"
        )
    if _hosts(options) and condition.strategy == "one-round":
        raise ConfigError(f"condition '{name}': a provider's own web cannot be withdrawn")
    result = condition.model_copy(update={"strategy": options.strategy or condition.strategy})
    examples = example_turns(task)
    plugins = options.plugins
    make_strategy(result, task.prompt, examples, task.strategies, plugins)  # fails first
    return result


def _hosts(options: RunOptions) -> bool:
    return options.parameters.get("hosted_tools") is True


PromptTexts = tuple[TextFile | None, TextFile | None]
"""The user's own prompt and system text, if any."""


def _with_texts(options: RunOptions) -> tuple[RunOptions, PromptTexts]:
    """The user's text files; the prompt's name in the options is then `default`."""
    system = None if options.system is None else read_text_file(options.system)
    prompt_file = Path(options.prompt)
    if not prompt_file.suffix and len(prompt_file.parts) == 1:
        return options, (None, system)
    return replace(options, prompt="default"), (read_text_file(prompt_file), system)


def _copies(
    options: RunOptions, samples: Sequence[Sample], note: Callable[[str], None]
) -> tuple[ContextCopy, ...]:
    from agent_env.episodes.contexts.copies import make_copies, parse_context_options

    return make_copies(parse_context_options(options.cited_from), samples, note)


def samples_of(options: RunOptions) -> SampleSet:
    """The samples that a run with these options asks."""
    family = options.plugins.find(FAMILIES, options.task)
    chosen = read_options(family, options.options)
    options, _ = _with_texts(options)
    return select_samples(options, family, chosen, family.make_task(options.prompt, chosen, {}))


def select_samples(options: RunOptions, family: Family, chosen: Record, task: Task) -> SampleSet:
    """The samples of the dataset, or new ones; filtered, cut to the limit, with the tables that
    they name."""
    from agent_env.tasks.where import parse_where

    filters = [parse_where(text) for text in options.where]
    if options.dataset is not None:
        made = _read_dataset(options.dataset, family, chosen, task)
        selected = select(made.samples, filters)
        defects = [each for sample in selected for each in made.defects.get(sample.id, ())]
        if defects:
            raise DatasetErrors(options.dataset, defects)
        selected = selected[: options.limit]
    else:
        made, selected = _generate(options, family, chosen, filters)
    if not selected:
        raise ConfigError(f"no sample satisfies --where {' --where '.join(options.where)}")
    table_digests = {digest for sample in selected for digest in sample.materials}
    tables = by_digest(made.tables)
    if missing := table_digests - set(tables):
        raise ConfigError(f"the samples name a table that is not there: {min(missing)[:12]}…")
    used = tuple(tables[digest] for digest in tables if digest in table_digests)
    return SampleSet(tuple(selected), used, notes=made.notes)


def _read_dataset(file: Path, family: Family, chosen: Record, task: Task) -> SampleSet:
    """A samples.jsonl with its materials beside it, or a set in a published format."""
    from agent_env.episodes.run_folder import materials_beside, read_materials, read_samples

    if (foreign := family.read_foreign(file, chosen)) is not None:
        return foreign
    samples = read_samples(file, task.sample_type)
    other = next((sample for sample in samples if sample.task != task.name), None)
    if other is not None:
        reason = f"sample '{other.id}' is a question of {other.task}, not of {task.name}"
        raise DatasetError(file, None, f"{reason}; run that task")
    beside = materials_beside(file)
    return SampleSet(samples, read_materials(beside) if beside.exists() else ())


def _generate(
    options: RunOptions, family: Family, chosen: Record, filters: Sequence[Filter]
) -> tuple[SampleSet, list[Sample]]:
    """The requested number of samples that satisfy the filters, from at most 64 times as many."""
    count = options.limit or options.stop.max_samples or DEFAULT_COUNT
    made, selected = SampleSet(()), list[Sample]()
    for factor in (1, 4, 16, 64) if filters else (1,):
        made = family.make_samples(count * factor, options.seed, chosen)
        selected = select(made.samples, filters)
        if len(selected) >= count:
            break
    if made.missing and not selected:
        raise ConfigError(made.missing[0])
    return made, selected[:count]


def _create(
    options: RunOptions,
    task: Task,
    chosen: Record,
    conditions: tuple[Condition, ...],
    sandbox: SandboxBackend | None,
    made: SampleSet,
    limits: dict[str, Any],
    about_calls: dict[str, Any],
    uses: tuple[PluginUse, ...],
    copies: Sequence[ContextCopy] = (),
    texts: PromptTexts = (None, None),
    is_sealed: bool = False,
) -> Run:
    from agent_env.episodes.run_folder import digest, samples_bytes

    now = datetime.now(UTC)
    path = options.out or _free_name(Path("runs"), f"{task.name}-{now:%Y%m%d-%H%M%S}")
    if (path / "run.json").exists():
        raise ConfigError(f"{path} holds a run already; resume it or name another --out")
    data, tables = samples_bytes(made.samples), samples_bytes(made.tables)
    fields = about_calls | {
        "id": token_hex(16),
        "task": task.name,
        "plugins": uses,
        "model_parameters": {"base_url": options.base_url, **options.parameters},
        "conditions": conditions,
        "limits": limits,
        "options": chosen.model_dump(mode="json"),
        "prompt_file": texts[0],
        "system_file": texts[1],
        "seed": None if options.dataset else options.seed,
        "dataset": options.dataset.name if options.dataset else None,
        "samples": len(made.samples),
        "samples_digest": digest(data),
        "materials_digest": digest(tables) if tables else None,
        "sandbox": None if sandbox is None else sandbox.name,
        "web": options.web_mode if needs_web(conditions) else None,
        "web_settings": settings_of(options.web),
        "contexts": tuple(copy.use for copy in copies),
        "versions": versions(),
        "study": options.study,
        "created_at": now.isoformat(timespec="seconds"),
    }
    manifest = Manifest(**entries(options) | fields)
    manifest = manifest.model_copy(update={"plugins": uses_in(manifest)})
    run = Run(path)
    if is_sealed:
        run.hold({"samples.jsonl": data, "materials.jsonl": tables})
    run.create(manifest, data, tables, {copy.use.file: copy.data for copy in copies})
    return run


def _free_name(parent: Path, name: str) -> Path:
    numbers = (f"{name}-{n}" if n > 1 else name for n in range(1, 1000))
    return next(parent / free for free in numbers if not (parent / free).exists())
