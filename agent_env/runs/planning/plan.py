"""What a run is to be: its options with every name resolved, checked before anything is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from agent_env.episodes.calls.options import allow_open_files, asked_tier, manifest_fields
from agent_env.episodes.run_folder import digest
from agent_env.errors import ConfigError, DatasetError, DatasetErrors
from agent_env.models.addresses import short_names
from agent_env.records.manifest import Manifest, WebSettings
from agent_env.records.mcp import mcp_traits
from agent_env.records.options import entries
from agent_env.records.schema import Condition, MaterialTable, Record, Sample
from agent_env.records.tier import Tier
from agent_env.registry import NO_OBJECTS, Objects, Plugins, use_of
from agent_env.runs.options.run_options import PreflightWish, RunOptions
from agent_env.runs.planning.batch import batch_settings
from agent_env.runs.planning.draft import Draft, axes_of_features, drafted
from agent_env.runs.planning.ladder import PageBuilder, cited_pages, rungs_of
from agent_env.runs.servers.serving import with_server
from agent_env.tasks.answer_forms import FORMATS
from agent_env.tasks.conditions import LADDER, Tools, parse_conditions, with_first_steps
from agent_env.tasks.family import Family, Materials, SampleSet, by_digest
from agent_env.tasks.modifiers import FORMAT, Axis, grid
from agent_env.tasks.sample_files import parse_where, samples_bytes, select
from agent_env.tasks.scorers import with_measures
from agent_env.tasks.templates import read_text_file, with_texts
from agent_env.tasks.tool_registry import (
    needs_sandbox,
    needs_web,
    open_tool,
    tool_names,
    traits_of,
)
from agent_env.wiring.components import Parts, versions
from agent_env.wiring.local_models import find_local, is_local
from agent_env.wiring.mcp import read_servers, servers_of
from agent_env.wiring.models import (
    api_of,
    make_model,
    make_tokenizer,
    model_entry,
    not_known_of,
    open_model,
    steps_of_task,
)
from agent_env.wiring.plugins import uses_in
from agent_env.wiring.registry import FAMILIES, POLICIES
from agent_env.wiring.sandboxes import choose_sandbox
from agent_env.wiring.web import WebOptions, settings_of

if TYPE_CHECKING:
    from agent_env.protocols import SandboxBackend
    from agent_env.tasks.sample_files import Filter
    from agent_env.tasks.task import Task
    from agent_env.web.page_store import SqlitePages

DEFAULT_COUNT = 12
ANSWERING = ("tool-loop", "one-round", "few-shot", "cot")
"""Strategies whose last reply is the answer."""
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
    from agent_env.episodes.contexts import make_copies, parse_context_options

    (options,) = options.addressed([options.model])
    batch = batch_settings(options) if is_asked else None
    options, server = with_server(options, note) if is_asked else (options, None)
    family = options.plugins.find(FAMILIES, options.task)
    _check_script(options, family)
    family_options = family.read_options(options.options, options.difficulty)
    texts = _texts(options)
    options = options if texts["prompt_file"] is None else replace(options, prompt="default")

    def make_task(tables: Materials) -> Task:
        task = with_texts(family.make_task(options.prompt, family_options, tables), *texts.values())
        return with_measures(task, options.scorer, options.metrics, options.plugins)

    task = make_task({})
    plugins, model = _plugins(options, task, is_asked)
    options = replace(options, model=model)
    parts = Parts()
    if not is_asked:
        make_tokenizer(options.tokenizer)
    elif server is not None:  # opened when it is up
        make_model(model, options.base_url, options.parameters, plugins)
    else:
        counted = await open_model(
            model, options.base_url, options.parameters, options.tokenizer, note, stack, plugins,
            steps=steps_of_task(task.name, plugins),
        )  # fmt: skip
        parts = Parts(counted)
    allow_open_files(options.concurrency)
    servers = await read_servers(servers_of(options.mcp), note, plugins)
    conditions, sandbox = await _conditions(options, task, mcp_traits(servers), note)
    fit = {"fit_context": True} if options.parameters.get("tool_texts") == "short" else {}
    limits = episode_limits(fit | dict(options.limits), task, conditions)
    priced = asked_tier(options.parameters)
    priced = "batch" if batch is not None and batch.dir is None else priced
    about_calls = manifest_fields(options.calls, model, limits, note, plugins.permit, priced)
    tier = family.tier_of(options.difficulty, family_options)
    sample_set = select_samples(options, family, family_options, task, tier)
    for text in sample_set.notes:
        note(text)
    _check_tables(conditions, sample_set, plugins)
    if sample_set.tables:
        task = make_task(by_digest(sample_set.tables))
    web = settings_of(options.web, dict.fromkeys(c.today for c in conditions if c.today))
    if options.web != WebOptions() and not needs_web(conditions):
        note("no condition uses the web, so the options for it have no effect")
    if LADDER in options.conditions:
        unworded = [each.name for each in _unworded(task, conditions, sample_set.samples)]
        conditions = rungs_of(conditions, unworded, sample_set.samples, note)
    pages = partial(planned_pages, web, options.web_mode, sample_set.tables)
    by_call = is_asked and batch is None
    draft = drafted(
        Draft(options, task, conditions, sample_set, note, pages=pages, is_call_by_call=by_call)
    )
    conditions, sample_set = draft.conditions, draft.sample_set
    for condition in conditions:
        task.prompt(sample_set.samples[0], condition)
    _check_forms(options, task, conditions, sample_set.samples, is_asked)
    if options.conditions:
        _check_wordings(task, conditions, sample_set.samples)
    if options.web_mode == "sealed":
        is_chosen = bool(options.conditions) and LADDER not in options.conditions
        _check_proofs(conditions, sample_set, web, note, task.off_web if is_chosen else None)
    now = datetime.now(UTC)
    copies = make_copies(parse_context_options(options.cited_from), sample_set.samples, note)
    if any(c.context == "cited" for c in conditions) and not options.cited_from:
        copies = await cited_pages(options, family_options, sample_set, build_pages, note)
    tables = samples_bytes(sample_set.tables)
    manifest = Manifest(
        **entries(options)
        | about_calls
        | texts
        | {
            "id": token_hex(16),
            "task": task.name,
            "plugins": plugins.uses,
            "not_known": not_known_of(model, plugins) if is_asked else (),
            "model_parameters": {"base_url": options.base_url, **options.parameters},
            "server": server,
            "conditions": conditions,
            "limits": limits,
            "options": family_options.model_dump(mode="json"),
            "tier": tier,
            "seed": None if options.dataset else options.seed,
            "dataset": options.dataset.name if options.dataset else None,
            "samples": len(sample_set.samples),
            "samples_digest": digest(samples_bytes(sample_set.samples)),
            "left_out": draft.left_out,
            "features": draft.recorded,
            "materials_digest": digest(tables) if tables else None,
            "sandbox": None if sandbox is None else sandbox.name,
            "web": options.web_mode if needs_web(conditions) else None,
            "web_settings": web,
            "mcp": servers,
            "contexts": tuple(copy.use for copy in copies),
            "versions": versions(),
            "batch": batch,
            "study": options.study,
            "created_at": now.isoformat(timespec="seconds"),
        }
    )
    path = options.out or _free_name(Path("runs"), f"{task.name}-{now:%Y%m%d-%H%M%S}")
    if (path / "run.json").exists():
        raise ConfigError(f"{path} holds a run already; resume it or name another --out")
    return Plan(
        path=path,
        manifest=manifest.model_copy(update={"plugins": uses_in(manifest, plugins.permit)}),
        task=task,
        sample_set=sample_set,
        contexts={copy.use.file: copy.data for copy in copies},
        preflight=options.preflight,
        objects=options.objects,
        parts=replace(parts, sandbox=sandbox),
    )


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
        if is_local(one.model):
            find_local(one.model)
        elif one.serve is None:
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


def _check_script(options: RunOptions, family: Family) -> None:
    """ConfigError for a scripted model that has no policy for the family; before it, what is wrong
    with the file of questions."""
    model, known = options.model, family.policies if family.reference is not None else ()
    if model not in POLICIES or model in known:
        return
    if options.dataset is not None:
        samples_of(options)
    also = f"; scripts: {', '.join(known)}" if known else ""
    raise ConfigError(
        f"the script {model} cannot answer {family.name}; name a model: --model "
        f"http://HOST:PORT, openai/NAME or file.py:FUNCTION{also}"
    )


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


def _texts(options: RunOptions) -> dict[str, Any]:
    """The user's own prompt and system text, by their entries in run.json."""
    file = Path(options.prompt)
    is_name = not file.suffix and len(file.parts) == 1
    return {
        "prompt_file": None if is_name else read_text_file(file),
        "system_file": None if options.system is None else read_text_file(options.system),
    }


# Conditions ---------------------------------------------------------------------------------------


def conditions_of(
    options: RunOptions, default: Sequence[str | Condition], tools: Tools
) -> tuple[Condition, ...]:
    """The conditions that the options name, else those of the task, with the disturbed ones."""
    from agent_env.episodes.contexts import parse_context_options

    contexts = [option.name for option in parse_context_options(options.cited_from)]
    is_found = options.web_mode == "sealed" and "cited" in options.conditions
    if not contexts and (is_found or LADDER in options.conditions):
        contexts = ["cited"]
    parsed = parse_conditions(options.conditions or default, contexts, tools, options.permit)
    first = with_first_steps(parsed, options.first_steps, options.permit)
    if unknown := next((each for each in options.answer_formats if each not in FORMATS), None):
        raise ConfigError(f"--answer-format {unknown}: write one of {', '.join(FORMATS)}")
    formats = [each for each in FORMATS if each in (options.answer_formats or FORMATS[:1])]
    axes = (
        *axes_of_features(options, first),
        Axis(FORMAT, formats, "--answer-format"),
    )
    return grid(first, axes)


async def _conditions(
    options: RunOptions, task: Task, tools: Tools, note: Note
) -> tuple[tuple[Condition, ...], SandboxBackend | None]:
    """The named conditions, or those of the task that can run here; and the sandbox."""
    named = conditions_of(options, task.default_conditions, tools)
    conditions = tuple(_with_strategy(condition, options, task) for condition in named)
    if options.web_mode == "hosted" or not any(needs_sandbox(each) for each in conditions):
        return conditions, None
    try:
        return conditions, await choose_sandbox(options.sandbox, options.plugins, conditions)
    except ConfigError as exc:
        is_named = options.conditions and LADDER not in options.conditions
        if is_named or options.sandbox != "auto":
            raise
        note(f"left out the conditions with python: {exc}")
        return tuple(c for c in conditions if not needs_sandbox(c)), None


def _with_strategy(condition: Condition, options: RunOptions, task: Task) -> Condition:
    """The condition with the strategy of the options."""
    from agent_env.graph.strategies import make_strategy
    from agent_env.tasks.templates import example_turns

    name, strategy, is_hosted = condition.name, condition.strategy, options.web_mode == "hosted"
    if is_hosted and task.setup is not None and needs_sandbox(condition):
        raise ConfigError(f"condition '{name}': a provider's interpreter cannot be prepared by us")
    if options.strategy not in (None, strategy) and strategy != Condition(name=name).strategy:
        raise ConfigError(f"condition '{name}' has the strategy {strategy}; drop --strategy")
    if is_hosted and strategy == "one-round":
        raise ConfigError(f"condition '{name}': a provider's own web cannot be withdrawn")
    result = condition.model_copy(update={"strategy": options.strategy or strategy})
    make_strategy(result, task.prompt, example_turns(task), task.strategies, options.plugins)
    return result


def episode_limits(
    limits: Mapping[str, Any], task: Task, conditions: Sequence[Condition]
) -> dict[str, Any]:
    """The task's limits, overridden by these; ConfigError for a limit of a tool that there is
    not."""
    defaults: dict[str, Any] = asdict(task.limits)
    overrides = {name: limits[name] for name in defaults if name in limits}
    known = sorted({*tool_names(), *(tool for each in conditions for tool in each.tools)})
    for tool in overrides.get("per_tool") or ():
        if tool not in known:
            raise ConfigError(f"--tool-limit: no tool '{tool}'; known: {', '.join(known)}")
    return defaults | overrides


# Samples ------------------------------------------------------------------------------------------


def task_of(options: RunOptions, tables: Materials) -> Task:
    """The task of these options under its default prompt, with their scorer and metrics."""
    family = options.plugins.find(FAMILIES, options.task)
    chosen = family.read_options(options.options, options.difficulty)
    task = family.make_task("default", chosen, tables)
    return with_measures(task, options.scorer, options.metrics, options.plugins)


def samples_of(options: RunOptions) -> SampleSet:
    """The samples that a run with these options asks."""
    family = options.plugins.find(FAMILIES, options.task)
    family_options = family.read_options(options.options, options.difficulty)
    prompt = "default" if _texts(options)["prompt_file"] else options.prompt
    return select_samples(
        options, family, family_options, family.make_task(prompt, family_options, {}),
        family.tier_of(options.difficulty, family_options),
    )  # fmt: skip


def select_samples(
    options: RunOptions, family: Family, family_options: Record, task: Task, tier: Tier | None
) -> SampleSet:
    """The samples of the dataset, or new ones; filtered, cut to the limit, with the tables that
    they name."""
    filters = [parse_where(text) for text in options.where]
    if options.dataset is not None:
        if tier is not None:
            raise ConfigError(
                f"--difficulty {tier.name} is for questions that are made, and --dataset has its "
                "own; leave one of them out"
            )
        sample_set = _read_dataset(options.dataset, family, family_options, task)
        selected = select(sample_set.samples, filters)
        defects = [each for sample in selected for each in sample_set.defects.get(sample.id, ())]
        if defects:
            raise DatasetErrors(options.dataset, defects)
        selected = selected[: options.limit]
    else:
        sample_set, selected = _generate(options, family, family_options, filters, tier)
    if not selected:
        raise ConfigError(f"no sample satisfies --where {' --where '.join(options.where)}")
    table_digests = {digest for sample in selected for digest in sample.materials}
    tables = by_digest(sample_set.tables)
    if missing := table_digests - set(tables):
        raise ConfigError(f"the samples name a table that is not there: {min(missing)[:12]}…")
    used = tuple(tables[digest] for digest in tables if digest in table_digests)
    notes = (*sample_set.notes, *family.other_ways(family_options, selected))
    return SampleSet(tuple(selected), used, notes=notes)


def _read_dataset(file: Path, family: Family, family_options: Record, task: Task) -> SampleSet:
    """A samples.jsonl with its materials beside it, or a set in a published format."""
    if (foreign := family.read_foreign(file, family_options)) is not None:
        return foreign
    sample_set = SampleSet.read(file, task.sample_type)
    stray = next((sample for sample in sample_set.samples if sample.task != task.name), None)
    if stray is not None:
        reason = f"sample '{stray.id}' is a question of {stray.task}, not of {task.name}"
        raise DatasetError(file, None, f"{reason}; run that task")
    return sample_set


def _generate(
    options: RunOptions, family: Family, family_options: Record, filters: Sequence[Filter],
    tier: Tier | None,
) -> tuple[SampleSet, list[Sample]]:  # fmt: skip
    """The requested number of samples that satisfy the filters, from at most 64 times as many."""
    count = options.limit or DEFAULT_COUNT
    sample_set, selected = SampleSet(()), list[Sample]()
    for factor in (1, 4, 16, 64) if filters else (1,):
        sample_set = family.make_tier(count * factor, options.seed, family_options, tier)
        selected = select(sample_set.samples, filters)
        if len(selected) >= count:
            break
    if sample_set.missing and not selected:
        raise ConfigError(sample_set.missing[0])
    return sample_set, selected[:count]


# Whether the conditions can ask the samples -------------------------------------------------------


def _check_tables(conditions: Sequence[Condition], sample_set: SampleSet, plugins: Plugins) -> None:
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
    for condition in _unworded(task, conditions, samples):
        raise ConfigError(
            f"condition '{condition.name}': these questions of {task.name} have no dates to "
            f"spell out, so `{condition.wording}` would change nothing; leave it out"
        )


def _unworded(
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
