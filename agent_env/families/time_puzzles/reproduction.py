"""The experiments of the Time Puzzles paper (Wang and Dong 2026), for `study reproduce`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

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
from agent_env.extensions.papers.results import measurements
from agent_env.families.time_puzzles.author_outputs import read_outputs
from agent_env.families.time_puzzles.paper_tables import (
    SOLUTIONS,
    exact_against_others,
    implicit_explicit,
    macro_mean,
)
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.sdk.records import Sample
from agent_env.sdk.results import Arm, Measurement
from agent_env.sdk.run import RunOptions

TASK = "time-puzzles"
TOKENS = "output tokens"

PUBLISHED = PublishedValues.beside(__file__)
TABLE_1_COLUMNS = {
    "EM % implicit": Quantity("EM implicit"),
    "EM % explicit": Quantity("EM explicit"),
    "EM % difference": Quantity("EM difference"),
    "output tokens implicit": Quantity("tokens implicit", "output tokens"),
    "output tokens explicit": Quantity("tokens explicit", "output tokens"),
    "output tokens difference": Quantity("tokens difference", "output tokens"),
}
"""Headings of our own table, and the paper's columns."""
VERSIONS = "Values of the tables are those of versions 1 and 2 of the paper (2026-01)."
TABLE_3_COLUMNS = {
    "mean": Quantity("mean difference", "points", 2),
    "SD": Quantity("SD", "points", 2),
    "% equal": Quantity("% equal", "%", 2),
    "Spearman": Quantity("Spearman", "correlation", 2),
}
TABLE_3_ROWS = {"exact_match vs f1": "EM vs F1", "exact_match vs jaccard": "EM vs JI"}
SOLUTION_COUNTS = range(1, 7)
"""The paper's puzzles; the authors' file also has 100 without any solution."""
COUNTS = tuple(Quantity(str(n), "EM %", x=n, group=SOLUTIONS) for n in SOLUTION_COUNTS)
WEB_COUNTS = COUNTS[::2]
CONDITIONS = {
    "base": "implicit", "web": "implicit +Web", "python": "implicit +CI",
    "web+python": "implicit +Web+CI", "explicit-paper": "explicit",
    "explicit-paper+python": "explicit +CI",
}  # fmt: skip
CITED = {"cited": "implicit +cited pages", "cited+python": "implicit +cited pages+CI"}
"""Conditions of response files alone: the pages that a GPT model had cited, as text."""
FIGURE_3 = tuple(
    Quantity(f"{unit}, {name}", unit)
    for unit in ("EM %", TOKENS)
    for name in (CONDITIONS | CITED).values()
)
BY_CONDITION = (Quantity("EM %", "%"), Quantity(TOKENS, TOKENS, metric="output_tokens"))


def table_1(evidence: Evidence) -> Iterator[Measurement]:
    """Exact match and output tokens, macro-averaged over the solution counts."""
    headings = {heading: quantity.name for heading, quantity in TABLE_1_COLUMNS.items()}
    for comparison in evidence.each("no-tools"):
        yield from measurements(implicit_explicit(comparison), headings, n="samples")
    for comparison in evidence.each("no-tools")[:1]:  # the same questions for every model
        for arm in comparison.shortcut_arms:
            estimate = macro_mean(comparison, arm, comparison.metric).times(100)
            yield Measurement(arm.label, "EM implicit", estimate, remark=arm.model)


def table_3(evidence: Evidence) -> Iterator[Measurement]:
    """Exact match less F1 and Jaccard, over all episodes of all models."""
    headings = {heading: quantity.name for heading, quantity in TABLE_3_COLUMNS.items()}
    if (comparison := evidence.together("no-tools")) is None:
        return
    for each in measurements(exact_against_others(comparison), headings, n="episodes"):
        if (row := TABLE_3_ROWS.get(each.row)) is not None:
            yield Measurement(row, each.quantity, each.estimate, model="all models")


def curves(evidence: Evidence, setup: str, counts: Sequence[Quantity]) -> Iterator[Measurement]:
    """Figures 2 and 4: exact match over the solution counts by condition and model, then of the
    shortcuts."""
    for arm, count, estimate in evidence.figures(setup, counts):
        yield Measurement(_condition_name(arm), count, estimate, model=arm.model)
    for arm, count, estimate in evidence.figures(setup, counts, shortcuts=True):
        yield Measurement(arm.label, count, estimate, remark=arm.model)


def _condition_name(arm: Arm) -> str:
    """As the paper calls the arm's condition."""
    parts = (part.partition(":")[0] for part in arm.condition.name.split("+"))
    name = (CONDITIONS | CITED).get("+".join(parts))
    _, _, cited_by = (arm.condition.context or "").partition(":")
    return f"{name} of {cited_by}" if name and cited_by else name or arm.label


def figure_3(evidence: Evidence) -> Iterator[Measurement]:
    """Exact match and output tokens by condition, on puzzles with one solution."""
    for arm, quantity, estimate in evidence.figures("single-solution", BY_CONDITION):
        name = _condition_name(arm).partition(" of ")[0]
        yield Measurement(arm.model, f"{quantity}, {name}", estimate)


def changed_golds(samples: Sequence[Sample]) -> Mapping[str, Sequence[Sample]]:
    """The puzzles by the readings of the table of readings that change a gold; grouped by the
    file's solution counts under all of them."""
    from agent_env.extensions.facts.tables.tables import shipped_tables
    from agent_env.families.time_puzzles.audit import audit
    from agent_env.families.time_puzzles.gold_readings import puzzles_by_reading

    puzzles = [sample for sample in samples if isinstance(sample, TimePuzzle)]
    return puzzles_by_reading(puzzles, audit(puzzles, shipped_tables()))


PAPER = Reproduction(
    title="Measuring Iterative Temporal Reasoning with Time Puzzles",
    source="Zhengxiang Wang, Zeyu Dong, 2026, arXiv:2601.07148, version 1; version3: version 3",
    questions=(
        Questions(
            "puzzles",
            TASK,
            "the authors' file of puzzles, a JSON array",
            count=600,
            options=("unchecked=true",),  # the paper's algorithm gives no guarantees
        ),
    ),
    setups=(
        Setup(
            "no-tools",
            "puzzles",
            RunOptions(
                TASK,
                conditions=("base", "explicit-paper"),
                prompt="paper",
                where=(f"solution_count={','.join(map(str, SOLUTION_COUNTS))}",),
            ),
            Population(
                "600 puzzles, 100 for each number of solutions from 1 to 6",
                600,
                {SOLUTIONS: {str(n): 100 for n in SOLUTION_COUNTS}},
            ),
        ),
        Setup(
            "web",
            "puzzles",
            RunOptions(
                TASK, conditions=("base", "web"), prompt="paper", where=("solution_count=1,3,5",)
            ),
            Population(
                "300 puzzles, 100 each with 1, 3 and 5 solutions",
                300,
                {SOLUTIONS: {"1": 100, "3": 100, "5": 100}},
            ),
            notes=(
                "Web: the model calls the tool in steps; the paper's open-weight models read the "
                "pages that GPT-4.1 and GPT-5 had cited (here: --condition cited of run, and the "
                "condition cited of the authors' outputs).",
            ),
        ),
        Setup(
            "single-solution",
            "puzzles",
            RunOptions(
                TASK, conditions=tuple(CONDITIONS), prompt="paper", where=("solution_count=1",)
            ),
            Population("100 puzzles with one solution", 100),
            notes=(
                "+Web+CI: both tools at once; the paper gave GPT models the pages of +Web as text.",
            ),
        ),
    ),
    experiments=(
        Experiment(
            "table1",
            "Table 1: exact match and output tokens, implicit and explicit, without tools",
            tuple(TABLE_1_COLUMNS.values()),
            PUBLISHED.tables["table1"],
            ("no-tools",),
            measure=table_1,
            notes=(f"{VERSIONS} GPT-5 had 49.3 % without tools; version3 has the later figure.",),
        ),
        Experiment(
            "figure2",
            "Figure 2: exact match over the number of solutions, with and without web search",
            WEB_COUNTS,
            setups=("web",),
            measure=partial(curves, setup="web", counts=WEB_COUNTS),
            notes=("The paper draws this figure and prints no values of it.",),
        ),
        Experiment(
            "figure3",
            "Figure 3: exact match and output tokens by tools, puzzles with one solution",
            FIGURE_3,
            setups=("single-solution",),
            measure=figure_3,
            notes=("The paper's values are on the bars of a picture and are not entered here.",),
        ),
        Experiment(
            "table3",
            "Table 3: exact match against F1 and Jaccard",
            tuple(TABLE_3_COLUMNS.values()),
            PUBLISHED.tables["table3"],
            ("no-tools",),
            measure=table_3,
            incomparable="answers without tools, the paper pools over 19,000 answers of 13 models "
            "under all its conditions",
        ),
        Experiment(
            "figure4",
            "Figure 4: exact match over the number of solutions, implicit and explicit",
            COUNTS,
            setups=("no-tools",),
            measure=partial(curves, setup="no-tools", counts=COUNTS),
            notes=("The paper draws this figure and prints no values of it.",),
        ),
        Experiment(
            "version3",
            "Version 3 of the paper (2026-03), abstract: exact match without tools",
            (TABLE_1_COLUMNS["EM % implicit"],),
            PUBLISHED.tables["version3"],
            ("no-tools",),
            measure=lambda evidence: (m for m in table_1(evidence) if m.quantity == "EM implicit"),
            notes=(f"{VERSIONS} The abstract of version 3 names no other figure.",),
        ),
        Experiment(
            "facts",
            "Appendix A.1: 400 questions of TempReason, screened by gpt-oss-20b, 50 events kept",
            (),
            not_reproduced="it was curated by hand; `agent-env web facts screen` does the like",
        ),
    ),
    models=PUBLISHED.models,
    read_responses=read_outputs,
    readings=changed_golds,
)
