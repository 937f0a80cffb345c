"""The experiments of the TDBench paper, for `study reproduce tdbench`, with the authors' files
as their questions and the corrected gold of these."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from agent_env.features.papers.tdbench.paper_tables import (
    COUNTRIES,
    NAMES,
    Cells,
    Cut,
    ScoredAnswer,
    answers_of,
    by_cardinality,
    by_domain,
    by_hops,
    by_prompt,
    by_prompt_and_cardinality,
    by_relation,
    by_span,
    shortcut_answers,
)
from agent_env.features.papers.tdbench.paper_tables import measured as measured_columns
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


@dataclass(frozen=True, slots=True)
class ImportTally:
    """How many stored results of a file come out, or of all files of a folder."""

    name: str
    """The folder, and the file in it where the tally is of one."""
    stored: int
    reproduced: int
    reading: str = ""
    """How the file's database held its tables; "" for a folder."""


def import_tallies(paths: Sequence[Path]) -> list[ImportTally]:
    """For each folder, or imported file, one of the whole and one of each question file in it."""
    tallies: list[ImportTally] = []
    for path in dict.fromkeys(path.resolve() for path in paths):
        own = {(c.folder, c.file, c.reading): c for c in _certificates(path)}.values()
        if own:
            stored, reproduced = sum(c.stored for c in own), sum(c.reproduced for c in own)
            tallies.append(ImportTally(path.name, stored, reproduced))
            tallies += [
                ImportTally(f"{path.name}: {c.file}", c.stored, c.reproduced, c.reading)
                for c in own
            ]
    return tallies


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


def measured(experiment: Experiment, evidence: Evidence) -> Iterator[Measurement]:
    """The columns that the paper has, by model, then by shortcut."""
    cut, answers, by_shortcuts = (
        CUTS[experiment.about["cut"]],
        list[ScoredAnswer](),
        list[ScoredAnswer](),
    )
    shortcuts = IN_FIGURES if experiment.name.startswith("figure") else SHORTCUTS_SHOWN
    for setup in experiment.setups:
        # the prompt of response files is their own
        prompt = next(each.run.prompt for each in PAPER.setups if each.name == setup)
        own = [
            answer
            for comparison in evidence.each(setup)
            for answer in answers_of(comparison, lambda arm: arm.model, prompt)
        ]
        answers += own
        for comparison in evidence.each(setup)[:1]:
            arms = comparison.study.shortcuts(tuple({a.sample.id: a.sample for a in own}.values()))
            shown = [arm for arm in arms if arm.label.partition(" ")[2] in shortcuts]
            by_shortcuts += shortcut_answers(shown, own)
    names = [quantity.name for quantity in experiment.quantities]
    yield from measured_columns(cut, (*answers, *by_shortcuts), names)


def certified(experiment: Experiment, evidence: Evidence) -> Iterator[Measurement]:
    """How many stored results of the user's files come out."""
    tallies, column = import_tallies(list(evidence.files.values())), experiment.quantities[0].name
    if not tallies:
        yield Measurement("no file", column, Estimate(None, method="questions are generated"))
    for tally in tallies:
        share = 100 * tally.reproduced / tally.stored
        ours = Estimate(share, None, None, "a count", tally.stored)
        reading = f"; {tally.reading}" if tally.reading else ""
        remark = f"{tally.reproduced:,} of {tally.stored:,}{reading}"
        yield Measurement(tally.name, column, ours, remark=remark)


def _two_hops(answer: ScoredAnswer) -> Cells:
    return by_prompt(answer) if len(answer.sample.hops) == 2 else iter(())


def _all_wikipedia(answer: ScoredAnswer) -> Cells:
    if paper_domain(answer.sample.domain) == "Wikipedia":
        yield from ((name, answer.metrics.get(NAMES[name])) for name in ("A", "AT"))


CUTS: Mapping[str, Cut] = {
    "domain": partial(by_domain, name=paper_domain),
    "cardinality": by_cardinality,
    "relation": by_relation,
    "span": by_span,
    "span of countries": partial(by_span, only=COUNTRIES),
    "hops": by_hops,
    "prompt, two hops": _two_hops,
    "prompt and cardinality": by_prompt_and_cardinality,
    "Wikipedia": _all_wikipedia,
}
"""What `paper.toml` calls them."""
PAPER = Reproduction.beside(
    __file__,
    measures={"answers": measured, "certified": certified},
    questions={name: {"read": partial(read_part, each)} for name, each in FILTERS.items()},
    readings=corrected_gold,
)
