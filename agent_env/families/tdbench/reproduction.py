"""The experiments of the TDBench paper, for `study reproduce tdbench`, with the authors' files
as their questions and the corrected gold of these."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

from agent_env.extensions.papers.paper import (
    Evidence,
    Experiment,
    Population,
    Quantity,
    Questions,
    Reproduction,
    Setup,
)
from agent_env.families.tdbench.paper_tables import (
    COUNTRIES,
    NAMES,
    PROMPT_NAMES,
    RELATIONS,
    SIZES,
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
from agent_env.families.tdbench.paper_tables import measured as measured_columns
from agent_env.families.tdbench.paper_values import DOMAINS, PUBLISHED, paper_domain
from agent_env.families.tdbench.published import PublishedSet, read_published
from agent_env.families.tdbench.published_samples import published_samples
from agent_env.families.tdbench.sample import (
    NAME,
    Certificate,
    GoldRow,
    TdbenchSample,
    cardinality_of,
    tdbench_sample,
)
from agent_env.sdk.errors import DatasetError
from agent_env.sdk.family import SampleSet
from agent_env.sdk.records import Sample
from agent_env.sdk.results import Estimate, Measurement
from agent_env.sdk.run import RunOptions

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


COMES_OUT = "come out"
SHORTCUTS_SHOWN = ("constant", "latest-row", "ignore-time", "oracle")
IN_FIGURES = ("constant", "latest-row")
"""Those of a figure of many points."""


def measured(
    evidence: Evidence,
    setups: Sequence[str],
    cut: Cut,
    quantities: Sequence[Quantity],
    shortcuts: Sequence[str],
) -> Iterator[Measurement]:
    """The columns that the paper has, by model, then by shortcut."""
    answers, by_shortcuts = list[ScoredAnswer](), list[ScoredAnswer]()
    for setup in setups:
        # the prompt of response files is their own
        prompt = next(each.run.prompt for each in SETUPS if each.name == setup)
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
    yield from measured_columns(cut, (*answers, *by_shortcuts), [q.name for q in quantities])


def certified(evidence: Evidence) -> Iterator[Measurement]:
    """How many stored results of the user's files come out."""
    tallies = import_tallies(list(evidence.files.values()))
    if not tallies:
        yield Measurement("no file", COMES_OUT, Estimate(None, method="questions are generated"))
    for tally in tallies:
        share = 100 * tally.reproduced / tally.stored
        ours = Estimate(share, None, None, "a count", tally.stored)
        reading = f"; {tally.reading}" if tally.reading else ""
        remark = f"{tally.reproduced:,} of {tally.stored:,}{reading}"
        yield Measurement(tally.name, COMES_OUT, ours, remark=remark)


def _two_hops(answer: ScoredAnswer) -> Cells:
    return by_prompt(answer) if len(answer.sample.hops) == 2 else iter(())


def _all_wikipedia(answer: ScoredAnswer) -> Cells:
    if paper_domain(answer.sample.domain) == "Wikipedia":
        yield from ((name, answer.metrics.get(NAMES[name])) for name in ("A", "AT"))


# Quantities ---------------------------------------------------------------------------------------


def _quantities(names: Sequence[str], unit: str = "%") -> tuple[Quantity, ...]:
    return tuple(Quantity(name, unit) for name in names)


BY_SIZE = _quantities(
    [f"{size} {name}" for size in ("multiple", "unique") for name in ("A", "T", "AT")] + ["none A"]
)
BY_DOMAIN = _quantities([f"{d} {name}" for d in DOMAINS for name in ("A", "AT", "Δ")])
BY_HOPS = _quantities(
    ["2-hop A", "2-hop AT", "2-hop H1", "3-hop A", "3-hop AT", "3-hop H1", "3-hop H2"]
)
BY_PROMPT = _quantities(list(PROMPT_NAMES.values()))
BY_SIZE_AND_PROMPT = _quantities(
    [f"{size} {name}" for size in SIZES for name in PROMPT_NAMES.values()]
)
BY_RELATION = _quantities(RELATIONS)
SPANS = tuple(Quantity(f"{y}-{y + 4}", "A, % (by first year)", x=y) for y in range(1985, 2025, 5))
P_R_F1 = tuple(Quantity(name, "share", 2) for name in ("P", "R", "F1"))
CLASSES = tuple(Quantity(f"{n}{t}", "share", 2) for t in ("", " +T") for n in ("P", "R", "F1"))
CONSTRUCTION = tuple(
    Quantity(f"{table} {what}", unit, digits)
    for table in ("Leaders", "Olympic", "Environ", "Medical", "Netflix")
    for what, unit, digits in (("time", "s", 2), ("tokens", "tokens", 0))
)

# Questions and setups -----------------------------------------------------------------------------

SHIPPED = ("tables=shipped",)
WIKIPEDIA = (*SHIPPED, "domains=offices,organisations")
AUTHORS_FILES = (
    "the authors' folder (tables and question files), or what `questions tdbench import` writes"
)
COUNTS = {
    "alignment": (2079, (*WIKIPEDIA, "kinds=current")),
    "reasoning": (5406, (*WIKIPEDIA, "kinds=relation")),
    "reasoning-closed": (5406, (*WIKIPEDIA, "kinds=relation", "book=closed")),
    "multi-hop": (396, (*SHIPPED, "kinds=hops")),
    "medical": (1350, ("domains=stays", "kinds=relation")),
}
"""The paper's number of questions, and the options of generated ones."""
QUESTIONS = tuple(
    Questions(name, NAME, AUTHORS_FILES, count, options, read=partial(read_part, FILTERS[name]))
    for name, (count, options) in COUNTS.items()
)
CLOSED, OPEN = ("book=closed",), ("book=open",)


POPULATIONS = {
    "alignment": Population("2,079 questions of what holds now, 375 of them of Wikipedia", 2079),
    "reasoning": Population("5,406 questions of Wikipedia's tables by relation", 5406),
    "reasoning-closed": Population("5,406 questions of Wikipedia's tables by relation", 5406),
    "multi-hop": Population("396 questions, 198 each of two and of three hops", 396),
    "medical": Population("1,350 questions of a synthetic hospital", 1350),
}
"""Appendix C.2: 6,756 reasoning questions, of which Table 15 counts 1,350 as synthetic."""


def _setup(name: str, questions: str, options: tuple[str, ...], prompt: str = "default") -> Setup:
    run = RunOptions(NAME, conditions=("base",), options=options, prompt=prompt)
    return Setup(name, questions, run, POPULATIONS[questions])


HOPS = {f"hops-{prompt}": prompt for prompt in PROMPT_NAMES}
ALONE = {f"reasoning-{prompt}": prompt for prompt in PROMPT_NAMES}
SETUPS = (
    _setup("alignment", "alignment", CLOSED),
    _setup("reasoning-open", "reasoning", OPEN),
    *(_setup(name, "reasoning-closed", CLOSED, prompt) for name, prompt in ALONE.items()),
    *(_setup(name, "multi-hop", CLOSED, prompt) for name, prompt in HOPS.items()),
    _setup("medical", "medical", OPEN),
)
_RAG = "RAG: our rows by BM25 from the tables of the questions, not passages of Wikipedia"
_DATES = "T by rules instead of a model as judge; to the precision that the tables have"
_HALF = (
    "started-by and finished-by of generated questions name both bounds, those of published files "
    "one"
)


def _experiment(
    name: str,
    title: str,
    quantities: tuple[Quantity, ...],
    setups: Sequence[str],
    cut: Cut,
    *notes: str,
) -> Experiment:
    shown = IN_FIGURES if name.startswith("figure") else SHORTCUTS_SHOWN
    return Experiment(
        name, title, quantities, PUBLISHED.tables.get(name, {}), tuple(setups),
        measure=lambda evidence: measured(evidence, setups, cut, quantities, shown), notes=notes,
    )  # fmt: skip


_PEOPLE = "it needs answers judged by people"
_NO_VALUES = "The paper draws this figure and prints no values of it."
EXPERIMENTS = (
    Experiment(
        "certificate", "The questions: stored results that their statements return",
        (Quantity(COMES_OUT),), measure=certified,
        notes=("Of files, by the reading under which most of them come out.",),
    ),
    _experiment(
        "table4", "Table 4: what holds now, answers (A) and answers with dates (AT), by domain",
        BY_DOMAIN, ["alignment"],
        partial(by_domain, name=paper_domain), _DATES,
        "Generated questions are of offices and organisations: Wikipedia only.",
    ),
    _experiment(
        "table5", "Table 5: reasoning by number of answers, open book", BY_SIZE,
        ["reasoning-open"], by_cardinality, _DATES,
    ),
    _experiment(
        "figure2", "Figure 2: answers by temporal relation, open book", BY_RELATION,
        ["reasoning-open"], by_relation, _NO_VALUES, _HALF,
    ),
    _experiment(
        "figure3", "Figure 3: answers by time, closed book, one domain (Countries)", SPANS,
        ["reasoning-default"], partial(by_span, only=COUNTRIES), _NO_VALUES,
        "By the five years in which the gold began.",
    ),
    _experiment(
        "table6", "Table 6: three hops", BY_HOPS[3:], ["hops-default"], by_hops, _DATES,
    ),
    _experiment(
        "table7", "Table 7: two hops by prompt (AT)", BY_PROMPT, list(HOPS),
        _two_hops, _RAG,
        "Its first column is that of Table 27's two hops; published rows of joins hold the dates "
        "of the games, so A stands for AT there.",
    ),
    Experiment(
        "table8", "Table 8: the scorer against people", P_R_F1, PUBLISHED.tables["table8"],
        not_reproduced=_PEOPLE,
    ),
    Experiment(
        "table9", "Table 9: relations and templates of other benchmarks", (),
        not_reproduced="it describes other papers",
    ),
    Experiment(
        "table19", "Table 19: DyKnow's classes with and without T against people", CLASSES,
        PUBLISHED.tables["table19"],
        not_reproduced="gaps to fill are imported (statement, answer, start, former) and run; "
        + _PEOPLE,
    ),
    _experiment(
        "figure5", "Figure 5: answers by time, closed book, all domains", SPANS,
        ["reasoning-default"], by_span, _NO_VALUES,
        "By the five years in which the gold began.",
    ),
    _experiment(
        "table22", "Table 22: reasoning by prompt, closed book (AT; A where nothing fits)",
        BY_SIZE_AND_PROMPT, list(ALONE), by_prompt_and_cardinality, _RAG,
    ),
    Experiment(
        "table23", "Table 23: the scorer against people, in parts", P_R_F1,
        PUBLISHED.tables["table23"],
        not_reproduced=_PEOPLE,
    ),
    _experiment(
        "table24", "Table 24: synthetic medical tables by number of answers, open book", BY_SIZE,
        ["medical"], by_cardinality, _DATES,
        "In our copy of the paper the headings of six of its seven columns are out of order (AT "
        "would exceed T), so only the last is entered.",
        "Generated questions are of our own invented hospital.",
    ),
    _experiment(
        "table25", "Table 25: task-specific methods, what holds now",
        _quantities(["A", "AT"]), ["alignment"],
        _all_wikipedia,
        "Any model can be asked; TG-LLM and TempT5 need a server of yours.",
    ),
    Experiment(
        "table26", "Table 26: time and tokens to make a question", CONSTRUCTION,
        PUBLISHED.tables["table26"],
        not_reproduced="it is about making questions: times and tokens of a model that writes them",
    ),
    _experiment(
        "table27", "Table 27: two and three hops in full", BY_HOPS,
        ["hops-default"], by_hops, _DATES,
    ),
)  # fmt: skip


PAPER = Reproduction(
    title="Harnessing Temporal Databases for Systematic Evaluation of Factual Time-Sensitive "
    "Question-Answering in LLMs (TDBench)",
    source="anonymous authors, under double-blind review",
    questions=QUESTIONS,
    setups=SETUPS,
    experiments=EXPERIMENTS,
    models=PUBLISHED.models,
    readings=corrected_gold,
)
