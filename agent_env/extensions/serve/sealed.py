"""The samples of an exam, which are in no file before it is over.

Guaranteed: while an exam goes on, and after its server was killed, no file of its folder holds a
gold answer: samples.jsonl and materials.jsonl are held in the server's memory. Nothing is lost with
that memory: the same questions are made again as run.json says, or read again from the user's
dataset, and compared by their digest. Where that would give others, the files stay in the folder.
Not guaranteed: anything against an agent that reads the server's memory, that makes the questions
itself with the seed in run.json, or that reads the dataset (`docs/environments.md`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from agent_env.sdk.errors import ConfigError
from agent_env.sdk.run import RunOptions
from agent_env.sdk.trace import digest, samples_bytes

if TYPE_CHECKING:
    from agent_env.sdk.run import Run

SAMPLES, TABLES = "samples.jsonl", "materials.jsonl"


def seal(run: Run, dataset: Path | None, note: Callable[[str], None]) -> None:
    """Takes the samples of a run that goes on out of its folder, or makes those of an interrupted
    exam again. ConfigError where these cannot be had."""
    is_there = (run.path / SAMPLES).exists()
    try:
        files = questions_again(run, dataset)
    except ConfigError as exc:
        if not is_there:
            raise
        note(f"{run.path / SAMPLES} stays readable, gold answers included: {exc}")
        return
    run.hold(files)
    for name in files:
        (run.path / name).unlink(missing_ok=True)


def check_seal(run: Run, dataset: Path | None, note: Callable[[str], None]) -> None:
    """Writes the held samples of a new run where they could not be made again."""
    try:
        questions_again(run, dataset)
    except ConfigError as exc:
        run.release()
        note(f"{run.path / SAMPLES} is readable, gold answers included: {exc}")


def questions_again(run: Run, dataset: Path | None) -> dict[str, bytes]:
    """The bytes of the run's samples and tables, made as run.json says or read from the dataset;
    ConfigError where they are others."""
    from agent_env.sdk.family import checked_options
    from agent_env.sdk.run import check_reading, load_family, select_samples

    manifest = run.manifest
    check_reading(run, manifest, again=True)
    if manifest.dataset is not None and dataset is None:
        raise ConfigError(f"its questions came from {manifest.dataset}; name it with --dataset")
    family = load_family(manifest.task, run.plugins)
    chosen = checked_options(family, manifest.options)
    options = RunOptions(
        manifest.task, seed=manifest.seed or 0, limit=manifest.samples, where=manifest.where,
        dataset=dataset if manifest.dataset is not None else None, objects=run.objects,
        permit=run.permit,
    )  # fmt: skip
    made = select_samples(options, family, chosen, family.make_task(manifest.prompt, chosen, {}))
    files = {SAMPLES: samples_bytes(made.samples), TABLES: samples_bytes(made.tables)}
    if digest(files[SAMPLES]) != manifest.samples_digest:
        source = manifest.dataset or f"this version of agent-env with seed {manifest.seed}"
        raise ConfigError(f"{source} gives other questions than {run.path} was begun with")
    return files
