"""Batches: all episodes' next model calls are handed in together, at the provider's lower price.

`plan` says what can go by batch, `drive` runs the episodes wave after wave by `waves`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from agent_env.sdk.commands import Opt
from agent_env.sdk.family import Feature
from agent_env.sdk.inside import CALLS, COMPATIBLE, NO_SERVER, OutsideFile, Plain
from agent_env.sdk.records import Reach, Record

if TYPE_CHECKING:
    from agent_env.sdk.inside import Runner, Start
    from agent_env.sdk.run import Draft


class BatchSettings(Record):
    """How the model's calls go by batch."""

    dir: OutsideFile[str | None] = None
    """The folder of batch files that something else answers; None: the provider's batch API."""
    detach: Plain[bool] = False
    """Whether the command ends when it has handed a wave in."""


@dataclass(frozen=True, slots=True)
class BatchOptions:
    batch: Annotated[
        bool,
        Opt(
            "All episodes' next calls as one batch, at the provider's lower price; each such wave "
            "may take a day (agent-env docs batch).",
            CALLS,
            reach=Reach.NOTHING,
        ),
    ] = False
    batch_dir: Annotated[
        Path | None,
        Opt(
            "Batches as files in this folder, which you answer, such as by vllm run-batch.",
            CALLS,
            manifest="features.batch.dir",
            reach=Reach.FILE,
        ),
    ] = None
    detach: Annotated[
        bool | None,
        Opt(
            "End when a wave is submitted; agent-env resume continues, by hand or by cron.",
            CALLS,
            manifest="features.batch.detach",
            resume=True,
            reach=Reach.NOTHING,
        ),
    ] = None

    @property
    def is_on(self) -> bool:
        return self.batch or self.batch_dir is not None


def addresses(options: BatchOptions, urls: Mapping[str, str | None]) -> Mapping[str, str | None]:
    """The models' addresses; that of no server where only files ask one that has none."""
    if options.batch_dir is None:
        return urls
    return {
        model: NO_SERVER if url is None and model.startswith(COMPATIBLE) else url
        for model, url in urls.items()
    }


def plan(draft: Draft, options: BatchOptions) -> Draft:
    """The run, which notes that its calls go by batch, at the price of a provider's batches."""
    if not draft.is_call_by_call or options == BatchOptions():
        return draft
    from agent_env.features.batch.plan import by_batch

    return by_batch(draft, options)


async def drive(start: Start, runner: Runner, settings: BatchSettings) -> None:
    """The episodes, wave after wave."""
    from agent_env.features.batch.runner import run_waves

    await run_waves(start, runner, settings)


FEATURE = Feature(
    "batch",
    options=BatchOptions,
    settings=BatchSettings,
    plan=plan,
    drive=drive,
    addresses=addresses,
)
