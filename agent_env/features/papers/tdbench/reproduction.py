"""The experiments of the TDBench paper, for `study reproduce tdbench`, with the authors' files
as their questions and the corrected gold of these."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path

from agent_env.families.tdbench.sample import (
    Certificate,
    GoldRow,
    TdbenchSample,
    cardinality_of,
    tdbench_sample,
)
from agent_env.features.papers.paper import Evidence, Experiment, Reproduction
from agent_env.features.papers.tdbench.authors_scorer import paper_domain
from agent_env.features.papers.tdbench.published import PublishedSet, read_published
from agent_env.features.papers.tdbench.published_samples import published_samples
from agent_env.sdk.errors import DatasetError
from agent_env.sdk.family import SampleSet
from agent_env.sdk.records import Sample
from agent_env.sdk.results import Estimate, Measurement

MEDICAL = ("medical", "health", "hospital", "stays")
Filter = Callable[[TdbenchSample], bool]


def _is_medical(sample: TdbenchSample) -> bool:
    return any(word in sample.domain.casefold() for word in MEDICAL)


FILTERS: Mapping[str, Filter] = {
    "alignment": lambda sample: sample.kind == "current",
    "reasoning": lambda sample: sample.kind == "relation" and not _is_medical(sample),
    "reasoning-closed": lambda sample: sample.kind == "relation" and not _is_medical(sample),
    "multi-hop": lambda sample: sample.kind == "hops",
    "medical": lambda sample: sample.kind == "relation" and _is_medical(sample),
}
"""Which of a folder's questions belong to each set."""


def read_part(is_part: Filter, path: Path) -> SampleSet:
    """The questions of one set: from a published folder, with the published gold where it differs,
    or from a samples file; DatasetError where there are none."""
    if path.is_dir():
        made = published_samples(_folder(path.resolve()), None, "stored")
    else:
        made = SampleSet.read(path, TdbenchSample)
    chosen = tuple(sample for sample in made.samples if is_part(tdbench_sample(sample)))
    if not chosen:
        raise DatasetError(path, None, "holds no question of this set")
    used = {digest for sample in chosen for digest in sample.materials}
    return SampleSet(chosen, tuple(table for table in made.tables if table.digest in used))


def certified(experiment: Experiment, evidence: Evidence) -> Iterator[Measurement]:
    """How many stored results come out of each of the user's folders or imported files, and of each
    question file in it."""
    column = experiment.quantities[0].name
    every = {path: _certificates(path) for path in map(Path.resolve, evidence.files.values())}
    if not any(every.values()):
        yield Measurement("no file", column, Estimate(None, method="questions are generated"))
    for path, certificates in every.items():
        own = list({(each.folder, each.file, each.reading): each for each in certificates}.values())
        parts = [(f"{path.name}: {each.file}", [each], f"; {each.reading}") for each in own]
        for row, part, reading in [(path.name, own, ""), *parts] if own else []:
            stored, right = sum(c.stored for c in part), sum(c.reproduced for c in part)
            ours = Estimate(100 * right / stored, None, None, "a count", stored)
            yield Measurement(row, column, ours, remark=f"{right:,} of {stored:,}{reading}")


def _certificates(path: Path) -> list[Certificate]:
    if path.is_dir():
        return [
            Certificate(
                file=f"{proof.file} ({proof.group})", folder=path.name,
                reading=proof.reading.words, stored=proof.stored, reproduced=proof.reproduced,
                agrees=True,
            )
            for proof in _folder(path).proofs
        ]  # fmt: skip
    samples = map(tdbench_sample, SampleSet.read(path, TdbenchSample).samples)
    return [sample.certificate for sample in samples if sample.certificate is not None]


@lru_cache(maxsize=2)
def _folder(path: Path) -> PublishedSet:
    """Read once for all sets of questions: proving a folder takes most of the time."""
    return read_published(path, None)


def corrected_gold(samples: Sequence[Sample]) -> Mapping[str, Sequence[Sample]]:
    """The questions with the gold that their statements return, where it differs."""
    changed = [
        _with_gold(own, own.certificate.returned)
        for own in map(tdbench_sample, samples)
        if own.certificate is not None and own.certificate.gold == "stored"
    ]
    return {"corrected": changed} if changed else {}


def _with_gold(sample: TdbenchSample, rows: Sequence[GoldRow]) -> TdbenchSample:
    gold = tuple(dict.fromkeys(row.answer for row in rows))
    every = dict.fromkeys((*sample.others, *sample.gold))
    return sample.model_copy(
        update={
            "gold": gold,
            "golds": tuple(rows),
            "cardinality": cardinality_of(len(gold)),
            "others": tuple(answer for answer in every if answer not in gold),
        }
    )


SHORTCUTS_SHOWN = ("constant", "latest-row", "ignore-time", "oracle")
IN_FIGURES = ("constant", "latest-row")
"""Those of a figure of many points."""
PROMPTS = {"default": "original", "retrieval": "RAG", "cot": "CoT", "time-cot": "Time-CoT"}
COUNTRIES = ("country", "countries", "leader", "offices")
SPAN_YEARS = 5


def measured(experiment: Experiment, evidence: Evidence) -> Iterator[Measurement]:
    """The columns that the paper has, by model, then by shortcut over the same questions, in
    percent of the finished answers for which a metric is defined, with intervals over queries."""
    names = IN_FIGURES if experiment.name.startswith("figure") else SHORTCUTS_SHOWN
    models: Rows = defaultdict(lambda: defaultdict(list))
    shortcuts: Rows = defaultdict(lambda: defaultdict(list))
    for setup in experiment.setups:
        # the prompt of response files is their own
        prompt = next(PROMPTS[each.run.prompt] for each in PAPER.setups if each.name == setup)
        asked: dict[str, TdbenchSample] = {}
        for comparison in evidence.each(setup):
            samples = {sample.id: tdbench_sample(sample) for sample in comparison.study.samples}
            for arm in comparison.study.arms:
                for one in arm.finished:
                    asked[one.sample] = samples[one.sample]
                    _add(models[arm.model], experiment, asked[one.sample], prompt, one.metrics)
        for comparison in evidence.each(setup)[:1]:
            for arm in comparison.study.shortcuts(tuple(asked.values())):
                for one in arm.observations if arm.label.partition(" ")[2] in names else ():
                    _add(shortcuts[arm.label], experiment, asked[one.sample], prompt, one.metrics)
    for row, columns in (*models.items(), *shortcuts.items()):
        for name in (quantity.name for quantity in experiment.quantities):
            if values := columns.get(name):
                yield Measurement(row, name, Estimate.of_mean(values).times(100))


Rows = defaultdict[str, dict[str, list[tuple[str, float]]]]
"""Values with their queries, by row and column."""


def _add(
    row: dict[str, list[tuple[str, float]]], experiment: Experiment, sample: TdbenchSample,
    prompt: str, metrics: Mapping[str, float],
) -> None:  # fmt: skip
    """An answer's values, in the columns whose names the experiment makes of its parts."""
    about, starts = experiment.about, [gold.start for gold in sample.golds]
    year = int(min(starts)[:4]) // SPAN_YEARS * SPAN_YEARS if starts else 0
    parts = {
        "domain": paper_domain(sample.domain),
        "country": any(word in sample.domain.casefold() for word in COUNTRIES),
        "cardinality": sample.cardinality,
        "relation": sample.relation,
        "hops": len(sample.hops),
        "span": f"{year}-{year + SPAN_YEARS - 1}",
        "prompt": prompt,
    }
    a, at = metrics.get("answer"), metrics.get("answer_time")
    values = {
        "A": a, "T": metrics.get("time"), "AT": at, "AT or A": a if at is None else at,
        "Δ": None if a is None or at is None else a - at,
        **{f"H{n}": metrics.get(f"hallucination_{n}") for n in (1, 2)},
    }  # fmt: skip
    own = {metric: values[metric] for metric in about["metrics"]}
    is_whole = None not in own.values() or not about.get("together")
    if is_whole and all(parts[part] == value for part, value in about.get("only", {}).items()):
        for metric, value in own.items():
            if value is not None:
                column = about["column"].format(metric=metric, **parts)
                row[column].append((sample.query, value))


PAPER = Reproduction.beside(
    __file__,
    measures={"answers": measured, "certified": certified},
    questions={name: {"read": partial(read_part, each)} for name, each in FILTERS.items()},
    readings=corrected_gold,
)
