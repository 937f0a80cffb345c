"""Runs that hold many forks of one recorded run: begun, asked, and gone on with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_env.episodes.pending import BegunEpisodes, pending
from agent_env.errors import ConfigError
from agent_env.models.addresses import moved
from agent_env.models.prices import cost_usd
from agent_env.records.schema import Usage
from agent_env.runs.options import ForkCalls
from agent_env.runs.replay import fresh_manifest
from agent_env.runs.run import Run
from agent_env.runs.serving import begin_server, other_server
from agent_env.runs.start import Listener, preflight_update, run_episodes
from agent_env.wiring.models import open_counted
from agent_env.wiring.plugins import uses_in
from agent_env.wiring.rooms import Parts
from agent_env.wiring.trust import check_trust, record_run

if TYPE_CHECKING:
    from agent_env.episodes.again.fork import Beginning
    from agent_env.episodes.again.tape import Recording
    from agent_env.records.manifest import Manifest
    from agent_env.records.model_facts import ModelFacts
    from agent_env.records.schema import Condition, Sample


@dataclass(frozen=True, slots=True)
class ForkPlan:
    """The forks of a run that are wanted."""

    source: Run
    out: Path
    conditions: tuple[Condition, ...]
    repeats: int
    samples: Sequence[Sample]
    beginnings: Callable[[], Iterable[Beginning]]
    """Read one by one, as they hold the recorded episodes."""
    update: Mapping[str, Any]
    """Other entries of run.json."""
    parent: Recording | None = None
    """The one episode that is forked; None where there are several."""


@dataclass(frozen=True, slots=True)
class ForkForecast:
    """What forks that are still to be asked will use; None is unknown."""

    forks: int
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None

    @classmethod
    def of(cls, usages: Sequence[Usage | None], facts: ModelFacts | None) -> ForkForecast:
        """The sum over the forks."""
        known = [usage for usage in usages if usage is not None]
        is_known = len(known) == len(usages)
        costs = [cost_usd(usage, facts) for usage in known]
        return cls(
            forks=len(usages),
            input_tokens=sum(u.input_tokens or 0 for u in known) if is_known else None,
            output_tokens=sum(u.output_tokens or 0 for u in known) if is_known else None,
            cost_usd=sum(c or 0.0 for c in costs) if is_known and None not in costs else None,
        )

    def __str__(self) -> str:
        """For users."""
        if not self.forks:
            return "no fork is left to ask"
        if self.input_tokens is None or self.output_tokens is None:
            return f"{self.forks} forks to ask; their tokens are unknown"
        cost = "" if self.cost_usd is None else f", {self.cost_usd:.4f} USD"
        return (
            f"{self.forks} forks to ask: about {self.input_tokens:,} tokens in, "
            f"{self.output_tokens:,} out{cost}"
        )


def check_source(run: Run) -> Manifest:
    """The run's manifest; ConfigError for a run whose model cannot be asked."""
    manifest = run.manifest
    if manifest.forks_of is not None:
        raise ConfigError(f"{run.path} holds forks of another run; name that run")
    run.check_ours("forked")
    return manifest


def fork_folder(source: Run, out: Path | None, name: str) -> Run | None:
    """The run of forks there; None where there is none yet. ConfigError for another run's."""
    path = out or source.path / name
    if not (path / "run.json").exists():
        return None
    run, manifest = Run.open(path, source.objects), source.manifest
    if run.manifest.forks_of != identity(source, manifest):
        raise ConfigError(f"{path} holds no forks of {source.path}; name a new folder with --out")
    return run


def identity(source: Run, manifest: Manifest) -> str:
    """What forks name their run by."""
    return manifest.id or source.path.name


async def ask_forks(plan: ForkPlan, calls: ForkCalls, listener: Listener) -> Run:
    """Begins the forks that are not there and runs those that are not finished, in a new folder or
    in that of an earlier call; what that has paid for is kept."""
    async with AsyncExitStack() as stack:
        run = await _opened(plan, calls, listener, stack)
        stack.callback(run.let_go)
        if conditions := _unfinished(run):
            if calls.preflight:
                await _try_server(run, conditions, listener, stack)
            await run_episodes(run, calls.concurrency, listener, calls.run)
    return run


def _unfinished(run: Run) -> tuple[Condition, ...]:
    """The conditions with forks that are still to be asked."""
    manifest = run.manifest
    asked = run.samples, manifest.conditions, manifest.repeats
    waiting = pending(run, *asked, BegunEpisodes(run, run.samples))
    return tuple({condition.name: condition for _, _, condition in waiting}.values())


async def _try_server(
    run: Run,
    conditions: tuple[Condition, ...],
    listener: Listener,
    stack: AsyncExitStack,
) -> None:
    manifest = await begin_server(run, listener.note, stack)
    if not manifest.preflights:
        asked = manifest.model_copy(update={"conditions": conditions})
        if update := await preflight_update(run, asked, False, listener.note, stack):
            run.change(**update)


async def _opened(
    plan: ForkPlan, calls: ForkCalls, listener: Listener, stack: AsyncExitStack
) -> Run:
    """The run's folder with the beginnings of all forks; the model is opened before it is made."""
    from agent_env.episodes.again.fork import begin_forks, make_forks
    from agent_env.episodes.contexts.copies import copied_files
    from agent_env.episodes.runner import utc_now

    source, there = plan.source, fork_folder(plan.source, plan.out, "")
    base = source.manifest if there is None else there.manifest
    manifest = _manifest(plan, base, calls, is_new=there is None)
    given = {"address": calls.base_url, "key": calls.api_key_env}
    own = tuple(name for name, value in given.items() if value)
    check_trust(there or source, manifest, listener.note, confirmed=calls.trust_run, own=own)
    if there is not None:
        entries = ("conditions", "repeats", "model_parameters", "server", "former_urls")
        there.change(**{name: getattr(manifest, name) for name in entries})
        record_run(there, listener.note)
        begin_forks(there, manifest, plan.beginnings(), utc_now)
        return there
    run = Run(plan.out, source.objects)
    if any(not each.is_whole for each in plan.beginnings()):
        plugins = replace(source.plugins, uses=manifest.plugins)
        run.parts = Parts(await open_counted(manifest, listener.note, stack, plugins))
    materials, files = source.materials_bytes(), copied_files(source, base)
    make_forks(
        run, manifest, plan.beginnings(), plan.samples, materials, source.pages, utc_now, files,
        plan.parent,
    )  # fmt: skip
    record_run(run, listener.note, source)
    return run


def _manifest(plan: ForkPlan, base: Manifest, calls: ForkCalls, is_new: bool) -> Manifest:
    _, url, server = other_server(None, calls.base_url)
    before = base.model_parameters
    parameters = moved(before, base.model, url, calls.api_key_env, True)
    names = {condition.name for condition in plan.conditions}
    kept = () if is_new else tuple(c for c in base.conditions if c.name not in names)
    update: dict[str, Any] = {
        **server,
        "model_parameters": parameters,
        "conditions": (*kept, *plan.conditions),
        "repeats": max(plan.repeats, 0 if is_new else base.repeats),
    }
    if is_new:
        base = fresh_manifest(base)
        update |= {
            "forks_of": identity(plan.source, plan.source.manifest),
            "study": None,
            "until": None,
            "samples": len(plan.samples),
            "concurrency": calls.concurrency or base.concurrency,
            "run_limits": asdict(calls.run),
            **plan.update,
        }
        update["model_parameters"] = {**parameters, **plan.update.get("model_parameters", {})}
    elif parameters["base_url"] != before.get("base_url"):
        update["former_urls"] = (*base.former_urls, str(before.get("base_url")))
    manifest = base.model_copy(update=update)
    return manifest.model_copy(update={"plugins": uses_in(manifest)})
