"""Replays a run: runs its recorded episodes again and compares them with the recording."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from agent_env.episodes.disturbances import loop_of
from agent_env.episodes.run_folder import EpisodeKey, RunFolder
from agent_env.errors import ConfigError, DatasetError, ReplayError
from agent_env.registry import NO_PLUGINS
from agent_env.runs.options.run_options import ReplayOptions
from agent_env.runs.run import Run
from agent_env.runs.servers.serving import start_server
from agent_env.wiring.components import Parts, contexts_of, open_components, strategy_of
from agent_env.wiring.models import health_of, make_model, make_tokenizer, open_counted
from agent_env.wiring.plugins import report_changes
from agent_env.wiring.trust import check_trust, record_run, without_model, without_tools

if TYPE_CHECKING:
    from agent_env.episodes.rerun.replay import OpenTools, ReplayResult
    from agent_env.episodes.trace.fold import Recording
    from agent_env.graph.loop import Loop
    from agent_env.protocols import Strategy, Toolbox
    from agent_env.records.schema import Condition, Sample
    from agent_env.records.trace_events import EpisodeStarted

Play = Callable[..., Awaitable["ReplayResult"]]


async def replay(
    run: Run, options: ReplayOptions, note: Callable[[str], None], trace: Path | None = None
) -> list[ReplayResult]:
    """Replays the recorded episodes, or one, in the order of traces; `broken` for unreadable."""
    from agent_env.episodes.rerun.replay import ReplayResult
    from agent_env.graph.loop import AgentLoop

    if options.tools_live and options.model_live:
        raise ConfigError("with live tools and a live model nothing is replayed; start a new run")
    run.check_ours("replayed")
    _check_live(run, options, note)
    report_changes(run.manifest, run.permit, note)
    ours = AgentLoop()

    def loop(recording: Recording) -> Loop:
        """What drove the episode."""
        if (agent := recording.start.condition.agent) is None:
            return ours
        return loop_of(agent, run.manifest.model, None, run.permit)

    async with AsyncExitStack() as stack:
        if options.model_live:
            play = await _live_model(run, options, note, stack)
        else:
            play = await _recorded_model(run, options, stack)
        has_agents = _has_agents(run)
        if not options.model_live and not has_agents:  # nothing is waited for
            return [
                x if isinstance(x, ReplayResult) else await play(*x, ours)
                for x in _recordings(run, trace)
            ]
        # a live model waits for slots of its own
        slots = asyncio.Semaphore(8) if has_agents else nullcontext()

        async def played(x: tuple[Recording, Sample] | ReplayResult) -> ReplayResult:
            if isinstance(x, ReplayResult):
                return x
            async with slots:
                return await play(*x, loop(x[0]))

        return list(await asyncio.gather(*(played(x) for x in _recordings(run, trace))))


def _has_agents(run: Run) -> bool:
    return any(condition.agent is not None for condition in run.manifest.conditions)


def _check_live(run: Run, options: ReplayOptions, note: Callable[[str], None]) -> None:
    """ConfigError for live parts that are not trusted; agents of others always live."""
    manifest = run.manifest
    if not options.tools_live and not options.model_live and not _has_agents(run):
        return
    wanted = manifest if options.tools_live else without_tools(manifest)
    wanted = wanted if options.model_live else without_model(wanted)
    check_trust(run, wanted, note, confirmed=options.trust_run)


def _recordings(run: Run, trace: Path | None) -> Iterator[tuple[Recording, Sample] | ReplayResult]:
    """Every episode, or that of one trace; or why it cannot be replayed."""
    from agent_env.episodes.rerun.replay import ReplayResult
    from agent_env.episodes.trace.fold import Recording
    from agent_env.episodes.trace.lines import read_trace
    from agent_env.episodes.trace.texts import Texts

    samples, texts, identity = run.samples_by_id, Texts(run.texts), run.identity()
    try:
        for file in run.traces() if trace is None else (trace,):
            name = run.key_of(file)
            try:
                events = read_trace(file, texts)
                problem = run.misfit(file, identity, events)
                if problem is not None:
                    raise ReplayError(problem)
                recording = Recording.of(events)
                _check_asked(run, name, recording.start)
                yield recording, samples[recording.start.sample]
            except (DatasetError, ReplayError) as exc:
                yield ReplayResult(name, "broken", 0, reason=str(exc))
            except KeyError as exc:
                yield ReplayResult(name, "broken", 0, reason=f"{file}: no sample {exc}")
    finally:
        texts.close()


def _check_asked(run: Run, name: str, start: EpisodeStarted) -> None:
    """ReplayError where the trace says that it was asked otherwise than its place and run.json do:
    what run.json asks for was trusted, and a trace could name tools and pages of its own."""
    if EpisodeKey(start.sample, start.condition.name, start.repeat).name != name:
        raise ReplayError(f"{name} is said to be another sample, condition or repeat in its trace")
    if start.condition not in run.manifest.conditions:
        raise ReplayError(f"{name}: run.json has no such condition as its trace names")


async def _recorded_model(run: Run, options: ReplayOptions, stack: AsyncExitStack) -> Play:
    from agent_env.episodes.rerun.replay import Replayer
    from agent_env.episodes.rerun.resume import limits_of

    replayer = Replayer(
        make_strategy=_strategies(run),
        limits=limits_of(run.manifest),
        facts=run.manifest.model_facts,
        model_seed=run.manifest.model_parameters.get("seed"),  # type: ignore[arg-type]
        strict=options.strict,
        open_tools=await _live_tools(run, stack) if options.tools_live else None,
    )
    return replayer.play


def _strategies(run: Run) -> Callable[[Sample, Condition], Strategy]:
    """The strategies of the run, with its cited pages and worked examples."""
    contexts = contexts_of(run, run.manifest)
    in_text = run.manifest.is_in_text
    return lambda sample, condition: strategy_of(
        run.task, contexts, sample, condition, in_text, run.plugins
    )[0]


async def _live_tools(run: Run, stack: AsyncExitStack) -> OpenTools:
    """The run's tools without its model, so that no key is needed."""
    parts = Parts(model=(make_model("reference", None, {}, NO_PLUGINS), make_tokenizer("estimate")))
    components = await open_components(
        run, run.manifest, run.task, stack, parts=parts, plugins=run.plugins
    )

    @asynccontextmanager
    async def open_tools(sample: Sample, recording: Recording) -> AsyncIterator[Toolbox]:
        async with components.open_seams(sample, recording.start.condition) as seams:
            if seams.faults is not None:
                seams.faults.follow(recording.results)
            yield seams.toolbox

    return open_tools


async def _live_model(
    run: Run,
    options: ReplayOptions,
    note: Callable[[str], None],
    stack: AsyncExitStack,
) -> Play:
    from agent_env.episodes.calls.options import open_calls
    from agent_env.episodes.contexts import copied_files
    from agent_env.episodes.rerun.replay import LiveReplayer
    from agent_env.episodes.rerun.resume import limits_of
    from agent_env.episodes.runner import utc_now
    from agent_env.episodes.trace.texts import Texts
    from agent_env.runs.resume import fresh_manifest  # an offline replay plans no run

    manifest = await start_server(run, run.manifest, note, stack)
    model, tokenizer = await open_counted(manifest, note, stack, run.plugins)
    now = datetime.now(UTC)
    out = RunFolder(options.out or run.place(f"replays/{now:%Y%m%d-%H%M%S}"))
    fresh = fresh_manifest(manifest, run.permit)
    samples = run.read("samples.jsonl")
    out.create(fresh, samples, run.materials_bytes(), copied_files(run, manifest))
    record_run(out, note, run)
    note(f"what the model says is recorded in {out.path}")
    is_up = health_of(manifest.model, manifest.model_parameters.get("base_url"), run.plugins)
    calls = open_calls(out, fresh, manifest.concurrency, stack, note, is_up)
    texts = Texts(out.texts)
    stack.callback(texts.close)
    live = LiveReplayer(
        folder=out,
        manifest=fresh,
        model=model,
        calls=calls,
        make_strategy=_strategies(run),
        tokenizer=tokenizer,
        limits=limits_of(manifest),
        texts=texts,
        clock=utc_now,
        slots=asyncio.Semaphore(manifest.concurrency),
        model_seed=run.manifest.model_parameters.get("seed"),  # type: ignore[arg-type]
        strict=options.strict,
    )
    return live.play
