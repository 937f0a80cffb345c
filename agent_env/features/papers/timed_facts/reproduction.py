"""The experiments of the paper on extraction and code (Li et al. 2024), for `reproduce`, with the
two questions that it prints as cases (Tables 5 and 6)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from agent_env.families.timed_facts.published import question_of
from agent_env.families.timed_facts.sample import Level
from agent_env.features.extraction.solver import Fact
from agent_env.features.extraction.strategies import executed
from agent_env.features.extraction.wording import KINDS, fact_line
from agent_env.features.papers.paper import Evidence, Experiment, Reproduction
from agent_env.features.papers.responses import ResponseFile, read_response_lines
from agent_env.sdk.family import SampleSet
from agent_env.sdk.results import Measurement

ROWS = {
    "standard": "Standard",
    "cot-qcra": "CoT (Q+C+R+A)",
    "cot-cqra": "CoT (C+Q+R+A)",
    "cot-qcar": "CoT (Q+C+A+R)",
    "cot-cqar": "CoT (C+Q+A+R)",
    "extract-run": "Extraction + Code",
    "extract-simulate": "Extraction + Code, not executed",
}
"""The paper's row of each strategy."""
STANDARD = "standard"


def measure(experiment: Experiment, evidence: Evidence) -> Iterator[Measurement]:
    """A row for each strategy and model, then, of tables, for each shortcut."""
    names = [(name, name.partition("-")[2]) for name in experiment.setups]
    for name, strategy in names:
        for arm, column, estimate in evidence.figures(name, experiment.quantities):
            yield Measurement(ROWS[strategy], column, estimate, model=arm.model, setup=name)
    for name, strategy in names if experiment.about.get("shortcuts") else ():
        own = experiment.quantities if strategy == STANDARD else ()
        for arm, column, estimate in evidence.figures(name, own, shortcuts=True):
            yield Measurement(arm.label, column, estimate)


def read_responses(path: Path) -> ResponseFile:
    """Responses as JSON lines; an extraction is solved, as a run does."""
    file = read_response_lines(path, [setup.name for setup in PAPER.setups])
    rows = (
        replace(row, text=executed(row.text))
        if row.setup.endswith("-extract-run") and row.text is not None
        else row
        for row in file.rows
    )
    return ResponseFile(tuple(rows), file.samples)


Spell = tuple[str, str, str]
"""A value with its first and its last month."""
TOL: tuple[Spell, ...] = (
    ("Vrije Universiteit Amsterdam", "1992-01", "1992-01"),
    ("Economic and Social Research Institute", "2006-01", "2012-01"),
    ("University of Hamburg", "2000-01", "2006-01"),
    ("University of Sussex", "2012-01", "2022-12"),
)
ABRAHAMS: tuple[Spell, ...] = (
    ("Wivenhoe Town F.C.", "2004-01", "2005-01"),
    ("Heybridge Swifts F.C.", "2001-01", "2004-01"),
    ("Canvey Island F.C.", "2000-01", "2001-01"),
    ("Colchester United F.C.", "1996-01", "1999-01"),
    ("Chesham United F.C.", "2001-01", "2001-01"),
)


def table_5() -> SampleSet:
    """An employer before another."""
    when = "before Economic and Social Research Institute"
    return _printed_case("L3", "employer", "Richard Tol", when, TOL, ("University of Hamburg",))


def table_6() -> SampleSet:
    """The teams in a month with three answers."""
    gold = ("Canvey Island F.C.", "Chesham United F.C.", "Heybridge Swifts F.C.")
    return _printed_case("L2", "team", "Paul Abrahams", "in Jan, 2001", ABRAHAMS, gold)


def _printed_case(
    level: Level, kind: str, topic: str, when: str, spells: tuple[Spell, ...], gold: tuple[str, ...]
) -> SampleSet:
    facts = (
        Fact(topic=topic, kind=kind, value=value, start=start, end=end)
        for value, start, end in spells
    )
    sample = question_of(
        task="tempreason",
        sample_id=f"tempreason-{topic.replace(' ', '-')}",
        level=level,
        question=KINDS[kind].ask.format(t=topic, when=when),
        gold=gold,
        lines="\n".join(map(fact_line, facts)),
        text=None,
        negatives=tuple(value for value, _, _ in spells),
    )
    return SampleSet((sample,))


PAPER = Reproduction.beside(
    __file__,
    measures={"strategies": measure},
    questions={"table5": {"printed": table_5}, "table6": {"printed": table_6}},
    read_responses=read_responses,
)
