"""The batches that options ask for, checked before anything runs."""

from __future__ import annotations

from agent_env.errors import ConfigError
from agent_env.models.batch import OpenAiBatches
from agent_env.records.manifest import BatchSettings
from agent_env.runs.options.run_options import RunOptions
from agent_env.wiring.models import api_of


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
