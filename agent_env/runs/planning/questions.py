"""What a run asks: its task and its samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_env.errors import ConfigError, DatasetError, DatasetErrors
from agent_env.records.schema import Condition, Record, Sample
from agent_env.records.tier import Tier
from agent_env.registry import Plugins
from agent_env.runs.options.run_options import RunOptions
from agent_env.runs.planning.checks import check_tables, unworded
from agent_env.runs.planning.draft import Draft
from agent_env.runs.planning.ladder import rungs_of
from agent_env.tasks.conditions import LADDER
from agent_env.tasks.family import Family, Materials, SampleSet, by_digest
from agent_env.tasks.sample_files import parse_where, select
from agent_env.tasks.scorers import with_measures
from agent_env.tasks.templates import read_text_file, with_texts
from agent_env.wiring.registry import FAMILIES, policies

if TYPE_CHECKING:
    from agent_env.tasks.sample_files import Filter
    from agent_env.tasks.task import Task


DEFAULT_COUNT = 12
Note = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Questions:
    """What asks: a family, its options and the user's own texts."""

    options: RunOptions
    """Of the run; the prompt is the default one where the user's own stands for it."""
    family: Family
    own: Record
    """The family's options."""
    texts: dict[str, Any]
    """The user's own prompt and system text, by their entries in run.json."""
    tier: Tier | None

    @classmethod
    def of(cls, options: RunOptions) -> Questions:
        """ConfigError for a task, an option or a text that is not there."""
        family = options.plugins.find(FAMILIES, options.task)
        own, texts = family.read_options(options.options, options.difficulty), _texts(options)
        if texts["prompt_file"] is not None:
            options = replace(options, prompt="default")
        return cls(options, family, own, texts, family.tier_of(options.difficulty, own))

    def task(self, tables: Materials) -> Task:
        """The task over these tables, by the user's texts, scorer and metrics."""
        its = self.options
        task = self.family.make_task(its.prompt, self.own, tables)
        return with_measures(
            with_texts(task, *self.texts.values()), its.scorer, its.metrics, its.plugins
        )

    def draft(
        self, task: Task, conditions: tuple[Condition, ...], note: Note, plugins: Plugins
    ) -> Draft:
        """The conditions, rungs for a ladder, and the samples that they ask; ConfigError where
        there are none, or their tables are not those that a tool needs."""
        options = self.options
        made = select_samples(options, self.family, self.own, task, self.tier)
        for text in made.notes:
            note(text)
        check_tables(conditions, made, plugins)
        if made.tables:
            task = self.task(by_digest(made.tables))
        if LADDER in options.conditions:
            same = [each.name for each in unworded(task, conditions, made.samples)]
            conditions = rungs_of(conditions, same, made.samples, note)
        return Draft(options, task, conditions, made, note)


def check_script(options: RunOptions, family: Family) -> None:
    """ConfigError for a scripted model that has no policy for the family; before it, what is wrong
    with the file of questions."""
    model, known = options.model, family.policies if family.reference is not None else ()
    if model not in policies() or model in known:
        return
    if options.dataset is not None:
        samples_of(options)
    also = f"; scripts: {', '.join(known)}" if known else ""
    raise ConfigError(
        f"the script {model} cannot answer {family.name}; name a model: --model "
        f"http://HOST:PORT, openai/NAME or file.py:FUNCTION{also}"
    )


def _texts(options: RunOptions) -> dict[str, Any]:
    """The user's own prompt and system text, by their entries in run.json."""
    file = Path(options.prompt)
    is_name = not file.suffix and len(file.parts) == 1
    return {
        "prompt_file": None if is_name else read_text_file(file),
        "system_file": None if options.system is None else read_text_file(options.system),
    }


def task_of(options: RunOptions, tables: Materials) -> Task:
    """The task of these options under its default prompt, with their scorer and metrics."""
    return Questions.of(replace(options, prompt="default", system=None)).task(tables)


def samples_of(options: RunOptions) -> SampleSet:
    """The samples that a run with these options asks."""
    its = Questions.of(options)
    task = its.family.make_task(its.options.prompt, its.own, {})
    return select_samples(options, its.family, its.own, task, its.tier)


def select_samples(
    options: RunOptions, family: Family, family_options: Record, task: Task, tier: Tier | None
) -> SampleSet:
    """The samples of the dataset, or new ones; filtered, cut to the limit, with the tables that
    they name."""
    filters = [parse_where(text) for text in options.where]
    if options.dataset is not None:
        if tier is not None:
            raise ConfigError(
                f"--difficulty {tier.name} is for questions that are made, and --dataset has its "
                "own; leave one of them out"
            )
        sample_set = _read_dataset(options.dataset, family, family_options, task)
        selected = select(sample_set.samples, filters)
        defects = [each for sample in selected for each in sample_set.defects.get(sample.id, ())]
        if defects:
            raise DatasetErrors(options.dataset, defects)
        selected = selected[: options.limit]
    else:
        sample_set, selected = _generate(options, family, family_options, filters, tier)
    if not selected:
        raise ConfigError(f"no sample satisfies --where {' --where '.join(options.where)}")
    table_digests = {digest for sample in selected for digest in sample.materials}
    tables = by_digest(sample_set.tables)
    if missing := table_digests - set(tables):
        raise ConfigError(f"the samples name a table that is not there: {min(missing)[:12]}…")
    used = tuple(tables[digest] for digest in tables if digest in table_digests)
    notes = (*sample_set.notes, *family.other_ways(family_options, selected))
    return SampleSet(tuple(selected), used, notes=notes)


def _read_dataset(file: Path, family: Family, family_options: Record, task: Task) -> SampleSet:
    """A samples.jsonl with its materials beside it, or a set in a published format."""
    if (foreign := family.read_foreign(file, family_options)) is not None:
        return foreign
    sample_set = SampleSet.read(file, task.sample_type)
    stray = next((sample for sample in sample_set.samples if sample.task != task.name), None)
    if stray is not None:
        reason = f"sample '{stray.id}' is a question of {stray.task}, not of {task.name}"
        raise DatasetError(file, None, f"{reason}; run that task")
    return sample_set


def _generate(
    options: RunOptions, family: Family, family_options: Record, filters: Sequence[Filter],
    tier: Tier | None,
) -> tuple[SampleSet, list[Sample]]:  # fmt: skip
    """The requested number of samples that satisfy the filters, from at most 64 times as many."""
    count = options.limit or DEFAULT_COUNT
    sample_set, selected = SampleSet(()), list[Sample]()
    of_sets = [each for each in filters if each.field == "tier"]  # all samples of a set have one
    for factor in (1, 4, 16, 64) if filters else (1,):
        sample_set = family.make_tier(count * factor, options.seed, family_options, tier)
        selected = select(sample_set.samples, filters)
        if len(selected) >= count or not select(sample_set.samples[:1], of_sets):
            break
    if sample_set.missing and not selected:
        raise ConfigError(sample_set.missing[0])
    return sample_set, selected[:count]
