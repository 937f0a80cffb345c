"""Asks a model about samples that a command made, by a run of its own that can be gone on with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from agent_env.episodes.run_folder import digest, samples_bytes
from agent_env.errors import ConfigError
from agent_env.records.schema import Sample
from agent_env.runs.options import RunOptions
from agent_env.runs.prepare import addressed
from agent_env.runs.run import Run
from agent_env.runs.start import Listener, run_episodes, start_run
from agent_env.wiring.trust import check_trust, how_to_trust, record_run


async def ask(options: RunOptions, samples: Sequence[Sample], listener: Listener) -> Run:
    """Run the samples, or what is missing of them in a run that has begun."""
    data = samples_bytes(samples[: options.limit])
    begun = Run(options.out) if options.out else None
    if begun is None or not (begun.path / "run.json").exists():
        with TemporaryDirectory() as folder:
            dataset = Path(folder) / f"{options.task}.jsonl"
            dataset.write_bytes(data)
            asked = replace(options, dataset=dataset, repeats=1, where=(), prompt="default")
            return await start_run(asked, listener)
    manifest = begun.manifest()
    if (manifest.task, manifest.model) != (options.task, options.model) or (
        manifest.samples_digest != digest(data)
    ):
        raise ConfigError(f"{begun.path} holds another run; name another folder for this one")
    check_trust(begun, manifest, listener.note, own=("address",), option=how_to_trust(begun))
    (options,) = addressed(options, [options.model])
    before = manifest.model_parameters.get("base_url")
    if before != options.base_url:  # the server moved
        parameters = manifest.model_parameters | {"base_url": options.base_url}
        former = (*manifest.former_urls, str(before))
        begun.change(model_parameters=parameters, former_urls=former)
        record_run(begun, listener.note)
    await run_episodes(begun, options.concurrency, listener)
    return begun
