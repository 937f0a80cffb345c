"""Forks: recorded episodes kept up to a step, which go on otherwise from there.

One episode with another model, condition or tool result (`fork`); or many at once, which a later
call goes on with (`ForkPlan`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_env.episodes.pending import BegunEpisodes, pending
from agent_env.errors import ConfigError, DatasetError, ReplayError
from agent_env.permits import NOTHING
from agent_env.records.schema import Usage
from agent_env.records.trace_events import Parent
from agent_env.registry import NO_OBJECTS, Objects
from agent_env.runs.options import ForkCalls, ForkOptions
from agent_env.runs.progress import duration
from agent_env.runs.resume import fresh_manifest, moved_entries, settings_from_call
from agent_env.runs.run import Run
from agent_env.runs.serving import begin_server
from agent_env.runs.start import Listener, preflight_update, run_episodes
from agent_env.tasks.conditions import (
    has_choice,
    on_day,
    own_tools,
    parse_condition,
    with_disturbances,
)
from agent_env.tasks.tool_registry import needs_sandbox, needs_web
from agent_env.wiring.components import Parts
from agent_env.wiring.models import open_counted
from agent_env.wiring.plugins import uses_in
from agent_env.wiring.sandboxes import choose_sandbox
from agent_env.wiring.trust import check_trust, own_call, own_plugins, record_run

if TYPE_CHECKING:
    from agent_env.episodes.rerun.fork import Beginning
    from agent_env.episodes.trace.fold import Recording
    from agent_env.records.manifest import Manifest
    from agent_env.records.schema import Condition, Episode, ModelFacts, Sample, Score


def recorded_episode(trace: Path, objects: Objects = NO_OBJECTS) -> tuple[Run, Recording]:
    """The run of a trace, which may be named RUN/CONDITION/SAMPLE.1, and the episode; DatasetError
    for one that cannot be gone on with."""
    from agent_env.episodes.run_folder import trace_file
    from agent_env.episodes.trace.fold import Recording
    from agent_env.episodes.trace.lines import read_trace

    trace = trace_file(trace)
    events = read_trace(trace)
    run = Run(trace.resolve().parents[2], objects)
    run.check_ours("forked")
    try:
        return run, Recording.of(events)
    except ReplayError as exc:
        raise DatasetError(trace, 1, str(exc)) from exc


def sample_of(source: Run, recording: Recording) -> Sample:
    """The episode's; DatasetError where the run has it no more."""
    if (sample := source.samples_by_id.get(recording.start.sample)) is None:
        file = source.path / "samples.jsonl"
        raise DatasetError(file, None, f"no '{recording.start.sample}'")
    return sample


# One episode --------------------------------------------------------------------------------------


async def fork(
    trace: Path, options: ForkOptions, listener: Listener, objects: Objects = NO_OBJECTS
) -> Run:
    """Creates the run of the forks, runs its episodes and returns it."""
    from agent_env.episodes.rerun.fork import Beginning, read_edits, step_of
    from agent_env.episodes.run_folder import EpisodeKey

    source, recording = recorded_episode(trace, objects)
    start, step = recording.start, step_of(recording, options.at)
    if options.edit is not None and step is None:
        raise ConfigError("--edit replaces a tool result of step K; --at 0 has none")
    edits = read_edits(options.edit, step) if options.edit and step else {}
    parent = Parent(
        run=source.origin_name, episode=start.episode, step=options.at, edited=tuple(edits)
    )
    before = source.manifest
    manifest = await _forked_manifest(before, options, start.condition, parent, objects)
    from_call = settings_from_call(before, options) + (
        ("sandbox",) if before.sandbox is None else ()
    )
    check_trust(source, manifest, listener.note, confirmed=options.trust_run, from_call=from_call)
    manifest = manifest.model_copy(update={"plugins": uses_in(manifest, source.permit)})
    condition = manifest.conditions[0]
    now = datetime.now(UTC)
    plan = ForkPlan(
        source=source,
        out=options.out or source.place(f"forks/{now:%Y%m%d-%H%M%S-%f}"),
        conditions=(condition,),
        repeats=options.repeats,
        beginnings=lambda: (
            Beginning(
                EpisodeKey(start.sample, condition.name, n), condition, recording, parent, edits
            )
            for n in range(1, options.repeats + 1)
        ),
        update={},
        parent=recording,
    )
    async with AsyncExitStack() as stack:
        run = await _new_folder(plan, manifest, objects, listener.note, stack)
        stack.callback(run.drop_objects)
        await run_episodes(run, None, listener)
    return run


def _check_loop(condition: Condition) -> None:
    """ConfigError for the episodes of an agent of somebody else."""
    if condition.agent is not None:
        raise ConfigError(
            f"episodes of {condition.agent.name} cannot go on from a step in the middle: what the "
            "agent holds in memory and in its folder is not recorded; replay plays them from the "
            "start"
        )


async def _forked_manifest(
    before: Manifest,
    options: ForkOptions,
    condition: Condition,
    parent: Parent,
    objects: Objects,
) -> Manifest:
    """The parent's manifest for one sample and condition, with the fork's changes."""
    _check_loop(condition)
    manifest, chosen, sandbox = fresh_manifest(before, NOTHING), condition, before.sandbox
    if options.condition:
        chosen = parse_condition(options.condition, own_tools(manifest.conditions), own_call())
    if (chosen.context, chosen.wording) != (condition.context, condition.wording):
        raise ConfigError(
            f"a fork keeps its parent's question, pages included, and that was asked under "
            f"'{condition.name}'; --condition {chosen.name} can only add or take away tools"
        )
    if chosen.tools and not has_choice(chosen.name):
        chosen = chosen.model_copy(update={"first_step": condition.first_step})
    if options.condition and condition.disturbance is not None:  # it goes on in the same world
        chosen = with_disturbances((chosen,), (condition.disturbance,))[-1]
    if condition.today is not None and chosen.today is None:
        chosen = on_day(chosen, condition.today, chosen.name)
    chosen = chosen.model_copy(update={"says_today": condition.says_today})
    if needs_sandbox(chosen) and sandbox is None:
        sandbox = (await choose_sandbox(options.sandbox, own_plugins(), [chosen])).name
    update = moved_entries(manifest, options, objects, is_same_server=False) | {
        "parent": parent,
        "study": None,  # neither its study nor its test goes over the fork
        "until": None,
        "conditions": (chosen,),
        "repeats": options.repeats,
        "samples": 1,
        "sandbox": sandbox if needs_sandbox(chosen) else None,
        "web": (manifest.web or "sealed") if needs_web([chosen]) else None,
    }
    forked = manifest.model_copy(update=update)
    return forked.model_copy(update={"plugins": uses_in(forked, NOTHING)})


@dataclass(frozen=True, slots=True)
class ForkSet:
    """A parent and its forks with their scores, the parent first."""

    parent: Parent
    metrics: tuple[str, ...]
    episodes: tuple[tuple[str, Episode, Score], ...]


def read_forks(run: Run, note: Callable[[str], None]) -> ForkSet:
    """The forks of a run and their parent, scored by the same scorer; stores the scores."""
    from agent_env.episodes.rerun.fork import read_parent
    from agent_env.runs.score import score_folder

    parent = run.manifest.parent
    if parent is None:
        raise ConfigError(f"{run.path} is no run of forks; agent-env episodes fork makes one")
    before = read_parent(run)
    task, scored = run.task, score_folder(run, note)
    (sample,) = run.samples
    rows = [("parent", before, task.score(sample, before))]
    rows += [(f"fork {episode.repeat}", episode, score) for episode, score in scored]
    return ForkSet(parent, task.metrics, tuple(rows))


# Many forks in one run ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ForkForecast:
    """What forks that are still to be asked will use; None is unknown."""

    forks: int
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    expected_s: float | None = None

    @classmethod
    def of(
        cls, usages: Sequence[Usage | None], facts: ModelFacts | None, token_s: float | None
    ) -> ForkForecast:
        """The sum over the forks; `token_s`: seconds for an output token of one of them."""
        known = [usage for usage in usages if usage is not None]
        is_known = len(known) == len(usages)
        costs = [usage.cost_usd(facts) for usage in known]
        output = sum(u.output_tokens or 0 for u in known)
        return cls(
            forks=len(usages),
            input_tokens=sum(u.input_tokens or 0 for u in known) if is_known else None,
            output_tokens=output if is_known else None,
            cost_usd=sum(c or 0.0 for c in costs) if is_known and None not in costs else None,
            expected_s=None if token_s is None or not is_known else output * token_s,
        )

    def __str__(self) -> str:
        """For users."""
        if not self.forks:
            return "no fork is left to ask"
        if self.input_tokens is None or self.output_tokens is None:
            return f"{self.forks} forks to ask; their tokens are unknown"
        cost = "cost unknown" if self.cost_usd is None else f"{self.cost_usd:.4f} USD"
        took = self.expected_s
        time = "" if took is None else f", about {duration(took, with_hours=True)}"
        return (
            f"{self.forks} forks to ask: about {self.input_tokens:,} tokens in, "
            f"{self.output_tokens:,} out, {cost}{time}"
        )


@dataclass(frozen=True, slots=True)
class ForkPlan:
    """The forks of a run that are wanted."""

    source: Run
    out: Path
    conditions: tuple[Condition, ...]
    repeats: int
    beginnings: Callable[[], Iterable[Beginning]]
    """Read one by one, as they hold the recorded episodes."""
    update: Mapping[str, Any]
    """Other entries of run.json."""
    parent: Recording | None = None
    """The one episode that is forked; None where there are several."""
    usages: Sequence[Usage | None] = ()
    """What each fork that is not finished will use, as far as that is known."""

    @property
    def samples(self) -> Sequence[Sample]:
        """The parent's, else those of the run."""
        source = self.source
        return source.samples if self.parent is None else [sample_of(source, self.parent)]

    @property
    def forecast(self) -> ForkForecast:
        """What the forks that are still to be asked will use; their time by the parent's."""
        manifest = self.source.manifest
        steps = () if self.parent is None else self.parent.steps
        tokens = sum(step.reply.usage.output_tokens or 0 for step in steps)
        took = self.parent.episode.duration_s if self.parent else None
        at_once = max(1, min(manifest.concurrency, len(self.usages)))
        token_s = took / tokens / at_once if took is not None and tokens else None
        return ForkForecast.of(self.usages, manifest.model_facts, token_s)

    async def ask(self, calls: ForkCalls, listener: Listener) -> Run:
        """Begins the forks that are not there and runs those that are not finished, in a new
        folder or in that of an earlier call; what that has paid for is kept."""
        async with AsyncExitStack() as stack:
            run = await _opened(self, calls, listener.note, stack)
            stack.callback(run.drop_objects)
            manifest = run.manifest
            waiting = pending(
                run, run.samples, manifest.conditions, manifest.repeats,
                BegunEpisodes(run, run.samples),
            )  # fmt: skip
            if conditions := tuple({each.name: each for _, _, each in waiting}.values()):
                if calls.preflight:
                    begun = await begin_server(run, listener.note, stack)
                    if not begun.preflights:
                        only = begun.model_copy(update={"conditions": conditions})
                        if update := await preflight_update(run, only, False, listener.note, stack):
                            run.change(**update)
                await run_episodes(run, calls.concurrency, listener, calls.run)
        return run


async def _opened(
    plan: ForkPlan, calls: ForkCalls, note: Callable[[str], None], stack: AsyncExitStack
) -> Run:
    """The run's folder with the beginnings of all forks."""
    from agent_env.episodes.rerun.fork import begin_forks
    from agent_env.episodes.runner import utc_now

    for condition in plan.conditions:
        _check_loop(condition)
    source, there = plan.source, plan.source.forks_in(plan.out)
    manifest = _manifest(plan, None if there is None else there.manifest, calls)
    settings = {"address": calls.base_url, "key": calls.api_key_env}
    from_call = tuple(name for name, value in settings.items() if value)
    check_trust(there or source, manifest, note, confirmed=calls.trust_run, from_call=from_call)
    uses = uses_in(manifest, (there or source).permit)
    manifest = manifest.model_copy(update={"plugins": uses})
    if there is None:
        return await _new_folder(plan, manifest, source.objects, note, stack)
    entries = ("conditions", "repeats", "model_parameters", "server", "former_urls")
    there.change(**{name: getattr(manifest, name) for name in entries})
    record_run(there, note)
    begin_forks(there, manifest, plan.beginnings(), utc_now)
    return there


async def _new_folder(
    plan: ForkPlan,
    manifest: Manifest,
    objects: Objects,
    note: Callable[[str], None],
    stack: AsyncExitStack,
) -> Run:
    """A new folder with the beginnings of all forks; the model is opened before it is made."""
    from agent_env.episodes.contexts import copied_files
    from agent_env.episodes.rerun.fork import make_forks
    from agent_env.episodes.runner import utc_now

    source, run = plan.source, Run(plan.out, objects)
    if any(not each.is_whole for each in plan.beginnings()):
        plugins = replace(source.plugins, uses=manifest.plugins, objects=objects)
        run.parts = Parts(await open_counted(manifest, note, stack, plugins))
    materials, files = source.materials_bytes(), copied_files(source, source.manifest)
    try:
        make_forks(
            run, manifest, plan.beginnings(), plan.samples, materials, source.pages, utc_now, files,
            plan.parent,
        )  # fmt: skip
    except OSError as exc:
        raise ConfigError(f"cannot write to {plan.out}: {exc.strerror}") from exc
    record_run(run, note, source)
    return run


def _manifest(plan: ForkPlan, there: Manifest | None, calls: ForkCalls) -> Manifest:
    """Of a new run of forks, or of one that is `there` with those that are wanted now."""
    source = plan.source.manifest
    base = there or fresh_manifest(source, NOTHING)
    names = {condition.name for condition in plan.conditions}
    earlier = () if there is None else tuple(c for c in there.conditions if c.name not in names)
    update = moved_entries(base, calls, is_same_server=True) | {
        "conditions": (*earlier, *plan.conditions),
        "repeats": max(plan.repeats, there.repeats if there else 0),
    }
    if there is None:
        parameters = {**update["model_parameters"], **plan.update.get("model_parameters", {})}
        update |= {
            "forks_of": plan.source.origin_name,
            "former_urls": source.former_urls,
            "study": None,
            "until": None,
            "samples": len(plan.samples),
            "concurrency": calls.concurrency or source.concurrency,
            "run_limits": asdict(calls.run),
            **plan.update,
            "model_parameters": parameters,
        }
        if plan.parent is not None:
            name, episode = plan.source.origin_name, plan.parent.start.episode
            update["parent"] = Parent(run=name, episode=episode, step=0)
    manifest = base.model_copy(update=update)
    return manifest.model_copy(update={"plugins": uses_in(manifest, NOTHING)})
