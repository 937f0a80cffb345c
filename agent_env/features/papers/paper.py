"""What is declared of a paper: questions, setups to run, experiments to measure.

An entry point of `agent_env.reproductions`, named like the task, gives the `Reproduction`. The
engine makes or reads each set of `Questions` once, asks every model under each `Setup` that the
chosen experiments need, and calls `Experiment.measure` with the `Evidence`; a paper writes no loop,
file or page.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_env.sdk.family import SampleSet, Task
from agent_env.sdk.records import Sample
from agent_env.sdk.results import Arm, Comparison, Estimate, Measurement, RunData, Study
from agent_env.sdk.run import RunOptions

if TYPE_CHECKING:
    from agent_env.features.papers.responses import ResponseFile


@dataclass(frozen=True, slots=True)
class Quantity:
    """A column of a paper's table or figure."""

    name: str
    unit: str = "%"
    """Quantities of one unit share a panel of the figure."""
    digits: int = 1
    x: float | None = None
    """Its place on the axis where the paper draws a curve."""
    metric: str = ""
    """What it is a mean of, where `Evidence.figures` computes it; "" for the task's main metric."""
    group: str = ""
    """The breakdown of which it has one value; "" for all samples."""
    value: str = ""
    """That value; "" for one of the quantity's name."""


@dataclass(frozen=True, slots=True)
class Questions:
    """A set of questions: the authors' file where the user has it, else generated."""

    name: str
    """As in `--dataset NAME=FILE`."""
    task: str
    about: str
    """What the authors' file is, in a few words."""
    count: int = 100
    """The paper's number of questions, which are generated without `--limit`."""
    options: tuple[str, ...] = ()
    """KEY=VALUE of the family, for generated questions."""
    printed: Callable[[], SampleSet] | None = None
    """Makes the questions where the paper prints them; then none are generated."""
    read: Callable[[Path], SampleSet] | None = None
    """Reads the authors' file; None: as `run --dataset` does."""


@dataclass(frozen=True, slots=True)
class Population:
    """The questions over which the paper computed its values."""

    words: str
    """Such as `600 puzzles, 100 for each number of solutions from 1 to 6`."""
    count: int
    """Number of questions."""
    groups: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Number of questions by value, for each breakdown of the family that the paper states."""

    def mismatch(self, samples: Sequence[Sample], groups_of: GroupsOf) -> str:
        """How these questions differ from the paper's; "" where they do not as far as is known."""
        if len(samples) != self.count:
            return f"{len(samples):,} questions, the paper's are {self.words}"
        for name, counts in self.groups.items():
            own = Counter(value for sample in samples for value in groups_of(sample).get(name, ()))
            for value in (*counts, *own):
                if own[value] != counts.get(value, 0):
                    return (
                        f"{own[value]:,} questions with {name} {value}, the paper's are "
                        f"{self.words}"
                    )
        return ""


GroupsOf = Callable[[Sample], Mapping[str, tuple[str, ...]]]


@dataclass(frozen=True, slots=True)
class Setup:
    """How every model is asked: one run for each model."""

    name: str
    questions: str
    """The name of its `Questions`."""
    run: RunOptions
    """Conditions, prompt, strategy, options, `where`. Model, questions and folder come from the
    engine, and what the user says of the run takes precedence."""
    population: Population | None = None
    """The paper's questions under this setup; None where its tables print no values."""
    is_first_model_only: bool = False
    """Whether only the first model is asked."""
    notes: tuple[str, ...] = ()
    """What differs from the paper's setup."""


class Evidence:
    """What the experiments measure: scored runs by setup, files of the user's."""

    def __init__(
        self,
        runs: Mapping[str, Sequence[RunData]],
        tasks: Mapping[str, Task],
        files: Mapping[str, Path],
        responses: Sequence[Path],
        note: Callable[[str], None] = lambda text: None,
        folders: Mapping[str, Sequence[Path]] | None = None,
    ) -> None:
        self.runs = {name: tuple(own) for name, own in runs.items()}
        """By setup: one for each model, those of response files included."""
        self.tasks = tasks
        """By setup."""
        self.files = files
        """The authors' files, by the name of their questions."""
        self.responses = tuple(responses)
        """The user's response files, where the family reads them itself."""
        self.folders = {name: tuple(own) for name, own in (folders or {}).items()}
        """By setup: the runs' folders, for a family that reads the answers themselves."""
        self.note = note
        self._compared = cache(self._compare)

    def each(self, setup: str) -> Sequence[Comparison]:
        """The comparison of each model's run alone, over all of its own samples."""
        names = [run.name for run in self.runs.get(setup, ())]
        return [self._compared(setup, (name,)) for name in names]

    def together(self, setup: str) -> Comparison | None:
        """All models in one comparison, over their common samples; None where none was run."""
        names = tuple(run.name for run in self.runs.get(setup, ()))
        return self._compared(setup, names) if names else None

    def figures(
        self, setup: str, quantities: Sequence[Quantity], shortcuts: bool = False
    ) -> Iterator[tuple[Arm, str, Estimate]]:
        """Quantities of which there are samples, of each condition of each model, or of the
        shortcuts over the first model's samples; in percent where the unit is."""
        for comparison in self.each(setup)[: 1 if shortcuts else None]:
            arms = comparison.shortcut_arms if shortcuts else comparison.study.arms
            parts: dict[tuple[str, str], Mapping[str, Sequence[Estimate]]] = {}
            found: dict[Quantity, Sequence[Estimate]] = {}
            for each in quantities:
                key = each.group, each.metric or comparison.metric
                if key not in parts and each.group:
                    parts[key] = comparison.by_group(*key, arms)
                elif key not in parts and shortcuts:
                    parts[key] = {"": comparison.estimates_over(arms, key[1])}
                elif key not in parts:
                    parts[key] = {"": comparison.estimates_of(key[1])}
                found[each] = parts[key].get(each.group and (each.value or each.name), ())
            for k, arm in enumerate(arms):
                for each, estimates in found.items():
                    if estimates:
                        yield arm, each.name, estimates[k].times(100 if "%" in each.unit else 1)

    def _compare(self, setup: str, names: tuple[str, ...]) -> Comparison:
        task = self.tasks[setup]
        chosen = [run for run in self.runs[setup] if run.name in names]
        return Comparison(Study.of(chosen, task))


@dataclass(frozen=True, slots=True)
class PublishedValues:
    """The values that a paper prints, and the models that it asked."""

    tables: Mapping[str, Mapping[str, tuple[float | None, ...]]]
    """By table and row; None where the paper prints none."""
    models: Mapping[str, str]
    """Names under which models are asked, without provider, and their rows in the paper."""

    @classmethod
    def beside(cls, module_file: str) -> PublishedValues:
        """Reads the `published.toml` beside a module, where "-" stands for no value."""
        tables = _toml(module_file, "published.toml")
        models = tables.pop("models", {})
        return cls(
            {
                table: {
                    row: tuple(None if value == "-" else value for value in values)
                    for row, values in rows.items()
                }
                for table, rows in tables.items()
            },
            models,
        )


@dataclass(frozen=True, slots=True)
class Experiment:
    """One table or figure of the paper."""

    name: str
    """For `--only` and file names, such as table1."""
    title: str
    quantities: tuple[Quantity, ...]
    published: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)
    """The paper's figures by row, one for each quantity; None where it prints none."""
    setups: tuple[str, ...] = ()
    """Names of the setups that it needs."""
    measure: Callable[[Evidence], Iterable[Measurement]] | None = None
    """Our figures; None where the experiment cannot be run."""
    not_reproduced: str = ""
    """Why it cannot be run, where `measure` is None."""
    incomparable: str = ""
    """Why no value of ours can be compared with the paper's."""
    notes: tuple[str, ...] = ()
    """What a reader must know of the comparison."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """What the family's measure needs to know of it."""

    def span(self, quantity: Quantity) -> str | None:
        """The least and the largest value of the paper's rows; None where it prints none."""
        place = self.quantities.index(quantity)
        known = [v for values in self.published.values() if (v := values[place]) is not None]
        ends = dict.fromkeys(f"{end:g}" for end in (min(known), max(known))) if known else ()
        return " to ".join(ends) or None

    @property
    def is_curve(self) -> bool:
        """Whether all quantities have a place on an axis."""
        return all(quantity.x is not None for quantity in self.quantities)


@dataclass(frozen=True, slots=True)
class Reproduction:
    """A paper."""

    title: str
    source: str
    """Authors, year, where it is published."""
    questions: tuple[Questions, ...]
    setups: tuple[Setup, ...]
    experiments: tuple[Experiment, ...]
    """In the order of the paper; those that cannot be run too, with the reason."""
    models: Mapping[str, str] = field(default_factory=dict)
    """Names under which models are asked, without provider, and their rows in the paper."""
    read_responses: Callable[[Path], ResponseFile] | None = None
    """Reads a response file, such as the authors' own outputs; None: JSON lines that name a
    setup."""
    reads_responses: bool = True
    """False where `measure` reads `Evidence.responses` itself."""
    readings: Callable[[Sequence[Sample]], Mapping[str, Sequence[Sample]]] | None = None
    """Other readings of the gold answers of a file's questions, by name, such as `corrected`: the
    questions that have another gold under it. A question may stand several times; then each answer
    has its best score over them. Everything is measured again under each reading."""
    gold: str = "published"
    """The name of the file's own reading."""

    @classmethod
    def beside(
        cls,
        module_file: str,
        measures: Mapping[str, Callable[[Experiment, Evidence], Iterable[Measurement]]],
        questions: Mapping[str, Mapping[str, Callable[..., SampleSet]]] | None = None,
        **own: Any,
    ) -> Reproduction:
        """Reads the `paper.toml` and the `published.toml` beside a module.

        An experiment names one of the `measures`, which takes the experiment too; `questions` are
        fields of `Questions` by name, `own` those of the paper. Of the file: an entry that is
        `like` an earlier one has its fields, but for those of its own; a setup with `each` is one
        setup for each of these texts, which stands for `{}`; a note that names one of `notes` is
        that text; a quantity with several `x` is one for each, which stands for `{}` in its name;
        what an experiment says of unit, digits, group and metric is of all its quantities, and its
        values are those of the published table of its name.
        """
        paper, published = _toml(module_file, "paper.toml"), PublishedValues.beside(module_file)
        texts = paper.pop("notes", {})
        for kind in ("questions", "setups", "experiments"):
            known: dict[str, dict[str, Any]] = {}
            for entry in paper[kind]:
                known[entry["name"]] = known.get(entry.pop("like", ""), {}) | entry
                entry |= known[entry["name"]]
        for entry in (*paper["setups"], *paper["experiments"]):
            entry["notes"] = tuple(texts.get(note, note) for note in entry.get("notes", ()))
        sets = {
            entry["name"]: Questions(**entry | dict((questions or {}).get(entry["name"], {})))
            for entry in paper.pop("questions")
        }
        populations = {k: Population(**v) for k, v in paper.pop("populations", {}).items()}
        return cls(
            questions=tuple(sets.values()),
            setups=tuple(
                _setup({k: _filled(v, text) for k, v in entry.items()}, sets, populations)
                for entry in paper.pop("setups")
                for text in entry.pop("each", ("",))
            ),
            experiments=tuple(
                _experiment(entry, published.tables.get(entry["name"], {}), measures)
                for entry in paper.pop("experiments")
            ),
            models=published.models,
            **paper,
            **own,
        )


def _setup(
    entry: dict[str, Any], sets: Mapping[str, Questions], populations: Mapping[str, Population]
) -> Setup:
    own = {
        name: entry.pop(name)
        for name in ("name", "questions", "is_first_model_only", "notes")
        if name in entry
    }
    population = populations.get(entry.pop("population", ""))
    run = RunOptions(sets[own["questions"]].task, **{"conditions": ("base",)} | entry)
    return Setup(run=run, population=population, **own)


def _filled(value: Any, text: str) -> Any:
    return value.format(text) if isinstance(value, str) else value


def _experiment(
    entry: dict[str, Any],
    published: Mapping[str, tuple[float | None, ...]],
    measures: Mapping[str, Callable[[Experiment, Evidence], Iterable[Measurement]]],
) -> Experiment:
    measure = entry.pop("measure", None)
    common = {k: entry.pop(k) for k in ("unit", "digits", "group", "metric") if k in entry}
    quantities = tuple(
        Quantity(**common | own | {"name": own["name"].format(x), "x": x})
        for each in entry.pop("quantities", ())
        for own in [each if isinstance(each, dict) else {"name": each}]
        for x in (own["x"] if isinstance(own.get("x"), tuple) else [own.get("x")])
    )
    experiment = Experiment(quantities=quantities, published=published, **entry)
    if measure is None:
        return experiment
    return replace(experiment, measure=partial(measures[measure], experiment))


def _toml(module_file: str, name: str) -> dict[str, Any]:
    """The tables of a file beside a module, with tuples in place of arrays."""
    text = Path(module_file).with_name(name).read_text(encoding="utf-8")
    tables: dict[str, Any] = _frozen(tomllib.loads(text))
    return tables


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _frozen(each) for key, each in value.items()}
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
