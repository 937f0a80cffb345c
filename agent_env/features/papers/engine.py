"""Runs what the experiments of a paper need, and sets our figures beside the paper's.

OUT/reproduce.json holds the plan, OUT/questions the sets of questions, OUT/runs/SETUP/MODEL a run
each; the same command continues whatever is missing. What cannot be run keeps nothing else from
being run: its reason is in the results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import JsonValue

from agent_env.features.papers.paper import Evidence, Experiment, Reproduction, Setup
from agent_env.features.papers.questions import QuestionSets, check_plan, with_own
from agent_env.features.papers.responses import (
    ResponseFile,
    read_response_lines,
    response_runs,
)
from agent_env.features.papers.results import (
    ExperimentResult,
    Key,
    comparison_rows,
)
from agent_env.sdk.commands import WHAT, Opt, OptionGroup
from agent_env.sdk.errors import AgentEnvError, ConfigError, RunStopped
from agent_env.sdk.family import Shortcut, Task
from agent_env.sdk.inside import resolve_models
from agent_env.sdk.models import ModelParameters
from agent_env.sdk.results import Estimate, Measurement, RunData
from agent_env.sdk.run import (
    FAMILIES,
    CallOptions,
    Listener,
    Registry,
    Run,
    RunOptions,
    WebOptions,
    begin_or_continue,
    forecast_text,
    load_family,
    make_model,
    ours,
    task_of,
)

FROM_RUN = (
    "seed", "limit", "prompt", "system", "option", "base_url", "api_key_env", "concurrency",
    "sandbox", "tokenizer",
)  # fmt: skip
"""Options as for `run`."""
HELP = {
    "limit": "Questions of each set; of a file evenly spaced ones.",
    "prompt": "A prompt's name, or a file of your own, sent verbatim; default: the experiment's.",
    "option": "An option of the task, in place of the experiment's: KEY=VALUE; NAME:KEY=VALUE of "
    "the questions NAME alone. Repeatable.",
}
SAME_LEFT_OUT = "Gold: only what differs from the first is shown of the other readings"
LIMITS = ("run_tokens", "run_cost_usd", "prices")


@dataclass(frozen=True, slots=True)
class ReproduceOptions:
    """Options of `reproduce`."""

    paper: Annotated[
        str, Opt("The paper's task, such as time-puzzles.", metavar="PAPER", argument=True)
    ]
    models: Annotated[
        tuple[str, ...],
        Opt(
            "As for run. Repeatable. Default: reference, or none with --responses.", WHAT, "--model"
        ),
    ] = ()
    files: Annotated[
        tuple[str, ...],
        Opt(
            "The authors' questions: FILE, or NAME=FILE as --list names them. Without it questions "
            "are generated. Repeatable.",
            WHAT,
            "--dataset",
            metavar="[NAME=]FILE",
        ),
    ] = ()
    responses: Annotated[
        tuple[Path, ...],
        Opt("A file of responses, such as the authors' outputs; it is scored. Repeatable.", WHAT),
    ] = ()
    only: Annotated[tuple[str, ...], Opt("Only this table or figure. Repeatable.", WHAT)] = ()
    readings: Annotated[
        Literal["corrected", "all"],
        Opt("Readings of the gold beside the published one: corrected, or all.", WHAT),
    ] = "corrected"
    rows: Annotated[
        tuple[str, ...],
        Opt(
            "The paper's row with which a model is compared. Repeatable.",
            WHAT,
            "--row",
            metavar="MODEL=ROW",
        ),
    ] = ()
    out: Annotated[
        Path | None, Opt("The folder; default: runs/reproduce-PAPER. The same command continues.")
    ] = None
    run: Annotated[Mapping[str, Any], OptionGroup(RunOptions, only=FROM_RUN, help=HELP)] = field(
        default_factory=dict
    )
    """Those options of each run that the user gives."""
    web: WebOptions = field(default_factory=WebOptions)
    parameters: Annotated[Mapping[str, JsonValue], OptionGroup(ModelParameters)] = field(
        default_factory=dict
    )
    calls: Annotated[CallOptions, OptionGroup(only=LIMITS)] = field(default_factory=CallOptions)
    """Limits of each run."""


@dataclass(frozen=True, slots=True)
class ReproduceResult:
    """What came of it."""

    paper: Reproduction
    out: Path
    results: tuple[ExperimentResult, ...]
    stopped: str = ""
    """Why the runs stopped early; "" if they did not."""


AUTHORS = "authors' scorer"
"""Names the evidence that the authors' own scorer gives, among the readings of the gold."""
Progress = Callable[[], AbstractContextManager[Listener]]
"""Opens the report of one run's progress."""


REPRODUCTIONS = Registry(
    "paper",
    "reproductions",
    "a Reproduction",
    lambda thing, name: thing if isinstance(thing, Reproduction) else None,
)
"""By the name of the task."""


def load_reproduction(name: str) -> Reproduction:
    """The paper of this task; ConfigError lists the known ones."""
    known = {e.name: e for e in REPRODUCTIONS.installed_entries() if e.name in FAMILIES.names()}
    if name not in known:
        raise ConfigError(f"no paper '{name}'; known: {', '.join(known) or 'none'}")
    return REPRODUCTIONS.loaded(known[name])


async def forecast(
    options: ReproduceOptions, progress: Progress, note: Callable[[str], None]
) -> str:
    """What the runs that are not begun will use, for users."""
    work, _ = await _prepared(options, progress, note)
    return await work.forecast()


async def reproduce(
    options: ReproduceOptions, progress: Progress, note: Callable[[str], None]
) -> ReproduceResult:
    """Runs, scores and measures; the caller writes the result."""
    work, paper_row = await _prepared(options, progress, note)
    note(await work.forecast())
    for experiment in work.chosen:
        await work.run(experiment.setups)
    results = tuple(work.measure(experiment, paper_row) for experiment in work.chosen)
    return ReproduceResult(work.paper, work.out, results, work.stopped)


async def _prepared(
    options: ReproduceOptions, progress: Progress, note: Callable[[str], None]
) -> tuple[_Work, Mapping[str, str]]:
    """What is to be run, and the paper's row of each model; ConfigError for wrong options."""
    paper = load_reproduction(options.paper)
    chosen = _chosen(paper, options.only)
    named = options.models or (() if options.responses else ("reference",))
    models = await resolve_models(named, options.run.get("api_key_envs", ()))
    # the paper's row of each model, by its name with and without provider and address
    rows = {row for experiment in paper.experiments for row in experiment.published}
    known = {**{row: row for row in rows}, **paper.models}
    paper_row = dict(known)
    for model in models:
        bare = model.partition("@")[0]
        own = known.get(bare) or known.get(bare.partition("/")[2]) or known.get(bare.split("/")[-1])
        if own:
            paper_row[model] = own
    for text in options.rows:
        model, equals, row = text.rpartition("=")
        if not equals or row not in {*rows, *paper.models.values()}:
            names = ", ".join(sorted({*paper.models.values()} or rows))
            raise ConfigError(f"--row {text}: write MODEL=ROW with a row of the paper: {names}")
        paper_row[model] = row
    given = {k: v for k, v in options.run.items() if k in ("base_url", "api_key_envs")}
    server = RunOptions(options.paper, parameters=options.parameters, **given)
    for one in server.addressed(models):
        make_model(one.model, one.base_url, one.parameters, one.plugins)
    out = options.out or Path("runs") / f"reproduce-{options.paper}"
    sets = QuestionSets(paper, options.files, options.run, out)
    needed = {name for experiment in chosen for name in experiment.setups}
    sets.check_options(setup for setup in paper.setups if setup.name in needed)
    sets.read_files(note)
    work = _Work(paper, options, chosen, sets, models, out, progress, note)
    work.read_responses()
    check_plan(out, sets.plan(options.paper))  # which writes it
    return work, paper_row


def _chosen(paper: Reproduction, names: Sequence[str]) -> tuple[Experiment, ...]:
    known = {experiment.name: experiment for experiment in paper.experiments}
    if unknown := next((name for name in names if name not in known), ""):
        raise ConfigError(f"--only {unknown}: the paper has {', '.join(known)}")
    return tuple(each for each in paper.experiments if not names or each.name in names)


def _with_scorer(task: Task, reading: str) -> Task:
    """The task; with the scorer that its authors published, where that is asked for."""
    return task.by_authors() if reading == AUTHORS else task


@dataclass(slots=True)
class _Work:
    """What has been run so far."""

    paper: Reproduction
    options: ReproduceOptions
    chosen: Sequence[Experiment]
    sets: QuestionSets
    models: Sequence[str]
    out: Path
    progress: Progress
    note: Callable[[str], None]
    stopped: str = ""
    setups: dict[str, Setup] = field(default_factory=dict)
    """Those that were tried."""
    runs: dict[str, list[Run]] = field(default_factory=dict)
    answered: dict[str, list[ResponseFile]] = field(default_factory=dict)
    problems: dict[str, dict[str, str]] = field(default_factory=dict)
    """By setup and model, why there is no run."""
    scored: dict[str, Evidence] = field(default_factory=dict)
    """By reading of the gold or AUTHORS, for as long as no run is added."""

    def read_responses(self) -> None:
        """The user's response files, by the setups of their rows."""
        names = [setup.name for setup in self.paper.setups]
        read = self.paper.read_responses or (lambda path: read_response_lines(path, names))
        for path in self.options.responses if self.paper.reads_responses else ():
            file = read(path)
            for setup in dict.fromkeys(row.setup for row in file.rows):
                self.answered.setdefault(setup, []).append(file)

    async def forecast(self) -> str:
        """What the runs that are not begun will use, for users; without scripts, those that depend
        on results, and those that cannot be run."""
        setups = self._setups([name for each in self.chosen for name in each.setups])
        runs = []
        for setup, model in [(each, model) for each in setups for model in self._models(each)]:
            if model in ours("policies"):
                continue
            with suppress(AgentEnvError):  # the run says it
                one, _ = self.sets.run_options(setup, self._options(setup, model))
                if one.out is None or not one.out.exists():
                    runs.append(one)
        limits = "--limit, --only, --run-tokens and --run-cost-usd limit it"
        return f"{await forecast_text(runs)}; {limits}" if runs else "no new run costs anything"

    def _setups(self, names: Sequence[str]) -> list[Setup]:
        known = {setup.name: setup for setup in self.paper.setups}
        return [known[name] for name in dict.fromkeys(names)]

    def _models(self, setup: Setup) -> Sequence[str]:
        return self.models[:1] if setup.is_first_model_only else self.models

    async def run(self, names: Sequence[str]) -> None:
        """Every model under the setups of these names, unless it was asked."""
        for setup in self._setups(names):
            if setup.name in self.setups:
                continue
            self.setups[setup.name] = setup
            for model in self._models(setup):
                if not self.stopped:
                    await self._ask(setup, model)

    async def _ask(self, setup: Setup, model: str) -> None:
        """One run; what keeps it from being made is noted, a limit stops all others."""
        self.scored.clear()
        self.note(f"{setup.name}: {model}")
        try:
            options, data = self.sets.run_options(setup, self._options(setup, model))
            with self.progress() as listener:
                run = await begin_or_continue(options, data, listener)
        except RunStopped as exc:
            self.stopped = str(exc)
            run = Run(options.out or self.out)
        except AgentEnvError as exc:
            self.problems.setdefault(setup.name, {})[model] = str(exc)
            self.note(f"{setup.name}: {model}: {exc}")
            return
        self.runs.setdefault(setup.name, []).append(run)

    def _options(self, setup: Setup, model: str) -> RunOptions:
        given = dict(self.options.run)
        given["options"] = with_own(setup.run.options, self.sets.options_of(setup.questions))
        given.pop("limit", None)  # of the questions
        slug = "".join(c if c.isalnum() or c in "._-" else "-" for c in model)
        one = replace(
            setup.run,
            **given,
            model=model,
            out=self.out / "runs" / setup.name / slug,
            web=self.options.web if self.options.web != WebOptions() else setup.run.web,
            parameters={**setup.run.parameters, **self.options.parameters},
            calls=self.options.calls,
            preflight="on",
        )
        return next(o for o in replace(one, model=model).addressed([model]))

    def evidence(self, reading: str = "") -> Evidence:
        """Everything scored, by a reading of the gold or by the samples' own, or by the scorers
        that the authors published (AUTHORS)."""
        if reading not in self.scored:
            self.scored[reading] = self._evidence(reading)
        return self.scored[reading]

    def _evidence(self, reading: str) -> Evidence:
        runs: dict[str, list[RunData]] = {}
        tasks: dict[str, Task] = {}
        for setup in self.setups:
            for run in self.runs.get(setup, ()):
                task = _with_scorer(run.task, reading)
                runs.setdefault(setup, []).append(self._scored(run, task, reading))
                tasks[setup] = task
            if setup in self.answered:
                own, task = self._responses(setup, reading)
                runs.setdefault(setup, []).extend(own)
                tasks.setdefault(setup, task)
        folders = {name: [run.path for run in own] for name, own in self.runs.items()}
        return Evidence(runs, tasks, self.sets.files, self.options.responses, self.note, folders)

    def _scored(self, run: Run, task: Task, reading: str) -> RunData:
        name = run.path.name
        if not reading:
            return run.data(self.note, name)
        read = self.sets.read_as(run.samples, reading)
        recorded = run.recordings(lambda reason: None)
        episodes = (recording.episode for _, recording in recorded)
        scored = ((episode, read.score(task, episode)) for episode in episodes)
        manifest = run.manifest
        return RunData.of(name, manifest, read.samples, scored, manifest.model_facts)

    def _responses(self, setup: str, reading: str) -> tuple[list[RunData], Task]:
        known = self.sets.of_file(self.setups[setup].questions)
        files = self.answered[setup]
        samples = (
            known.samples if known else tuple({s.id: s for f in files for s in f.samples}.values())
        )
        options = self._options(self.setups[setup], "reference")
        task = _with_scorer(task_of(options, known.tables_by_digest if known else {}), reading)
        rows = [row for file in files for row in file.rows if row.setup == setup]
        read = self.sets.read_as(samples, reading)
        return response_runs(setup, rows, read, task, self.note), task

    def measure(self, experiment: Experiment, paper_row: Mapping[str, str]) -> ExperimentResult:
        """The experiment's figures beside the paper's, with notes."""
        readings = [
            each
            for each in self.sets.readings(experiment, self.setups, self.runs, self.answered)
            if self.options.readings in (each, "all")
        ]
        ours = [] if experiment.measure is None else self._measurements(experiment, readings)
        # what is said of each scripted model that cannot read the questions
        runs = self.evidence().runs
        lost = {
            run.manifest.model: self._lost_script(name, run, self.evidence().tasks[name])
            for name in experiment.setups
            for run in runs.get(name, ())
        }
        ours = [(gold, replace(m, remark=lost.get(m.row) or m.remark)) for gold, m in ours]
        reason, theirs = self._incomparable(experiment), self._by_authors(experiment)
        rows = comparison_rows(ours, experiment, paper_row, reason, theirs)
        about_gold = (f"{SAME_LEFT_OUT}: {', '.join(readings)}.",) if readings else ()
        notes = (*experiment.notes, *about_gold, *self._notes(experiment))
        result = ExperimentResult(experiment, rows, notes, experiment.not_reproduced)
        if experiment.measure is None or result.is_reproduced:
            return result
        return replace(result, not_reproduced=self._reason(experiment))

    def _measurements(
        self, experiment: Experiment, readings: Sequence[str]
    ) -> list[tuple[str, Measurement]]:
        """Ours by the files' own gold, then under each other reading what differs from it; whole
        curves."""
        assert experiment.measure is not None
        own = list(experiment.measure(self.evidence()))
        ours = [(self.paper.gold if readings else "", each) for each in own]
        for reading in readings:
            measured = [
                each
                for each in experiment.measure(self.evidence(reading))
                if self.options.readings == "all" or not each.row.startswith(Shortcut.ROW)
            ]
            changed = {(each.row, each.model) for each in measured if each not in own}
            ours += [
                (reading, each)
                for each in measured
                if (each.row, each.model) in changed and (experiment.is_curve or each not in own)
            ]
        return ours

    def _by_authors(self, experiment: Experiment) -> dict[Key, Estimate]:
        """Ours by the scorers that the authors published, for the files' own gold."""
        own = self.evidence()
        has_scorer = any(
            own.tasks[name].authors_scorer for name in experiment.setups if name in own.tasks
        )
        if experiment.measure is None or not has_scorer:
            return {}
        measured = experiment.measure(self.evidence(AUTHORS))
        return {(m.row, m.model, m.quantity): m.estimate for m in measured if m.estimate.samples}

    def _incomparable(self, experiment: Experiment) -> Callable[[Measurement], str]:
        """Why a measurement cannot be compared with the paper's value; "" where it can."""
        evidence = self.evidence()
        reasons = {
            (setup, run.manifest.model): self._other_questions(setup, run, evidence.tasks[setup])
            for setup in experiment.setups
            for run in evidence.runs.get(setup, ())
        }

        def reason(each: Measurement) -> str:
            own = {k: v for k, v in reasons.items() if not each.setup or k[0] == each.setup}
            named = [v for (_, model), v in own.items() if model in (each.model, each.row)]
            every = named or own.values()
            return experiment.incomparable or next((text for text in every if text), "")

        return reason

    def _lost_script(self, setup: str, run: RunData, task: Task) -> str:
        """That the model is a script which does not know the wording of published questions; ""
        where it is none, or answers one of them."""
        model, is_of_file = run.manifest.model, self.setups[setup].questions in self.sets.files
        if model not in load_family(task.name).policies or not is_of_file:
            return ""
        observed = [each for own in run.observations.values() for each in own]
        if any(each.metrics.get(task.right_metric) for each in observed):
            return ""
        return f"{model} is a script, which cannot read these questions"

    def _other_questions(self, name: str, run: RunData, task: Task) -> str:
        """How model or questions of a run differ from the paper's."""
        setup = self.setups[name]
        population = setup.population
        if run.manifest.model in load_family(task.name).policies:
            return self._lost_script(name, run, task) or f"{run.manifest.model} is a script"
        if population is None:
            return ""
        is_asked = bool(run.manifest.samples_digest)  # not read from a file of responses
        if is_asked and self.sets.is_generated(setup.questions):
            return f"questions are generated, the paper's are {population.words}"
        answered = [{o.sample for o in own if o.counts} for own in run.observations.values()]
        common = set[str].intersection(*answered) if answered else set()
        samples = [run.samples[each] for each in sorted(common)]
        return population.mismatch(samples, task.analysis.groups)

    def _reason(self, experiment: Experiment) -> str:
        problems = [
            f"{setup}, {model}: {problem}"
            for setup in experiment.setups
            for model, problem in self.problems.get(setup, {}).items()
        ]
        return "; ".join(problems) or self.stopped or "no response of a model to its questions"

    def _notes(self, experiment: Experiment) -> list[str]:
        notes: dict[str, None] = {}
        for name in experiment.setups:
            setup = self.setups[name]
            if self.runs.get(name):
                notes |= dict.fromkeys((*self.sets.notes(setup), *setup.notes))
            for model, problem in self.problems.get(name, {}).items():
                notes[f"{name}, {model}: not run: {problem}"] = None
        return list(notes)
