"""The questions of a run that was planned, made again from its run.json: samples, tables, and why
samples were left out."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from agent_env.episodes.run_folder import digest
from agent_env.errors import ConfigError
from agent_env.runs.options.run_options import RunOptions
from agent_env.runs.planning.checks import planned_pages
from agent_env.runs.planning.draft import Draft, with_features
from agent_env.runs.planning.questions import select_samples
from agent_env.runs.run import Run
from agent_env.tasks.family import SampleSet, by_digest
from agent_env.tasks.sample_files import samples_bytes
from agent_env.tasks.task import Task
from agent_env.wiring.registry import load_family
from agent_env.wiring.trust import check_reading
from agent_env.wiring.web import WebOptions


def questions_again(run: Run, dataset: Path | None) -> dict[str, bytes]:
    """As `made_again`; ConfigError where they are others than those of the run."""
    files = made_again(run, dataset)
    if digest(files["samples.jsonl"]) != run.manifest.samples_digest:
        seed = run.manifest.seed
        source = run.manifest.dataset or f"this version of agent-env with seed {seed}"
        raise ConfigError(f"{source} gives other questions than {run.path} was begun with")
    return files


def made_again(run: Run, dataset: Path | None) -> dict[str, bytes]:
    """The bytes of the run's samples and tables, made as run.json says or read from the dataset;
    without what disturbed worlds and the days of conditions add to them."""
    sample_set, _, _ = _selected_again(run, dataset)
    left_out = run.manifest.left_out
    return {
        "samples.jsonl": samples_bytes([s for s in sample_set.samples if s.id not in left_out]),
        "materials.jsonl": samples_bytes(sample_set.tables),
    }


def left_out_again(run: Run, dataset: Path | None) -> dict[str, str]:
    """The samples that the run's conditions cannot ask, each with its reason, found anew."""
    sample_set, task, options = _selected_again(run, dataset)
    conditions, settings = run.manifest.conditions, run.manifest.web_settings
    if settings.pages is not None:  # a stranger's path
        settings = settings.model_copy(update={"pages": str(run.pages)})
    pages = partial(planned_pages, settings, options.web_mode, sample_set.tables)
    again = Draft(
        options, task, conditions, sample_set, lambda text: None, pages=pages, is_again=True
    )
    return dict(with_features(again).left_out)


def _selected_again(run: Run, dataset: Path | None) -> tuple[SampleSet, Task, RunOptions]:
    """The samples from which the run was planned, with its task and options."""
    manifest = run.manifest
    check_reading(run, manifest, again=True)
    if manifest.dataset is not None and dataset is None:
        raise ConfigError(f"its questions came from {manifest.dataset}; name it with --dataset")
    family = load_family(manifest.task, run.plugins)
    chosen = family.checked_options(manifest.options)
    options = RunOptions(
        manifest.task, seed=manifest.seed or 0, limit=manifest.samples + len(manifest.left_out),
        where=manifest.where, dataset=dataset if manifest.dataset is not None else None,
        web=WebOptions(mode=manifest.web or "sealed"),
        objects=run.objects, permit=run.permit,
    )  # fmt: skip
    task = family.make_task(manifest.prompt, chosen, {})
    sample_set = select_samples(options, family, chosen, task, manifest.tier)
    if sample_set.tables:
        task = family.make_task(manifest.prompt, chosen, by_digest(sample_set.tables))
    return sample_set, task, options
