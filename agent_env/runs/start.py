"""A plan's way to its end: its folder is made, its server tried, its episodes run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from agent_env.episodes.calls.options import allow_open_files
from agent_env.episodes.run_folder import EpisodeKey
from agent_env.errors import ConfigError
from agent_env.models.addresses import NO_SERVER, split_address, variable_in
from agent_env.records.manifest import ContextCheck, Manifest, Preflight
from agent_env.registry import hook
from agent_env.runs.options.run_options import PreflightWish, RunOptions
from agent_env.runs.planning.plan import Plan, plan_run
from agent_env.runs.run import Run
from agent_env.runs.servers.serving import begin_server
from agent_env.tasks.family import SampleSet
from agent_env.tasks.features import driver_of, settings_of_features
from agent_env.tasks.sample_files import samples_bytes
from agent_env.tasks.tool_registry import needs_web
from agent_env.wiring.components import RunComponents, open_components
from agent_env.wiring.models import (
    api_of,
    check_reached,
    facts_of_server,
    health_of,
    open_counted,
)
from agent_env.wiring.trust import record_run

if TYPE_CHECKING:
    from agent_env.episodes.calls.budget import RunBudget, RunLimits
    from agent_env.records.schema import Condition, Sample, ToolSpec

PROMPTS = 50
"""At most so many samples' prompts are measured for each condition."""


@dataclass(frozen=True, slots=True)
class Listener:
    note: Callable[[str], None]
    """Called with a line for the user."""
    begin: Callable[[Run, int], None]
    """Called with the run and its number of episodes."""
    end: Callable[[EpisodeKey, str], None]
    """Called with each ended episode and its status."""
    pace: Callable[[Callable[[], str]], None] = lambda tell: None
    """Called with a function that returns the number of calls in flight as text."""


Engine = Callable[..., Coroutine[Any, Any, None]]
"""Takes what `run_episodes` takes."""


async def start_run(options: RunOptions, listener: Listener, engine: Engine | None = None) -> Run:
    """Plans the run, makes its folder and runs all episodes, by `run_episodes` or another engine.
    PreflightRefused where a preflight is wished and tells that the run would mean nothing; there is
    no folder then."""
    async with AsyncExitStack() as stack:
        plan = await plan_run(options, listener.note, stack, build_pages=reference_pages)
        plugins = replace(options.plugins, uses=plan.manifest.plugins)
        await check_reached(plan.manifest, plugins)
        run = open_plan(plan, listener.note, stack)
        try:
            await try_server(run, options.preflight, listener.note, stack)
        except ConfigError:
            run.discard()
            raise
        await (engine or run_episodes)(run, None, listener)
    return run


async def reference_pages(options: RunOptions, sample_set: SampleSet) -> Path:
    """The context file of the pages that the scripted reference cites for these samples."""
    build: Callable[[Path, Path], object] = hook("contexts", "the condition cited")
    assert options.out is not None
    dataset = options.out.with_suffix(".jsonl")
    sample_set.write(dataset)
    silent = Listener(lambda line: None, lambda run, number: None, lambda key, status: None)
    run = await start_run(replace(options, dataset=dataset), silent)
    contexts = options.out.with_suffix(".contexts")
    await asyncio.to_thread(build, run.path, contexts)
    return contexts


def open_plan(
    plan: Plan, note: Callable[[str], None], stack: AsyncExitStack, is_sealed: bool = False
) -> Run:
    """Makes the run's folder, as this user's; what was opened for the plan is the run's until the
    stack is closed. `is_sealed`: the samples are kept from the folder until `release`."""
    samples, tables = samples_bytes(plan.sample_set.samples), samples_bytes(plan.sample_set.tables)
    run = Run(plan.path, plan.objects)
    if is_sealed:
        run.hold({"samples.jsonl": samples, "materials.jsonl": tables})
    run.create(plan.manifest, samples, tables, plan.contexts)
    run.task, run.parts = plan.task, plan.parts
    stack.callback(run.drop_objects)
    record_run(run, note)
    return run


async def check_run(options: RunOptions, note: Callable[[str], None]) -> Plan:
    """The run that these options would make, with its preflight; leaves nothing on disk."""
    with TemporaryDirectory() as parent:
        async with AsyncExitStack() as stack:
            out = Path(parent) / "run"
            plan = await plan_run(
                replace(options, out=out), note, stack, build_pages=reference_pages
            )
            run = open_plan(plan, note, stack)
            manifest = await begin_server(run, note, stack)
            update = await preflight_update(run, manifest, True, lambda text: None, stack)
            return replace(plan, manifest=manifest.model_copy(update=update))


class PreflightRefused(ConfigError):
    """The server would make the run meaningless."""

    def __init__(self, reason: str, preflight: Preflight) -> None:
        super().__init__(reason)
        self.preflight = preflight


async def try_server(
    run: Run, wish: PreflightWish, note: Callable[[str], None], stack: AsyncExitStack
) -> None:
    """The preflight of a new run, if one is wished; run.json has its result, a refusal, too, so
    that `resume` can begin the run. What it opened stays open in the run until the stack is
    closed, the server too that the run starts itself."""
    begun = await begin_server(run, note, stack)
    is_open = begun.model_parameters.get("tool_protocol") == "auto"
    has_server = begun.model_parameters.get("base_url") != NO_SERVER
    if is_open and (wish == "off" or not has_server):
        raise ConfigError(
            "--tool-protocol auto is settled by the preflight: leave --no-preflight out, or write "
            "native, text or schema"
        )
    is_known = run.server is not None and run.server.is_known
    if not is_open and (wish == "off" or not has_server or is_known):
        return
    try:
        async with AsyncExitStack() as trial:
            update = await preflight_update(run, run.manifest, wish == "anyway", note, trial)
            if update:
                run.change(**update)
            stack.push_async_exit(trial.pop_all())
    except PreflightRefused as exc:
        run.change(preflights=(exc.preflight,))
        raise


async def preflight_update(
    run: Run,
    manifest: Manifest,
    anyway: bool,
    note: Callable[[str], None],
    stack: AsyncExitStack,
) -> dict[str, object]:
    """The result of a preflight as fields of run.json; empty for a model without a server. Opens
    the run's components. PreflightRefused for an invalid condition, unless `anyway`."""
    from agent_env.episodes.calls.preflight import refusal, remarks, saw_fences

    if api_of(manifest.model, run.plugins) is None:
        return {}
    run.components = await open_components(
        run, manifest, run.task, stack, note, run.parts, plugins=run.plugins
    )
    result = await _preflight(run.components, manifest, run.samples, note)
    parameters, in_text = manifest.model_parameters, manifest.is_in_text
    if (choice := result.protocol) is not None:
        lenient = {"text_calls": "lenient"} if choice.name == "text" else {}
        parameters = parameters | {"tool_protocol": choice.name, **lenient}
        in_text = choice.name != "native"
        note(f"preflight: --tool-protocol auto takes {choice.name}; {choice.reason}")
    reason = refusal(result, in_text)
    if reason is not None and not anyway:
        raise PreflightRefused(reason, result)
    if result.probes[0].error_kind != "connection":  # else the run says it when it waits
        for remark in remarks(result, in_text):
            note(f"preflight: {remark}")
    is_text = parameters.get("tool_protocol") == "text" and "text_calls" not in parameters
    if is_text and saw_fences(result):
        parameters = parameters | {"text_calls": "lenient"}
        note("preflight: calls come in fenced blocks of another name, which are read too")
    update: dict[str, object] = {
        "model_parameters": parameters,
        "preflights": (*manifest.preflights, result),
    }
    settled = manifest.model_copy(update=update)
    run.components = replace(run.components, window=settled.page_window)
    if parameters != manifest.model_parameters:
        model, tokenizer = await open_counted(settled, note, stack, run.plugins)
        run.components = replace(
            run.components, model=model, tokenizer=tokenizer, calls_in_text=settled.is_in_text
        )
    return update


async def _preflight(
    components: RunComponents,
    manifest: Manifest,
    samples: Sequence[Sample],
    note: Callable[[str], None],
) -> Preflight:
    from agent_env.episodes.calls.preflight import ProbedModel, brief, preflight

    base_url = manifest.model_parameters.get("base_url")
    address = str(base_url) if base_url else None
    async with AsyncExitStack() as stack:
        shortened = manifest.model_copy(
            update={"model_parameters": brief(manifest.model_parameters)}
        )
        model, _ = await open_counted(shortened, note, stack, components.plugins)
        offers: dict[tuple[str, ...], Sequence[ToolSpec]] = {}
        for condition in manifest.conditions:
            if condition.tools and condition.tools not in offers:
                async with components.open_seams(samples[0], condition) as seams:
                    specs = seams.toolbox.specs
                if not any(spec.hosted for spec in specs):  # these run, and cost, at the provider
                    offers[condition.tools] = specs
        facts = await facts_of_server(
            manifest.model, address, components.plugins, variable_in(manifest.model_parameters)
        )
        name = split_address(manifest.model)[0]
        is_open = manifest.model_parameters.get("tool_protocol") == "auto"
        settings = manifest.model_parameters
        is_repeatable = settings.get("temperature") == 0 or settings.get("seed") is not None
        target = ProbedModel(name, address, facts, manifest.is_in_text, is_open, is_repeatable)
        at = datetime.now(UTC).isoformat(timespec="seconds")
        contexts = [
            _context_check(components, condition, samples, offers.get(condition.tools, ()))
            for condition in manifest.conditions
        ]
        return await preflight(model, target, manifest.conditions, offers, at, contexts)


def _context_check(
    components: RunComponents,
    condition: Condition,
    samples: Sequence[Sample],
    specs: Sequence[ToolSpec],
) -> ContextCheck:
    """What the condition's requests need, by at most PROMPTS samples."""
    from agent_env.episodes.calls.preflight import MOST_OUTPUT
    from agent_env.graph.meter import LETTERS_PER_TOKEN, estimated_tokens
    from agent_env.tools.builtin.open_page import WINDOW
    from agent_env.wiring.components import strategy_of

    sizes = []
    for sample in samples[:PROMPTS]:
        strategy, _ = strategy_of(
            components.task,
            components.contexts,
            sample,
            condition,
            components.calls_in_text,
            components.plugins,
        )
        sizes.append(estimated_tokens(strategy.start(sample), specs))
    page = WINDOW // LETTERS_PER_TOKEN if needs_web([condition]) and not components.hosted else 0
    return ContextCheck(
        condition=condition.name,
        first_tokens=round(sum(sizes) / len(sizes)),
        needed_tokens=max(sizes) + page + MOST_OUTPUT,
    )


@dataclass(frozen=True, slots=True)
class Start:
    """One start of a run, for a feature that runs its episodes."""

    run: Run
    manifest: Manifest
    components: RunComponents
    asked: tuple[Sequence[Sample], Sequence[Condition], int]
    listener: Listener


async def run_episodes(
    run: Run,
    concurrency: int | None,
    listener: Listener,
    limits: RunLimits | None = None,
    strict: bool = True,
    budget: RunBudget | None = None,
) -> None:
    """Runs every episode without a complete trace, also on resume. `limits` override those of the
    run; if `strict`, an episode fails whose requests differ from the recorded ones. `budget`: None
    for one of this run alone."""
    from agent_env.episodes.calls.options import change_run_limits, open_calls
    from agent_env.episodes.rerun.resume import limits_of
    from agent_env.episodes.run_folder import pending

    if limits is not None:
        change_run_limits(run, limits)
    manifest, samples = run.manifest, run.samples
    at_once = concurrency or manifest.concurrency
    allow_open_files(at_once)
    listener.begin(run, manifest.planned_episodes)
    async with AsyncExitStack() as stack:
        stack.enter_context(run.locked())
        asked = samples, manifest.conditions, manifest.repeats
        if next(pending(run, *asked), None) is None:
            return
        from agent_env.episodes.runner import Runner, Watch

        manifest = await begin_server(run, listener.note, stack)
        components = run.components or await open_components(
            run, manifest, run.task, stack, listener.note, run.parts, plugins=run.plugins
        )
        is_up = health_of(manifest.model, manifest.model_parameters.get("base_url"), run.plugins)
        is_up = is_up if run.server is None else run.server.is_up
        calls = open_calls(run, manifest, at_once, stack, listener.note, is_up, budget)
        listener.pace(lambda: str(calls.pace))
        telling = asyncio.create_task(calls.outage.tell_quiet(lambda: calls.pace.in_flight))
        stack.callback(telling.cancel)
        runner = Runner(
            folder=run,
            model_name=manifest.model,
            open_seams=components.open_seams,
            tokenizer=components.tokenizer,
            limits=limits_of(manifest),
            concurrency=at_once,
            seed=manifest.seed or 0,
            calls=calls,
            parameters=manifest.model_parameters,
            model_seed=manifest.model_parameters.get("seed"),  # type: ignore[arg-type]
            run_id=manifest.id,
            strict=strict,
            note=listener.note,
            watch=Watch(listener.note, manifest.served_model, manifest.is_in_text),
        )
        if (driver := driver_of(manifest.features)) is None:
            await runner.run(*asked, listener.end)
        else:
            settings = settings_of_features(manifest.features, str(run.path))[driver.name]
            start = Start(run, manifest, components, asked, listener)
            await driver.drive(start, runner, settings)  # type: ignore[misc]
