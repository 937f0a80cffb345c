"""Runs a model over samples that a command made, in a run of its own that can be resumed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from agent_env.episodes.run_folder import digest, samples_bytes
from agent_env.errors import ConfigError
from agent_env.records.schema import Sample
from agent_env.runs.options import RunOptions
from agent_env.runs.plan import addressed
from agent_env.runs.run import Run
from agent_env.runs.start import Listener, run_episodes, start_run
from agent_env.wiring.trust import check_trust, how_to_trust, record_run


async def ask(options: RunOptions, samples: Sequence[Sample], listener: Listener) -> Run:
    """Runs the samples, or the missing ones of an existing run."""
    data = samples_bytes(samples[: options.limit])
    with TemporaryDirectory() as folder:
        dataset = Path(folder) / f"{options.task}.jsonl"
        dataset.write_bytes(data)
        plain = replace(options, dataset=dataset, repeats=1, where=(), prompt="default")
        return await begin_or_continue(plain, data, listener)


async def begin_or_continue(options: RunOptions, data: bytes, listener: Listener) -> Run:
    """Runs the dataset of the options, or what is missing of an existing run of it in their folder;
    `data` are the bytes of the samples that they select. ConfigError where the folder holds another
    run."""
    run = Run(options.out) if options.out else None
    if run is None or not (run.path / "run.json").exists():
        return await start_run(options, listener)
    manifest = run.manifest
    if (manifest.task, manifest.model) != (options.task, options.model) or (
        manifest.samples_digest != digest(data)
    ):
        raise ConfigError(f"{run.path} holds another run; name another folder for this one")
    check_trust(run, manifest, listener.note, own=("address",), option=how_to_trust(run))
    (options,) = addressed(options, [options.model])
    before = manifest.model_parameters.get("base_url")
    if before != options.base_url:  # the server moved
        parameters = manifest.model_parameters | {"base_url": options.base_url}
        former = (*manifest.former_urls, str(before))
        run.change(model_parameters=parameters, former_urls=former)
        record_run(run, listener.note)
    await run_episodes(run, options.concurrency, listener, options.calls.run)
    return run
