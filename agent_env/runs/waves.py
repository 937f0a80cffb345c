"""A run by batch: wave after wave, until no episode waits for a reply."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from agent_env.episodes.calls.retries import Breaker
from agent_env.episodes.run_folder import EpisodeKey
from agent_env.errors import RunStopped, RunWaits
from agent_env.records.manifest import BatchSettings
from agent_env.records.schema import Sample
from agent_env.records.waits import doubled_s

if TYPE_CHECKING:
    from agent_env.episodes.runner import Runner
    from agent_env.episodes.waves import Waves
    from agent_env.records.schema import Condition
    from agent_env.runs.start import Listener

FIRST_POLL_S = 1.0
LONGEST_POLL_S = 60.0
"""Between two looks at batches that have not ended."""
NOTED_AT = (1, 6)
"""Looks after which it is said where the batches stand; then after each thirtieth."""


async def run_waves(
    settings: BatchSettings,
    runner: Runner,
    asked: tuple[Sequence[Sample], Sequence[Condition], int],
    listener: Listener,
) -> None:
    """Runs the episodes as far as their calls have replies, hands the other calls in, and goes on
    when there are results. RunWaits where the run is to end meanwhile."""
    failed: set[EpisodeKey] = set()
    last = replace(runner, left=failed)
    # A call waits a wave anyway, and one expired batch is many failures.
    retries = replace(last.calls.retries, first_wait_s=0.0, longest_wait_s=0.0)
    calls = replace(last.calls, retries=retries, breaker=Breaker(None))
    runner, waves = replace(last, calls=calls), runner.waves
    assert waves is not None  # else there is no batch

    def end(key: EpisodeKey, status: str) -> None:
        if status == "failed":
            failed.add(key)
        listener.end(key, status)

    number = 0
    while True:
        await waves.collect()
        waves.begin()
        runner.calls.budget.unpark()
        stop: RunStopped | None = None
        try:
            await runner.run(*asked, end)
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
        if number_new <= settings.until and not waves.waiting and number > 0:
            listener.note(f"the last {number_new} calls go by the normal API (--batch-until)")
            waves.is_live = True
            runner.calls.budget.unpark()
            await last.run(*asked, end)
            return
        if number_new:
            number, batches = number + 1, await waves.submit()
            some = "one batch" if batches == 1 else f"{batches} batches"
            listener.note(f"wave {number}: {number_new} calls in {some}")
        if not settings.detach:
            await _some_end(waves, listener.note)
            continue
        number_open, standing = len(waves.open), "; ".join(await waves.collect())
        if len(waves.open) == number_open:
            go_on = f"go on with: agent-env resume {runner.folder.path}"
            raise RunWaits(f"waits for its batches ({standing}); {go_on}")


async def _some_end(waves: Waves, note: Callable[[str], None]) -> None:
    """Returns when a batch has ended, or turned out never to have been handed in."""
    for poll in count(1):
        before = len(waves.open)
        standing = await waves.collect()
        if len(waves.open) < before:
            return
        if standing and (poll in NOTED_AT or poll % 30 == 0):
            note("; ".join(standing))
        await asyncio.sleep(doubled_s(poll, FIRST_POLL_S, LONGEST_POLL_S))
