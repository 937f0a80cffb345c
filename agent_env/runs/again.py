"""What is made of a run that was recorded: resumed, replayed, forked, listed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, get_args

from agent_env.errors import ConfigError, DatasetError, ReplayError
from agent_env.models.addresses import moved, split_address
from agent_env.records.schema import StopReason
from agent_env.runs.options import ForkOptions, ReplayOptions, ResumeOptions
from agent_env.runs.start import Engine, Listener, run_folder, task_of, with_preflight
from agent_env.tasks.conditions import parse_condition
from agent_env.tasks.where import parse_where
from agent_env.wiring.models import health_of, make_model, model_of, open_counted
from agent_env.wiring.rooms import choose_sandbox, contexts_of, open_rooms, strategy_of, versions
from agent_env.wiring.trust import WITHOUT_MODEL, WITHOUT_TOOLS, check_trust, record_run

if TYPE_CHECKING:
    from agent_env.episodes.again.replay import OpenTools, Replayed
    from agent_env.episodes.again.tape import Recording
    from agent_env.episodes.index import Row, Totals
    from agent_env.episodes.run_folder import RunFolder
    from agent_env.protocols import Strategy, Toolbox
    from agent_env.records.manifest import Manifest
    from agent_env.records.schema import Condition, Episode, Sample, Score
    from agent_env.records.trace_events import Parent
    from agent_env.tasks.task import Task


async def resume(
    folder: RunFolder, options: ResumeOptions, listener: Listener, engine: Engine | None = None
) -> None:
    """Finish what is unfinished: whole episodes, and those cut off or failed from their last
    event on. Raises ConfigError where code, model or limits changed and that is not accepted; a
    server that `options` name is. Raises it too where the folder is not trusted with what it
    asks for."""
    from agent_env.episodes.again.changes import changes

    manifest, wished = check_resumed(folder, options, listener.note)
    now = versions()
    found = changes(folder, manifest, wished, now)
    asked = {"base_url": options.base_url, "api_key_env": options.api_key_env}
    opened = tuple(f"model {name}: " for name, value in asked.items() if value is not None)
    told = [line for line in found if opened and line.startswith(opened)]
    if len(told) < len(found) and not options.accept_changes:
        raise ConfigError(
            f"changed since {folder.path} began: "
            f"{'; '.join(line for line in found if line not in told)}. "
            "Go on all the same with --accept-changes, or start a new run"
        )
    if manifest.preflights and _server(wished) != _server(manifest):
        wished = await with_preflight(folder, wished, options.anyway, listener.note)
    if found:
        listener.note(f"accepted: {'; '.join(found)}")
        at = datetime.now(UTC).isoformat(timespec="seconds")
        noted = (*manifest.changes, *(f"{at} {line}" for line in found))
        folder.rewrite(wished.model_copy(update={"changes": noted, "versions": now}))
        record_run(folder, listener.note)
    strict = not options.accept_changes
    await (engine or run_folder)(folder, options.concurrency, listener, options.run, strict)


def _server(manifest: Manifest) -> tuple[str, object]:
    return manifest.model, manifest.model_parameters.get("base_url")


def check_resumed(
    folder: RunFolder, options: ResumeOptions, note: Callable[[str], None]
) -> tuple[Manifest, Manifest]:
    """The run's manifest, and as `options` wish it; ConfigError where the folder is not trusted
    with what it asks for."""
    manifest = folder.manifest()
    wished = _as_wished(manifest, options)
    own = _own_settings(manifest, options)
    check_trust(folder, wished, note, confirmed=options.trust_run, own=own)
    return manifest, wished


def _as_wished(manifest: Manifest, options: ResumeOptions) -> Manifest:
    limits = {name: getattr(options, name, None) for name in manifest.limits}
    given = {name: value for name, value in limits.items() if value is not None}
    update: dict[str, object] = {"limits": manifest.limits | given}
    model = options.model or manifest.model
    url = options.base_url or split_address(options.model or "")[1]
    is_same, before = model == manifest.model, manifest.model_parameters
    now = moved(before, model, url, options.api_key_env, is_same)
    update |= {"model": model, "model_parameters": now}
    if not is_same:
        update["former_urls"] = ()
    elif now["base_url"] != before.get("base_url"):
        update["former_urls"] = (*manifest.former_urls, str(before.get("base_url")))
    return manifest.model_copy(update=update)


def _own_settings(manifest: Manifest, options: ResumeOptions | ForkOptions) -> tuple[str, ...]:
    """What this call's options say instead of the run's folder."""
    named = manifest.model_parameters.get("base_url") is not None
    address = options.base_url is not None or split_address(options.model or "")[1] is not None
    address = address or (options.model is not None and not named)
    key = options.api_key_env is not None
    return (("address",) if address else ()) + (("key",) if key else ())


Play = Callable[..., Awaitable["Replayed"]]


async def replay(
    folder: RunFolder, options: ReplayOptions, note: Callable[[str], None]
) -> list[Replayed]:
    """Run the recorded episodes again; the results in the order of the traces. One that cannot be
    read is among them as broken."""
    from agent_env.episodes.again.replay import Replayed
    from agent_env.graph.loop import AgentLoop

    if options.tools_live and options.model_live:
        raise ConfigError("with live tools and a live model nothing is replayed; start a new run")
    _check_live(folder, options, note)
    task, loop = task_of(folder), AgentLoop()
    async with AsyncExitStack() as stack:
        if options.model_live:
            play = await _live_model(folder, options, task, note, stack)
            found = list(_recordings(folder, task))
            return list(
                await asyncio.gather(
                    *(_itself(x) if isinstance(x, Replayed) else play(*x, loop) for x in found)
                )
            )
        play = await _recorded_model(folder, options, task, stack)
        return [
            x if isinstance(x, Replayed) else await play(*x, loop)
            for x in _recordings(folder, task)
        ]


def _check_live(folder: RunFolder, options: ReplayOptions, note: Callable[[str], None]) -> None:
    """ConfigError where what is live is not trusted."""
    if not options.tools_live and not options.model_live:
        return
    manifest = folder.manifest()
    unused = WITHOUT_TOOLS if options.model_live else WITHOUT_MODEL
    wanted = manifest.model_copy(update=unused)
    check_trust(folder, wanted, note, confirmed=options.trust_run)


async def _itself(result: Replayed) -> Replayed:
    return result


def _recordings(folder: RunFolder, task: Task) -> Iterator[tuple[Recording, Sample] | Replayed]:
    """Every episode that can be played, and why another cannot."""
    from agent_env.episodes.again.replay import Replayed
    from agent_env.episodes.again.tape import Recording
    from agent_env.episodes.trace.reader import read_trace
    from agent_env.episodes.trace.texts import Texts

    samples = {sample.id: sample for sample in folder.samples(task.sample_type)}
    texts, run = Texts(folder.texts), folder.identity()
    try:
        for file in folder.traces():
            name = folder.key_of(file)
            try:
                events = read_trace(file, texts)
                problem = folder.misfit(file, run, events)
                if problem is not None:
                    raise ReplayError(problem)
                recording = Recording.of(events)
                yield recording, samples[recording.start.sample]
            except (DatasetError, ReplayError) as exc:
                yield Replayed(name, "broken", 0, reason=str(exc))
            except KeyError as exc:
                yield Replayed(name, "broken", 0, reason=f"{file}: no sample {exc}")
    finally:
        texts.close()


async def _recorded_model(
    folder: RunFolder, options: ReplayOptions, task: Task, stack: AsyncExitStack
) -> Play:
    from agent_env.episodes.again.changes import limits_of
    from agent_env.episodes.again.replay import Replayer

    replayer = Replayer(
        make_strategy=_strategies(folder, task),
        limits=limits_of(folder.manifest()),
        facts=folder.manifest().model_facts,
        model_seed=folder.manifest().model_parameters.get("seed"),  # type: ignore[arg-type]
        strict=options.strict,
        open_tools=await _live_tools(folder, task, stack) if options.tools_live else None,
    )
    return replayer.play


def _strategies(folder: RunFolder, task: Task) -> Callable[[Sample, Condition], Strategy]:
    """How each episode was asked: with the run's own cited pages and worked examples."""
    contexts = contexts_of(folder, folder.manifest())
    return lambda sample, condition: strategy_of(task, contexts, sample, condition)[0]


async def _live_tools(folder: RunFolder, task: Task, stack: AsyncExitStack) -> OpenTools:
    """The run's tools without its model, so that no key is needed."""
    rooms = await open_rooms(
        folder, folder.manifest(), task, stack, model=make_model("reference", None, {})
    )

    @asynccontextmanager
    async def open_tools(sample: Sample, condition: Condition) -> AsyncIterator[Toolbox]:
        async with rooms.open_seams(sample, condition) as seams:
            yield seams.toolbox

    return open_tools


async def _live_model(
    folder: RunFolder,
    options: ReplayOptions,
    task: Task,
    note: Callable[[str], None],
    stack: AsyncExitStack,
) -> Play:
    from agent_env.episodes.again.changes import limits_of
    from agent_env.episodes.again.replay_live import LiveReplayer
    from agent_env.episodes.calls.options import open_calls
    from agent_env.episodes.contexts.copies import copied
    from agent_env.episodes.run_folder import RunFolder
    from agent_env.episodes.runner import utc_now
    from agent_env.episodes.trace.texts import Texts

    manifest = folder.manifest()
    model, tokenizer = await open_counted(manifest, note, stack)
    now = datetime.now(UTC)
    out = RunFolder(options.out or folder.place(f"replays/{now:%Y%m%d-%H%M%S}"))
    fresh = _fresh(manifest)
    samples = folder.read("samples.jsonl")
    out.create(fresh, samples, _materials(folder), copied(folder, manifest))
    record_run(out, note)
    note(f"what the model says is recorded in {out.path}")
    is_up = health_of(manifest.model, manifest.model_parameters.get("base_url"))
    calls = open_calls(out, fresh, manifest.concurrency, stack, note, is_up)
    texts = Texts(out.texts)
    stack.callback(texts.close)
    live = LiveReplayer(
        folder=out,
        manifest=fresh,
        model=model,
        calls=calls,
        make_strategy=_strategies(folder, task),
        tokenizer=tokenizer,
        limits=limits_of(manifest),
        texts=texts,
        clock=utc_now,
        slots=asyncio.Semaphore(manifest.concurrency),
        model_seed=folder.manifest().model_parameters.get("seed"),  # type: ignore[arg-type]
        strict=options.strict,
    )
    return live.play


def _fresh(manifest: Manifest) -> Manifest:
    """The manifest of a new run that is asked the same."""
    made = datetime.now(UTC).isoformat(timespec="seconds")
    update = {"id": token_hex(6), "versions": versions(), "created_at": made}
    return manifest.model_copy(update=update | {"changes": (), "preflights": ()})


def _materials(folder: RunFolder) -> bytes:
    name = "materials.jsonl"
    return folder.read(name) if (folder.path / name).exists() else b""


async def fork(trace: Path, options: ForkOptions, listener: Listener) -> RunFolder:
    """Make the run of the forks and run it; the run."""
    from agent_env.episodes.again.fork import make_fork, read_edits, step_of
    from agent_env.episodes.again.tape import Recording
    from agent_env.episodes.contexts.copies import copied
    from agent_env.episodes.run_folder import RunFolder, run_of
    from agent_env.episodes.runner import utc_now
    from agent_env.episodes.trace.reader import read_trace
    from agent_env.records.trace_events import Parent

    source = run_of(trace)
    events = read_trace(trace)
    manifest, task = source.manifest(), task_of(source)
    try:
        recording = Recording.of(events)
    except ReplayError as exc:
        raise DatasetError(trace, 1, str(exc)) from exc
    step = step_of(recording, options.at)
    if options.edit is not None and step is None:
        raise ConfigError("--edit replaces a tool result of step K; --at 0 has none")
    edits = read_edits(options.edit, step) if options.edit and step else {}
    parent = Parent(
        run=manifest.id or source.path.name,
        episode=recording.start.episode,
        step=options.at,
        edited=tuple(edits),
    )
    wished = await _as_forked(_fresh(manifest), options, recording.start.condition, parent)
    own = _own_settings(manifest, options)
    own += ("sandbox",) if manifest.sandbox is None else ()
    check_trust(source, wished, listener.note, confirmed=options.trust_run, own=own)
    close = getattr(model_of(wished), "close", None)  # fails before anything is made
    if close is not None:
        await close()
    sample = next(
        (s for s in source.samples(task.sample_type) if s.id == recording.start.sample), None
    )
    if sample is None:
        raise DatasetError(source.path / "samples.jsonl", None, f"no '{recording.start.sample}'")
    out = RunFolder(options.out)
    files = copied(source, manifest)
    make_fork(
        out, wished, recording, edits, sample, _materials(source), source.pages, utc_now, files
    )
    record_run(out, listener.note)
    await run_folder(out, None, listener)
    return out


async def _as_forked(
    manifest: Manifest, options: ForkOptions, condition: Condition, parent: Parent
) -> Manifest:
    """The parent's manifest for one sample, one condition, and what the fork changes."""
    chosen = parse_condition(options.condition) if options.condition else condition
    if (chosen.context, chosen.wording) != (condition.context, condition.wording):
        raise ConfigError(
            f"a fork keeps its parent's question, pages included, and that was asked under "
            f"'{condition.name}'; --condition {chosen.name} can only add or take away tools"
        )
    if chosen.tools and "~" not in chosen.name:
        chosen = chosen.model_copy(update={"first_step": condition.first_step})
    sandbox = manifest.sandbox
    if "python" in chosen.tools and sandbox is None:
        sandbox = (await choose_sandbox(options.sandbox)).name
    model = options.model or manifest.model
    url = options.base_url or split_address(options.model or "")[1]
    parameters = moved(manifest.model_parameters, model, url, options.api_key_env, False)
    return manifest.model_copy(
        update={
            "parent": parent,
            "model": model,
            "model_parameters": parameters,
            "conditions": (chosen,),
            "repeats": options.repeats,
            "samples": 1,
            "sandbox": sandbox if "python" in chosen.tools else None,
            "web": (manifest.web or "sealed") if "web_search" in chosen.tools else None,
        }
    )


@dataclass(frozen=True, slots=True)
class ForkSet:
    """A parent and its forks, each with its score; the parent comes first."""

    parent: Parent
    metrics: tuple[str, ...]
    episodes: tuple[tuple[str, Episode, Score], ...]


def read_forks(folder: RunFolder, note: Callable[[str], None]) -> ForkSet:
    """The forks of a run with their parent, scored by the same scorer; their scores are kept."""
    from agent_env.episodes.again.fork import read_parent
    from agent_env.runs.score import score_folder

    parent = folder.manifest().parent
    if parent is None:
        raise ConfigError(f"{folder.path} is no run of forks; agent-env fork makes one")
    before = read_parent(folder)
    task, _, scored = score_folder(folder, note)
    (sample,) = folder.samples(task.sample_type)
    rows = [("parent", before, task.score(sample, before))]
    rows += [(f"fork {episode.repeat}", episode, score) for episode, score in scored]
    return ForkSet(parent, task.metrics, tuple(rows))


def list_episodes(
    folder: RunFolder, where: Sequence[str], limit: int | None
) -> tuple[list[Row], Totals]:
    """The episodes that satisfy all filters, and sums over all of them; traces that did not change
    since the last time are not read."""
    from agent_env.episodes.index import Index

    filters = [parse_where(text) for text in where]
    known = {
        "condition": [condition.name for condition in folder.manifest().conditions],
        "status": ["finished", "failed", "unfinished", "broken"],
        "stop_reason": get_args(StopReason),
    }
    index = Index(folder)
    try:
        index.update()
        index.check(filters, known)
        return index.rows(filters, limit), index.totals(filters)
    finally:
        index.close()
