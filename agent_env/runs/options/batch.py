"""What a user asks of batches."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from agent_env.records.options import CALLS, Opt
from agent_env.records.reach import Reach

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
