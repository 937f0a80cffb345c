"""What a user asks of batches, checked before anything runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from agent_env.errors import ConfigError
from agent_env.models.batch import OpenAiBatches
from agent_env.records.manifest import BatchSettings
from agent_env.records.options import CALLS, Opt
from agent_env.records.reach import Reach
from agent_env.wiring.models import api_of

if TYPE_CHECKING:
    from agent_env.runs.options.run_options import RunOptions

NO_SERVER = "http://batch.invalid/v1"
"""The address of a model that only a folder of batches asks: none, by RFC 2606."""


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
            manifest="batch.dir",
            reach=Reach.FILE,
        ),
    ] = None
    detach: Annotated[
        bool,
        Opt(
            "End when a wave is submitted; agent-env resume continues, by hand or by cron.",
            CALLS,
            manifest="batch.detach",
        ),
    ] = False

    @property
    def is_on(self) -> bool:
        return self.batch or self.batch_dir is not None

    def url(self, model: str, url: str | None) -> str | None:
        """The model's address; that of no server where only files ask it and it has none."""
        has_no_server = self.batch_dir is not None and url is None
        return NO_SERVER if has_no_server and model.startswith("compatible/") else url


def batch_settings(options: RunOptions) -> BatchSettings | None:
    """The entry of run.json; ConfigError for what cannot go by batch."""
    wished = options.batch
    if not wished.is_on:
        if wished.detach:
            raise ConfigError("--detach goes with --batch or --batch-dir; add that")
        return None
    api = api_of(options.model, options.plugins)
    if api is None or api.batches is None:
        raise ConfigError(f"--batch: {options.model} has no batch API that is known here")
    if wished.batch_dir is not None and api.batches is not OpenAiBatches:
        raise ConfigError(f"--batch-dir has files in OpenAI's form, which {options.model} has not")
    for name in ("stream", "service_tier"):
        if options.parameters.get(name):
            raise ConfigError(f"--{name.replace('_', '-')} is not for batches; leave it out")
    folder = None if wished.batch_dir is None else str(wished.batch_dir.absolute())
    return BatchSettings(dir=folder, detach=wished.detach)
