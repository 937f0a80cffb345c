"""A worker of a Ray cluster: it runs the episodes that it is handed, and streams their events."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from agent_env.sdk.errors import RunStopped, StorageError
from agent_env.sdk.inside import health_of, open_components, versions
from agent_env.sdk.run import Permit, Run

if TYPE_CHECKING:
    from agent_env.sdk.inside import Runner
    from agent_env.sdk.trace import EpisodeKey


@dataclass(frozen=True, slots=True)
class Parcel:
    """What a worker needs of the run's run."""

    manifest: str
    samples: bytes
    materials: bytes
    files: dict[str, bytes]
    versions: dict[str, str]
    concurrency: int
    """Episodes at a time, of this worker."""
    strict: bool
    permit: Permit
    """What this user lets the run do, wherever it is run."""


@dataclass(frozen=True, slots=True)
class EpisodeEnd:
    """How a worker's episode ended; what stops the run is told, not raised."""

    status: str
    stopped: tuple[str, Any] | None = None
    """Text and reason."""
    storage: str | None = None


class RayPost:
    """A coordinator that is an actor."""

    def __init__(self, coordinator: Any) -> None:
        self._keeper = coordinator

    async def ask(self, method: str, *arguments: Any) -> Any:
        return await self._keeper.ask.remote(method, *arguments)

    def tell(self, method: str, *arguments: Any) -> None:
        self._keeper.ask.remote(method, *arguments)


class Worker:
    """The actor: the run's components on another node, and the episodes that it is handed."""

    def __init__(self, name: str, coordinator: Any, parcel: Parcel) -> None:
        self._name, self._post, self._parcel = name, RayPost(coordinator), parcel
        self._stop = asyncio.Event()
        self._running: set[asyncio.Task[Any]] = set()
        self._host: asyncio.Task[None] | None = None
        self._runner: Runner | None = None

    async def start(self) -> tuple[str | None, str | None]:
        """Open the components: what is wrong here, if anything is, and the digest of the pages."""
        mine = versions()
        stale = [n for n, v in self._parcel.versions.items() if mine.get(n) != v]
        if stale:
            text = ", ".join(f"{n} {mine.get(n)}, not {self._parcel.versions[n]}" for n in stale)
            return f"a node has {text}", None
        opened: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._host = asyncio.ensure_future(self._serve(opened))
        either: set[asyncio.Future[Any]] = {opened, self._host}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not opened.done():
            exc = self._host.exception()
            return f"a node cannot run this: {exc}", None
        return None, opened.result()

    async def _serve(self, opened: asyncio.Future[str | None]) -> None:
        from agent_env.sdk.inside import (
            AgentLoop,
            Runner,
            allow_open_files,
            limits_of,
            outage_of,
            retries_of,
        )
        from agent_env.sdk.records import Manifest

        parcel = self._parcel
        allow_open_files(parcel.concurrency)
        manifest = Manifest.model_validate_json(parcel.manifest)
        async with AsyncExitStack() as stack:
            where = stack.enter_context(TemporaryDirectory(prefix="agent-env-"))
            run = Run(Path(where) / "run")
            run.permit = parcel.permit
            run.create(manifest, parcel.samples, parcel.materials, parcel.files)
            components = await open_components(run, manifest, run.task, stack, plugins=run.plugins)
            self._samples = run.samples_by_id
            self._conditions = {c.name: c for c in manifest.conditions}
            self._manifest = manifest
            self._runner = Runner(
                folder=run,
                model_name=manifest.model,
                open_seams=components.open_seams,
                tokenizer=components.tokenizer,
                limits=limits_of(manifest),
                concurrency=parcel.concurrency,
                seed=manifest.seed or 0,
                parameters=manifest.model_parameters,
                model_seed=manifest.model_parameters.get("seed"),  # type: ignore[arg-type]
                run_id=manifest.id,
                strict=parcel.strict,
            )
            self._loop = AgentLoop()
            is_up = health_of(
                manifest.model, manifest.model_parameters.get("base_url"), run.plugins
            )
            self._outage = outage_of(retries_of(manifest), is_up, self._tell)
            opened.set_result(run.manifest.web_settings.pages_digest)
            await self._stop.wait()

    async def run(self, key: EpisodeKey) -> EpisodeEnd:
        """Run one episode to its end."""
        task = asyncio.ensure_future(self._run(key))
        self._running.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            return EpisodeEnd("stopped")
        finally:
            self._running.discard(task)

    async def _run(self, key: EpisodeKey) -> EpisodeEnd:
        from agent_env.features.ray.coordinator import LimitRefusal, StreamedTrace, remote_calls
        from agent_env.sdk.inside import max_output, retries_of
        from agent_env.sdk.trace import Recording

        assert self._runner is not None  # started
        opened = await self._post.ask("open", self._name, key)
        if opened is None:
            return EpisodeEnd("left alone")
        if isinstance(opened, LimitRefusal):
            return EpisodeEnd("failed", storage=opened.text)
        past = Recording.of(opened.events) if opened.events else None
        trace = StreamedTrace(self._post, opened.lease, is_new=past is None)
        retries, facts = retries_of(self._manifest), self._manifest.model_facts
        most = max_output(self._manifest)
        calls = remote_calls(self._post, opened.lease, retries, facts, most, self._outage)
        runner = replace(self._runner, calls=calls)
        sample, condition = self._samples[key.sample], self._conditions[key.condition]
        try:
            status = await runner.episode(key, sample, condition, self._loop, trace, past)
            await trace.settle()
            return EpisodeEnd(status)
        except RunStopped as exc:
            return EpisodeEnd("stopped", stopped=(str(exc), exc.reason))
        except StorageError as exc:
            return EpisodeEnd("failed", storage=str(exc))
        finally:
            with suppress(StorageError):
                await trace.settle()
            await self._post.ask("close", opened.lease)

    def _tell(self, text: str) -> None:
        self._post.tell("tell", f"{self._name}: {text}")

    async def stop(self) -> None:
        """Put down what is running, its last events sent, and close the components."""
        for task in tuple(self._running):
            task.cancel()
        if self._running:
            await asyncio.wait(tuple(self._running))
        self._stop.set()
        if self._host is not None:
            await self._host
