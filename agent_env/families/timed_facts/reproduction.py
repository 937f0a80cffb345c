"""The experiments of the paper on extraction and code (Li et al. 2024), for `reproduce`, with the
two questions that it prints as cases (Tables 5 and 6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from agent_env.extensions.extraction.solver import Fact
from agent_env.extensions.extraction.strategies import ONE_SHOT, executed
from agent_env.extensions.extraction.wording import KINDS, fact_line
from agent_env.extensions.papers.paper import (
    Evidence,
    Experiment,
    Population,
    PublishedValues,
    Quantity,
    Questions,
    Reproduction,
    Setup,
)
from agent_env.extensions.papers.responses import ResponseFile, read_response_lines
from agent_env.families.timed_facts.published import question_of
from agent_env.families.timed_facts.sample import Level
from agent_env.sdk.family import SampleSet
from agent_env.sdk.results import Measurement
from agent_env.sdk.run import RunOptions


def _columns(*names: str) -> tuple[Quantity, ...]:
    """Of names such as `L2-multi SEM`: a cell and a metric."""
    metrics = {"SEM": "sem", "F1": "answer_f1"}
    return tuple(
        Quantity(f"{cell} {name}", digits=2, metric=metrics[name], group="cell", value=cell)
        for cell, name in map(str.split, names)
    )


LAYOUTS: dict[str, tuple[Quantity, ...]] = {
    "3": _columns(
        "easy-single SEM", "easy-multi SEM", "easy-multi F1", "hard-single SEM", "hard-multi SEM",
        "hard-multi F1",
    ),
    "4": _columns("L2-single SEM", "L3-single SEM", "L2-multi SEM", "L2-multi F1"),
    "7": _columns("L2-single SEM", "L2-multi SEM"),
}  # fmt: skip
"""The paper's tables by number."""
PUBLISHED = PublishedValues.beside(__file__)
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
TASKS = {"l2": "tempreason", "l3": "tempreason", "timeqa": "timeqa"}
"""By name of the questions."""
CASES = {"table5": "L3 with one answer", "table6": "L2 with three answers"}
"""The questions that the paper prints; GPT-4 and InstructGPT answered them alike."""
CASE_VALUES = {"standard": (100.0,), "cot-cqar": (0.0,), "extract-run": (100.0,)}
RIGHT = Quantity("right", "%", 0, metric="sem")
CELLS = {
    "l2": "cell=L2-single,L2-multi",
    "l3": "cell=L3-single",
    "timeqa": "cell=easy-single,easy-multi,hard-single,hard-multi",
}
"""The paper's cells of each set; it counts L3 among the questions with one answer."""


_ONE = Population("the question that the paper prints", 1)
POPULATIONS = {
    "l2": Population(
        "1,000 questions drawn at random, 500 each with one answer and with several", 1000,
        {"cell": {"L2-single": 500, "L2-multi": 500}},
    ),
    "l3": Population(
        "500 questions with one answer, drawn at random", 500, {"cell": {"L3-single": 500}}
    ),
    "timeqa": Population(
        "400 questions drawn at random, 100 easy and 100 hard ones each with one answer and with "
        "several", 400,
        {"cell": dict.fromkeys(("easy-single", "easy-multi", "hard-single", "hard-multi"), 100)},
    ),
    "table5": _ONE,
    "table6": _ONE,
}  # fmt: skip


def setup_name(questions: str, strategy: str) -> str:
    """Such as `l2-standard`."""
    return f"{questions}-{strategy}"


def _setup(questions: str, strategy: str) -> Setup:
    is_case = questions in CASES
    run = RunOptions(
        "tempreason" if is_case else TASKS[questions],
        conditions=("base",),
        prompt="paper",
        strategy=f"{strategy}{ONE_SHOT}",
        options=("setting=reasonqa",),
        where=() if is_case else (CELLS[questions],),
    )
    return Setup(setup_name(questions, strategy), questions, run, POPULATIONS[questions])


SETUPS = (
    *(_setup(questions, strategy) for questions in TASKS for strategy in ROWS),
    *(_setup(questions, strategy) for questions in CASES for strategy in CASE_VALUES),
)


def measure(
    evidence: Evidence,
    rows: Sequence[str],
    questions: Sequence[str],
    quantities: Sequence[Quantity],
    shortcuts: bool,
) -> Iterator[Measurement]:
    """A row for each strategy and model, then for each shortcut."""
    for strategy in rows:
        for each in questions:
            name = setup_name(each, strategy)
            for arm, column, estimate in evidence.figures(name, quantities):
                yield Measurement(ROWS[strategy], column, estimate, model=arm.model, setup=name)
    for each in questions if shortcuts else ():
        name = setup_name(each, "standard")
        for arm, column, estimate in evidence.figures(name, quantities, shortcuts=True):
            yield Measurement(arm.label, column, estimate)


QUESTIONS_OF = {"3": ("timeqa",), "4": ("l2", "l3"), "7": ("l2",)}


def read_responses(path: Path) -> ResponseFile:
    """Responses as JSON lines; an extraction is solved, as a run does."""
    file = read_response_lines(path, [setup.name for setup in SETUPS])
    rows = (
        replace(row, text=executed(row.text))
        if row.setup.endswith("-extract-run") and row.text is not None
        else row
        for row in file.rows
    )
    return ResponseFile(tuple(rows), file.samples)


def _experiment(layout: str, title: str, *notes: str) -> Experiment:
    values, questions = PUBLISHED.tables[f"table{layout}"], QUESTIONS_OF[layout]
    return Experiment(
        f"table{layout}",
        f"Table {layout}: {title}",
        LAYOUTS[layout],
        {ROWS[strategy]: values[strategy] for strategy in values},
        tuple(setup_name(each, strategy) for strategy in values for each in questions),
        measure=partial(
            measure,
            rows=tuple(values),
            questions=questions,
            quantities=LAYOUTS[layout],
            shortcuts=True,
        ),
        notes=(*notes, MODEL, SHORTCUTS),
    )


def _case(questions: str) -> Experiment:
    return Experiment(
        questions,
        f"Table {questions[-1]}: a question of {CASES[questions]}",
        (RIGHT,),
        {ROWS[strategy]: values for strategy, values in CASE_VALUES.items()},
        tuple(setup_name(questions, strategy) for strategy in CASE_VALUES),
        measure=partial(
            measure,
            rows=tuple(CASE_VALUES),
            questions=(questions,),
            quantities=(RIGHT,),
            shortcuts=False,
        ),
        notes=("One question: an example, no measurement.", MODEL),
    )


MODEL = (
    "The paper's model is text-davinci-003 with one worked example and temperature 0, which is no "
    "longer served; every difference contains that of the model. The model "
    "`reference-static` is a script that compares years only, unless its extraction is executed."
)
SHORTCUTS = (
    "Shortcuts: latest-row answers the fact that began last, ignore-time all facts of the topic, "
    "random-row one of them, majority the most frequent answer, constant none."
)
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


_QUESTIONS: Mapping[str, Questions] = {
    "l2": Questions(
        "l2", "tempreason", "TempReason's test questions of L2 (or TimeBench's)", 1000,
        ("levels=L2", "answers=single,multi"),
    ),
    "l3": Questions(
        "l3", "tempreason", "TempReason's test questions of L3 (or TimeBench's)", 500,
        ("levels=L3", "answers=single"),
    ),
    "timeqa": Questions(
        "timeqa", "timeqa", "TimeQA's questions, with fact_context, or with --option "
        "timeqa:setting=open-book", 400, ("answers=single,multi",),
    ),
    "table5": Questions(
        "table5", "tempreason", "the question of Table 5", 1, printed=table_5
    ),
    "table6": Questions(
        "table6", "tempreason", "the question of Table 6", 1, printed=table_6
    ),
}  # fmt: skip

PAPER = Reproduction(
    title="Unlocking Temporal Question Answering for Large Language Models Using Code Execution",
    source="Xingxuan Li, Liying Cheng, Qingyu Tan, Hwee Tou Ng, Shafiq Joty, Lidong Bing, 2024",
    questions=tuple(_QUESTIONS.values()),
    setups=SETUPS,
    experiments=(
        _experiment(
            "3",
            "TimeQA, strict exact match and F1 over whole answers",
            "The paper turned TimeQA's texts into lines of facts (ReasonQA) and did not publish "
            "them; generated questions have such lines, about invented people.",
        ),
        _experiment(
            "4",
            "TempReason, strict exact match and F1 over whole answers",
            "Generated questions ask about a month inside a fact, on its first or last month, or "
            "just beside it, in equal parts; the published ones are drawn at random.",
        ),
        _case("table5"),
        _case("table6"),
        _experiment(
            "7",
            "TempReason L2, with and without executing the code",
            "Not executed: the model derives the answer from its own extraction.",
        ),
    ),
    read_responses=read_responses,
)  # fmt: skip
