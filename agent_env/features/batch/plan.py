"""The batches that options ask for, checked before anything runs."""

from __future__ import annotations

from dataclasses import replace

from agent_env.features.batch import BatchOptions, BatchSettings
from agent_env.features.batch.apis import OpenAiBatches, batch_api
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.run import Draft


def by_batch(draft: Draft, wished: BatchOptions) -> Draft:
    """The run by batch; ConfigError for what cannot go by batch."""
    options = draft.options
    if not wished.is_on:
        raise ConfigError("--detach goes with --batch or --batch-dir; add that")
    _, batches = batch_api(options.model, options.plugins)
    if wished.batch_dir is not None and batches is not OpenAiBatches:
        raise ConfigError(f"--batch-dir has files in OpenAI's form, which {options.model} has not")
    for name in ("stream", "service_tier"):
        if options.parameters.get(name):
            raise ConfigError(f"--{name.replace('_', '-')} is not for batches; leave it out")
    folder = None if wished.batch_dir is None else str(wished.batch_dir.absolute())
    return replace(
        draft,
        settings={
            **draft.settings, "batch": BatchSettings(dir=folder, detach=bool(wished.detach))
        },
        is_call_by_call=False,
        tier="batch" if folder is None else None,  # a folder is on the user's own machine
    )  # fmt: skip
