"""The slides' study over TRAVELER: configurations by one model, chosen ones by all, one on all.

Stage 1 asks explicit and implicit questions about sets of 5 and 50 events under each configuration
and ranks them; stage 2 asks the best ones of every model; the final stage asks everything under the
one that is best in the mean over the models. OUT/study.json holds the plan and the results; the
same command continues an interrupted study.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Literal

from pydantic import Field, JsonValue, ValidationError

from agent_env.errors import ConfigError, DatasetError, first_problem
from agent_env.families.traveler.configurations import CONFIGURATIONS, DEFAULT, find_configuration
from agent_env.families.traveler.family import SIZES
from agent_env.families.traveler.figures import (
    ScoredEpisode,
    SlideTable,
    categories_table,
    configurations_table,
    lengths_table,
    models_table,
    scored_episodes,
)
from agent_env.families.traveler.sample import CATEGORIES, traveler_sample
from agent_env.families.traveler.shortcuts import CONSTANT, IGNORE_TIME
from agent_env.models.addresses import base_urls, key_variables, with_variable
from agent_env.records.safe_files import read_file
from agent_env.records.schema import Record
from agent_env.wiring.trust import own_plugins

if TYPE_CHECKING:
    from agent_env.episodes.run_folder import RunFolder
    from agent_env.runs.options import RunOptions
    from agent_env.runs.run import Run
    from agent_env.runs.start import Listener

FILE = "study.json"
Note = Callable[[str], None]
"""Receives messages for the user."""
Stage = Literal["configurations", "models", "final"]


class StudyPlan(Record):
    """The plan of a study."""

    models: tuple[str, ...] = Field(min_length=1)
    """The first one ranks the configurations."""
    configurations: tuple[str, ...] = Field(tuple(CONFIGURATIONS), min_length=1)
    keep: int = Field(4, ge=1)
    """Number of configurations under which all models are asked."""
    chosen: tuple[str, ...] = ()
    """These in place of the best ones."""
    final: str | None = None
    """The last stage's configuration; None takes the best one of stage 2."""
    per_cell: int = Field(100, ge=1)
    """Questions of each number of events and category."""
    sizes: tuple[int, ...] = (5, 50)
    """Of the first two stages."""
    all_sizes: tuple[int, ...] = SIZES
    """Of the final stage."""
    seed: int = 1
    options: tuple[str, ...] = ()
    """The family's further options, as KEY=VALUE."""
    base_url: str | None = None
    """Of compatible/NAME models."""
    api_key_envs: tuple[str, ...] = ()
    """Variables that hold keys: NAME or MODEL=NAME."""
    temperature: float | None = None
    """Sent if given."""

    @property
    def parameters(self) -> dict[str, JsonValue]:
        """The parameters of the models."""
        return {} if self.temperature is None else {"temperature": self.temperature}

    def server(self, model: str) -> tuple[str | None, dict[str, JsonValue]]:
        """A model's address and parameters."""
        urls = base_urls(self.models, self.base_url)
        variable = key_variables(urls, self.api_key_envs)[model]
        return urls[model], with_variable(self.parameters, variable)


class StudyRun(Record):
    """One run of the study."""

    stage: Stage
    """The first that it belongs to; stage 2 uses the runs of stage 1 again."""
    model: str
    configuration: str
    folder: str = Field(pattern=r"^[^./\\\x00][^/\\\x00]*$")
    """Below the study's own."""
    accuracy: float | None
    """Mean over its finished episodes; None where there is none."""
    finished: int
    episodes: int


class Study(Record):
    """study.json."""

    plan: StudyPlan
    runs: tuple[StudyRun, ...] = ()
    kept: tuple[str, ...] = ()
    """Configurations of stage 2, the best one of stage 1 first unless they were chosen."""
    final: str | None = None

    def of(self, *stages: Stage) -> tuple[StudyRun, ...]:
        """The runs of these stages."""
        return tuple(run for run in self.runs if run.stage in stages)


@dataclass(slots=True)
class StudyRunner:
    """Runs a study."""

    out: Path
    study: Study
    listener: Listener
    concurrency: int

    async def run(self) -> Study:
        """All three stages."""
        plan = self.study.plan
        for name in plan.configurations:
            await self._ask("configurations", plan.models[0], name)
        ranked = self.study.of("configurations")
        finalists = plan.chosen or _best(ranked, plan.configurations, plan.keep)
        self._update(kept=tuple(finalists))
        for name in finalists:
            for model in plan.models:
                await self._ask("models", model, name)
        final = plan.final or _best(self.study.of("configurations", "models"), finalists, 1)[0]
        self._update(final=final)
        for model in plan.models:
            await self._ask("final", model, final)
        return self.study

    async def _ask(self, stage: Stage, model: str, name: str) -> None:
        """One run, unless an earlier stage made it; an interrupted one continues."""
        early = [run for run in self.study.of("configurations", "models") if stage != "final"]
        if any((run.model, run.configuration) == (model, name) for run in early):
            return
        from agent_env.runs.run import Run
        from agent_env.runs.start import run_episodes, start_run

        self.listener.note(f"{stage}: {model} under {name}")
        who = model.replace("/", "_").replace(":", "_" if "@http" in model else ":")
        where = f"{'final-' if stage == 'final' else ''}{who}-{name}"
        folder = Run(self.out / where)
        if (folder.path / "run.json").exists():
            _check_begun(folder, model, self.study.plan, self.listener.note)
            await run_episodes(folder, self.concurrency, self.listener)
        else:
            options = self._options(stage, model, name, folder.path)
            folder = await start_run(options, self.listener)
        self._record_run(stage, model, name, folder)

    def _options(self, stage: Stage, model: str, name: str, out: Path) -> RunOptions:
        from agent_env.runs.options import RunOptions

        plan = self.study.plan
        base_url, parameters = plan.server(model)
        sizes = plan.all_sizes if stage == "final" else plan.sizes
        categories = CATEGORIES if stage == "final" else CATEGORIES[:2]
        cells = (f"sizes={','.join(map(str, sizes))}", f"categories={','.join(categories)}")
        return RunOptions(
            task="traveler",
            model=model,
            conditions=("base",),
            limit=plan.per_cell * len(sizes) * len(categories),
            seed=plan.seed,
            out=out,
            concurrency=self.concurrency,
            prompt=name,
            options=(*cells, *plan.options),
            base_url=base_url,
            parameters=parameters,
        )

    def _record_run(self, stage: Stage, model: str, name: str, folder: Run) -> None:
        rows, episodes = read_run(folder, self.listener.note)
        run = StudyRun(
            stage=stage,
            model=model,
            configuration=name,
            folder=folder.path.name,
            accuracy=fmean(row.accuracy for row in rows) if rows else None,
            finished=len(rows),
            episodes=episodes,
        )
        others = [other for other in self.study.runs if other.folder != run.folder]
        self._update(runs=(*others, run))

    def _update(self, **changes: object) -> None:
        self.study = self.study.model_copy(update=changes)
        _write(self.out / FILE, self.study)


def _check_begun(folder: RunFolder, model: str, plan: StudyPlan, note: Note) -> None:
    """ConfigError where the folder holds another run than the study's."""
    from agent_env.wiring.trust import check_trust, how_to_trust

    manifest = folder.manifest()
    address = manifest.model_parameters.get("base_url")
    if manifest.model != model or address not in (None, plan.base_url):
        raise ConfigError(f"{folder.path} holds another run than the study's; move it away")
    check_trust(folder, manifest, note, own=("address",), option=how_to_trust(folder))


async def run_study(plan: StudyPlan, out: Path, listener: Listener, concurrency: int = 8) -> Study:
    """Runs or continues a study; ConfigError where the folder holds another."""
    check(plan)
    before = read_study(out) if (out / FILE).exists() else Study(plan=plan)
    if before.plan != plan:
        raise ConfigError(f"{out / FILE} holds a study of another plan; name another --out")
    started = Study(plan=plan)  # each run is opened again, for its failed episodes
    return await StudyRunner(out, started, listener, concurrency).run()


def check(plan: StudyPlan) -> None:
    """ConfigError for a plan that cannot be run; sends nothing to a model."""
    from agent_env.tasks.family import read_options
    from agent_env.wiring.models import make_model
    from agent_env.wiring.registry import load_family

    for name in (*plan.configurations, *plan.chosen, *([plan.final] if plan.final else [])):
        find_configuration(name)
    if len(set(plan.models)) < len(plan.models):
        raise ConfigError("a model is named twice")
    if any(option.partition("=")[0].strip() in ("sizes", "categories") for option in plan.options):
        raise ConfigError("a study sets sizes and categories itself; drop these options")
    read_options(load_family("traveler"), plan.options)
    for model in plan.models:
        make_model(model, *plan.server(model), own_plugins())


def named_configurations(text: str) -> tuple[str, ...]:
    """From `all`, or names joined by commas; `default` is the slides' choice."""
    if text == "all":
        return tuple(CONFIGURATIONS)
    names = [part.strip() for part in text.split(",") if part.strip()]
    if not names:
        raise ConfigError("--configurations is empty; write all, or names joined by commas")
    return tuple(dict.fromkeys(find_configuration(name).name for name in names))


def read_study(out: Path) -> Study:
    """The study in OUT/study.json."""
    try:
        return Study.model_validate_json(read_file(out, out / FILE))
    except OSError as exc:
        raise ConfigError(f"cannot read {out / FILE}: {exc.strerror}") from exc
    except ValidationError as exc:
        raise DatasetError(out / FILE, None, f"not a study: {first_problem(exc.errors())}") from exc


def read_run(run: Run, note: Note) -> tuple[list[ScoredEpisode], int]:
    """The finished episodes of a run, and how many episodes there are."""
    from agent_env.runs.score import score_folder
    from agent_env.tasks.shortcuts import shortcut_scores

    manifest, scored = run.manifest(), score_folder(run, note)
    if manifest.task != "traveler":
        raise ConfigError(f"{run.path} is a run of {manifest.task}, not of traveler")
    samples = [traveler_sample(sample) for sample in run.samples]
    task = run.task
    by_name = {shortcut.name: shortcut for shortcut in task.shortcuts}
    constant, ignored = (
        {
            sample.id: score.metrics["accuracy"]
            for sample, _, score in shortcut_scores(task, by_name[name], samples)
        }
        for name in (CONSTANT, IGNORE_TIME)
    )
    return scored_episodes(manifest, samples, scored, constant, ignored), len(scored)


def read_rows(paths: Sequence[Path], note: Note) -> dict[Stage, list[ScoredEpisode]]:
    """The finished episodes of runs and studies by stage; a single run belongs to every stage."""
    from agent_env.runs.run import Run

    rows_of: dict[Stage, list[ScoredEpisode]] = {"configurations": [], "models": [], "final": []}
    for path in paths:
        if not (path / FILE).exists():
            rows, _ = read_run(Run(path), note)
            for stage_rows in rows_of.values():
                stage_rows += rows
            continue
        study = read_study(path)
        for run in study.runs:
            rows, _ = read_run(Run(path / run.folder), note)
            if run.stage == "configurations":
                rows_of["configurations"] += rows
            if run.stage != "final" and run.configuration in study.kept:
                rows_of["models"] += rows
            if run.stage == "final":
                rows_of["final"] += rows
    return rows_of


def result_tables(paths: Sequence[Path], note: Note) -> list[SlideTable]:
    """The slides' tables for which there are episodes, with accuracy by number of events
    last."""
    rows = read_rows(paths, note)
    makers: tuple[tuple[Stage, Callable[[Sequence[ScoredEpisode]], SlideTable]], ...] = (
        ("configurations", configurations_table),
        ("models", models_table),
        ("final", categories_table),
        ("final", lengths_table),
    )
    tables = (make(rows[stage]) for stage, make in makers)
    return [table for table in tables if table.rows]


def write_curves(paths: Sequence[Path], file: Path, note: Note) -> None:
    """Accuracy by number of events as SVG."""
    from agent_env.extras import need_extra

    need_extra("matplotlib")
    from agent_env.analysis.drawing import svg_of
    from agent_env.episodes.run_folder import write_whole
    from agent_env.families.traveler.length_curves import length_curves

    write_whole(file, svg_of(length_curves(read_rows(paths, note)["final"])))


def _best(runs: Sequence[StudyRun], names: Sequence[str], keep: int) -> list[str]:
    """The best in the mean over the models; of equals the slides' choice, else the first."""
    means = {}
    for name in names:
        values = [r.accuracy for r in runs if r.configuration == name and r.accuracy is not None]
        if values:
            means[name] = fmean(values)
    if not means:
        raise ConfigError("no episode finished, so no configuration can be chosen")
    order = sorted(means, key=lambda name: (-means[name], name != DEFAULT, names.index(name)))
    return order[:keep]


def _write(file: Path, study: Study) -> None:
    from agent_env.episodes.run_folder import write_whole

    write_whole(file, study.model_dump_json(indent=2).encode() + b"\n")
