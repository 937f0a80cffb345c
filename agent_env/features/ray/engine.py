"""Runs over a Ray cluster: workers run the episodes, the driver's node keeps traces and limits.

Each worker is an async actor with many episodes at a time. Events are streamed to the coordinator,
an actor on the driver's node, so no folder is shared and nothing but its disk matters. Where a
worker or its node is lost, its episodes go to others and continue from their last event. Not
covered: the loss of the driver's own node; `agent-env resume` continues from the same traces.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_env.features.ray.worker import EpisodeEnd, Parcel, Worker
from agent_env.sdk.commands import need_extra
from agent_env.sdk.errors import ConfigError, RunStopped, StorageError
from agent_env.sdk.inside import versions
from agent_env.sdk.run import Listener, Run

if TYPE_CHECKING:
    from agent_env.sdk.inside import RunFolder, RunLimits
    from agent_env.sdk.trace import EpisodeKey

LOSSES = 5
"""Workers that an episode may lose before it is left unfinished; tries to start the first."""
STOP_S = 10.0
"""How long workers get to put their episodes down."""
WAIT_S = 20.0
"""After so long without a worker the user is told."""


class _WorkerLost(Exception):
    """An actor, or its node, is gone."""


async def run_on_ray(
    run: Run,
    concurrency: int | None,
    listener: Listener,
    limits: RunLimits | None = None,
    strict: bool = True,
) -> None:
    """As `run_episodes`, over the cluster of RAY_ADDRESS, or of this machine alone."""
    from agent_env.sdk.inside import RunBudget, change_run_limits, run_limits, server_of

    if limits is not None:
        change_run_limits(run, limits)
    manifest, samples = run.manifest, run.samples
    if server_of(manifest.features) is not None:
        raise ConfigError(
            "--engine ray asks from several machines: start the model's server yourself and name "
            "its address, in place of --serve or a local model"
        )
    check_engine(manifest.reply_cache, manifest.web)
    if "batch" in manifest.features:
        raise ConfigError("--engine ray has no batches; take the local engine, or drop --batch")
    listener.begin(run, manifest.planned_episodes)
    at_once = concurrency or manifest.concurrency
    with run.locked():
        async with _cluster() as ray, RunBudget(run_limits(manifest)).wall_time():
            spread = _Spread(ray, run, at_once, listener, strict)
            await spread.run(samples)


def check_engine(reply_cache: object, web: str | None) -> None:
    """ConfigError where a run needs what cannot be spread, or Ray is not installed."""
    require_ray()
    if reply_cache is not None:
        raise ConfigError("--engine ray keeps no reply cache; drop --reply-cache")
    if web == "record":
        raise ConfigError(
            "--engine ray cannot record pages: nodes share no page store. Record with the local "
            "engine first, then run --web frozen with a --pages file that every node has"
        )


def require_ray() -> Any:
    """The package; ConfigError where it is not installed."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is reported to anyone
    need_extra("ray", what="--engine ray")
    import ray

    return ray


@asynccontextmanager
async def _cluster() -> AsyncIterator[Any]:
    """Ray, connected; given back unless somebody else had connected it."""
    ray = require_ray()
    ours = not ray.is_initialized()
    if ours:
        ours_to_end = signal.getsignal(signal.SIGTERM)
        try:  # not in a thread: Ray sets signals
            ray.init(log_to_driver=False, logging_level="ERROR")
        except (ConnectionError, ValueError, RuntimeError) as exc:
            raise ConfigError(f"--engine ray: {exc}") from exc
        signal.signal(signal.SIGTERM, ours_to_end)
    try:
        yield ray
    finally:
        if ours:
            ray.shutdown()


@dataclass(slots=True)
class _Spread:
    """One start of a run over a cluster."""

    ray: Any
    folder: RunFolder
    concurrency: int
    listener: Listener
    strict: bool
    waiting: deque[EpisodeKey] = field(default_factory=deque)
    flying: int = 0
    losses: Counter[str] = field(default_factory=Counter)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    stopped: RunStopped | None = None
    workers: dict[str, Any] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    """Names of workers that are gone."""
    coordinator: Any = None
    pace: str = ""

    async def run(self, samples: Any) -> None:
        from agent_env.sdk.inside import pending

        manifest = self.folder.manifest
        missing = pending(self.folder, samples, manifest.conditions, manifest.repeats)
        self.waiting.extend(key for key, _, _ in missing)
        if not self.waiting:
            return
        self.listener.pace(lambda: self.pace)
        self.coordinator = await self._make_keeper()
        number = self._number_of_workers()
        size = ceil(self.concurrency / number)
        slots = [asyncio.ensure_future(self._slot(n, size)) for n in range(number)]
        watching = asyncio.ensure_future(self._watch())
        finished = asyncio.ensure_future(self._finished())
        try:
            running: set[asyncio.Future[None]] = {*slots, watching, finished}
            while not finished.done():
                done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()  # what one slot raises ends all
        finally:
            for task in (*slots, watching, finished):
                task.cancel()
            await asyncio.gather(*slots, watching, finished, return_exceptions=True)
            await self._put_down()
        if self.stopped is not None:
            raise self.stopped

    async def _make_keeper(self) -> Any:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        here = self.ray.get_runtime_context().get_node_id()
        actor = self.ray.remote(_CoordinatorActor).options(
            num_cpus=0,
            max_concurrency=100_000,
            scheduling_strategy=NodeAffinitySchedulingStrategy(here, soft=False),
        )
        coordinator = actor.remote(str(self.folder.path.absolute()), self.concurrency)
        await coordinator.ask.remote("state")
        return coordinator

    def _number_of_workers(self) -> int:
        """One for each processor of the cluster, as far as there are episodes."""
        processors = int(self.ray.cluster_resources().get("CPU", 1))
        return max(1, min(processors, self.concurrency, len(self.waiting)))

    async def _finished(self) -> None:
        async with self.changed:
            await self.changed.wait_for(
                lambda: not self.flying and (not self.waiting or self.stopped is not None)
            )

    async def _watch(self) -> None:
        """Pass on what the coordinator has to say."""
        waited = 0.0
        while True:
            await self._hear()
            await asyncio.sleep(0.5)
            waited += 0.5
            if waited == WAIT_S and not self.workers:
                self.listener.note("waiting for a free processor in the cluster")

    async def _hear(self) -> None:
        self.pace, notes = await self.coordinator.ask.remote("state")
        for note in notes:
            self.listener.note(note)

    async def _slot(self, number: int, size: int) -> None:
        """One worker's place: where it is lost, another takes it, wherever there is room."""
        for loss in range(1_000_000):
            name = f"{number}.{loss}"
            try:
                worker = await self._hire(name, size)
            except self._lost_errors() as exc:
                if loss + 1 >= LOSSES and not self.workers:
                    raise StorageError(f"workers do not start: {exc}") from exc
                await asyncio.sleep(1.0)
                continue
            lanes = [self._lane(name, worker) for _ in range(size)]
            results = await asyncio.gather(*lanes, return_exceptions=True)
            problems = [x for x in results if isinstance(x, BaseException)]
            for problem in problems:
                if not isinstance(problem, _WorkerLost):
                    raise problem
            if not problems:
                return
            self.workers.pop(name, None)
            with suppress(Exception):  # it is gone, or cannot be reached
                self.ray.kill(worker)
            self.listener.note(f"a worker was lost; others take its {len(problems)} episodes")

    async def _hire(self, name: str, size: int) -> Any:
        actor = self.ray.remote(Worker).options(
            num_cpus=1, max_concurrency=size + 10, scheduling_strategy="SPREAD"
        )
        worker = actor.remote(name, self.coordinator, self._parcel(size))
        try:
            problem, pages = await worker.start.remote()
        except asyncio.CancelledError:
            self.ray.kill(worker)
            raise
        self.workers[name] = worker
        if problem is not None:
            raise ConfigError(f"{problem}; every node needs what the driver has")
        if pages is not None:
            self.folder.check_pages(pages)
        return worker

    def _parcel(self, size: int) -> Parcel:
        manifest = self.folder.manifest
        return Parcel(
            manifest=manifest.model_dump_json(),
            samples=self.folder.read("samples.jsonl"),
            materials=self.folder.materials_bytes(),
            files={use.file: self.folder.read(use.file) for use in manifest.contexts},
            versions=versions(),
            concurrency=size,
            strict=self.strict,
            permit=self.folder.permit,
        )

    async def _lane(self, name: str, worker: Any) -> None:
        """One episode after another, until there are no more."""
        while (key := await self._take(name)) is not None:
            try:
                ended: EpisodeEnd = await worker.run.remote(key)
            except self._lost_errors() as exc:
                await self._lose(name, key)
                raise _WorkerLost from exc
            await self._note_end(key, ended)

    async def _take(self, name: str) -> EpisodeKey | None:
        """The next episode for this worker; None where there will be no more, or it is gone."""
        async with self.changed:
            await self.changed.wait_for(
                lambda: bool(self.waiting or not self.flying or self.stopped or name in self.lost)
            )
            if not self.waiting or self.stopped is not None or name in self.lost:
                return None
            self.flying += 1
            return self.waiting.popleft()

    async def _lose(self, name: str, key: EpisodeKey) -> None:
        """Take back what the lost worker had; its episode is the next to be run."""
        await self.coordinator.ask.remote("release", name)
        self.losses[key.name] += 1
        async with self.changed:
            self.flying -= 1
            self.lost.add(name)
            if self.losses[key.name] < LOSSES:
                self.waiting.appendleft(key)
            else:
                self.listener.note(f"left unfinished: {key.name} lost {LOSSES} workers")
                self.listener.end(key, "left alone")
            self.changed.notify_all()

    async def _note_end(self, key: EpisodeKey, ended: EpisodeEnd) -> None:
        if ended.storage is not None:
            raise StorageError(ended.storage)
        async with self.changed:
            self.flying -= 1
            if ended.stopped is not None:
                self.stopped = RunStopped(ended.stopped[0], reason=ended.stopped[1])
            else:
                self.listener.end(key, ended.status)
            self.changed.notify_all()
        if self.stopped is not None and self.stopped.reason == "failures":
            raise self.stopped

    def _lost_errors(self) -> tuple[type[Exception], ...]:
        errors = self.ray.exceptions
        return (errors.RayActorError, errors.NodeDiedError, errors.WorkerCrashedError)

    async def _put_down(self) -> None:
        """Let workers send their last events, then close the traces."""
        stops = [worker.stop.remote() for worker in self.workers.values()]
        if stops:
            with suppress(TimeoutError, Exception):  # those that cannot be reached are killed
                async with asyncio.timeout(STOP_S):
                    await asyncio.gather(*stops, return_exceptions=True)
        for worker in self.workers.values():
            self.ray.kill(worker)
        with suppress(TimeoutError, *self._lost_errors()):
            async with asyncio.timeout(STOP_S):
                await self._hear()
                await self.coordinator.ask.remote("shut")
        self.ray.kill(self.coordinator)


class _CoordinatorActor:
    """A Coordinator that can be reached from other nodes."""

    def __init__(self, path: str, concurrency: int) -> None:
        from agent_env.features.ray.coordinator import Coordinator
        from agent_env.sdk.inside import RunFolder

        self._keeper = Coordinator.of(RunFolder(Path(path)), concurrency)

    async def ask(self, method: str, *arguments: Any) -> Any:
        """What the coordinator's method gives."""
        return await getattr(self._keeper, method)(*arguments)
