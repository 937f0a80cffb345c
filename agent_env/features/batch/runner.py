"""The episodes of a run by batch, wave after wave."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from agent_env.features.batch import BatchSettings
from agent_env.features.batch.apis import BatchApi, FileBatches, batch_api
from agent_env.features.batch.waves import Waves
from agent_env.sdk.errors import RunStopped
from agent_env.sdk.inside import (
    Breaker,
    Runner,
    RunWaits,
    Start,
    doubled_s,
    open_counted,
    open_endpoint,
    retries_of,
)

if TYPE_CHECKING:
    from agent_env.sdk.inside import Plugins
    from agent_env.sdk.records import Manifest
    from agent_env.sdk.trace import EpisodeKey

FIRST_POLL_S = 1.0
RESULT_BYTES = 4 << 30
"""Of a batch's results that are read."""


async def run_waves(start: Start, runner: Runner, settings: BatchSettings) -> None:
    """Runs the episodes as far as their calls have replies, hands the other calls in, and goes on
    when there are results. RunWaits where the run is to end meanwhile."""
    failed: set[EpisodeKey] = set()
    async with AsyncExitStack() as stack:
        waves = _open_waves(start, settings, stack)
        note, plugins = start.listener.note, start.run.plugins
        model, tokenizer = await open_counted(start.manifest, note, stack, plugins, waves.post)
        components = replace(start.components, model=model, tokenizer=tokenizer)
        # A call waits a wave anyway, and one expired batch is many failures.
        retries = replace(runner.calls.retries, first_wait_s=0.0, longest_wait_s=0.0)
        runner = replace(
            runner,
            open_seams=components.open_seams,
            tokenizer=tokenizer,
            calls=replace(runner.calls, retries=retries, breaker=Breaker(None)),
            left=failed,
            batch_episode=waves.episode,
        )
        await _run(start, runner, waves, failed, bool(settings.detach))


def _open_waves(start: Start, settings: BatchSettings, stack: AsyncExitStack) -> Waves:
    """The batches of the run, with those that were handed in."""
    run, manifest = start.run, start.manifest
    folder = None if settings.dir is None else Path(settings.dir)
    waves = Waves(
        folder=run.path,
        run=manifest.id or run.path.name,
        api=_open_api(manifest, folder, stack, run.plugins),
        tier=manifest.calls_tier,
        attempts=retries_of(manifest).attempts,
        note=start.listener.note,
        clock=lambda: datetime.now(UTC),
    )
    waves.read()
    return waves


def _open_api(
    manifest: Manifest, folder: Path | None, stack: AsyncExitStack, plugins: Plugins
) -> BatchApi:
    """The batch API of the run's model, or this folder of batches; closed with the stack."""
    api, batches = batch_api(manifest.model, plugins)
    if folder is not None:
        return FileBatches(folder, api.path, plugins.permit)
    endpoint, path = open_endpoint(manifest, api, RESULT_BYTES, stack, plugins)
    return batches(endpoint, path)


async def _run(
    start: Start, runner: Runner, waves: Waves, failed: set[EpisodeKey], detach: bool
) -> None:
    """`failed`: episodes that are left to the next start."""

    def end(key: EpisodeKey, status: str) -> None:
        if status == "failed":
            failed.add(key)
        start.listener.end(key, status)

    number = 0
    while True:
        await waves.collect()
        waves.begin()
        runner.calls.budget.unpark()
        stop: RunStopped | None = None
        try:
            await runner.run(*start.asked, end)
        except RunStopped as exc:
            if exc.reason in ("failures", "time"):
                raise
            stop = exc  # the calls that fit are still made
        number_new = len(waves.new)
        if not number_new and not waves.waiting:
            if stop is not None:
                raise stop
            await waves.cancel()
            return
        if number_new:
            number, batches = number + 1, await waves.submit()
            some = "one batch" if batches == 1 else f"{batches} batches"
            start.listener.note(f"wave {number}: {number_new} calls in {some}")
        if not detach:
            for poll in count(1):  # until a batch ends, or turns out never to have been handed in
                before = len(waves.open)
                standing = await waves.collect()
                if len(waves.open) < before:
                    break
                if standing and (poll in (1, 6) or poll % 30 == 0):
                    start.listener.note("; ".join(standing))
                await asyncio.sleep(doubled_s(poll, FIRST_POLL_S, 60.0))
            continue
        number_open, standing = len(waves.open), await waves.collect()
        if len(waves.open) == number_open:
            go_on = f"continue with: agent-env resume {runner.folder.path}"
            raise RunWaits(f"waits for its batches ({'; '.join(standing)}); {go_on}")
