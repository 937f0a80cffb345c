"""The experiments of TRAVELER (Kenneweg et al. 2025, by slides about it), for `reproduce`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np

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
from agent_env.families.traveler.generator import SIZES
from agent_env.families.traveler.sample import CATEGORIES, NAME, TEMPLATES, Category
from agent_env.families.traveler.wording import CONFIGURATIONS, DEFAULT
from agent_env.sdk.family import Shortcut
from agent_env.sdk.results import Arm, Comparison, Measurement
from agent_env.sdk.run import RunOptions

FEW, ALL = "two-sizes", "all-sizes"
"""The sets of questions: 5 and 50 events, explicit and implicit; and everything."""
PUBLISHED = PublishedValues.beside(__file__)
BEST = (
    "cot-review+date-only+json", "cot-review+date-only+language",
    "cot-step+date-only+json", "cot-step+date-only+language",
)  # fmt: skip
"""The slides' choice for their second stage."""
ACCURACY = "accuracy"


def _quantity(name: str, x: float | None = None) -> Quantity:
    return Quantity(name, ACCURACY, 2, x)


BY_EVENTS = (
    *(Quantity(f"{size} events", ACCURACY, 2, group="events", value=str(size))
      for size in (5, 50)),
    Quantity("average", ACCURACY, 2),
)  # fmt: skip


def table_4(evidence: Evidence) -> Iterator[Measurement]:
    """Accuracy of each configuration by number of events, and over both."""
    for name in CONFIGURATIONS:
        for arm, quantity, estimate in evidence.figures(name, BY_EVENTS):
            yield Measurement(name, quantity, estimate, model=arm.model)


def table_5(evidence: Evidence) -> Iterator[Measurement]:
    """Accuracy of each model under the four configurations."""
    for name in BEST:
        for arm, _, estimate in evidence.figures(name, BY_EVENTS[-1:]):
            yield Measurement(arm.model, name, estimate)


def table_6(evidence: Evidence) -> Iterator[Measurement]:
    """Accuracy of each model, then of the shortcuts, by category and by template."""
    for comparison, arms in _models_then_shortcuts(evidence.each(ALL)):
        for group in ("category", "template"):
            yield from _rows(comparison, arms, comparison.groups[group])


def lengths(evidence: Evidence, category: Category) -> Iterator[Measurement]:
    """Accuracy of each model, then of the shortcuts, by number of events."""
    for comparison, arms in _models_then_shortcuts(evidence.each(ALL)):
        own = set(comparison.groups["category"].get(category, ()))
        sizes = {
            size: [row for row in rows if row in own]
            for size, rows in comparison.groups["events"].items()
            if int(size) in SIZES
        }
        yield from _rows(comparison, arms, sizes)


def _models_then_shortcuts(
    comparisons: Sequence[Comparison],
) -> Iterator[tuple[Comparison, Sequence[Arm]]]:
    """Each with its arms; the shortcuts, which are the same for every model, once."""
    for comparison in comparisons:
        yield comparison, comparison.study.arms
    for comparison in comparisons[:1]:
        yield comparison, comparison.shortcut_arms


def _rows(
    comparison: Comparison, arms: Sequence[Arm], parts: Mapping[str, Sequence[int]]
) -> Iterator[Measurement]:
    """Accuracy over parts of the samples; one of right and wrong answers only is a share, with an
    interval even where all are right."""
    whole = comparison.columns(ACCURACY, arms)
    for name, rows in parts.items():
        part = np.full_like(whole, np.nan)
        part[list(rows)] = whole[list(rows)]
        for arm, column in zip(arms, part.T, strict=True):
            is_shortcut = arm.condition.name == Shortcut.CONDITION
            is_rate = bool(np.isin(column[~np.isnan(column)], (0.0, 1.0)).all())
            (mean,) = comparison.estimates(column[:, None], "rate" if is_rate else "mean")
            yield Measurement(arm.label if is_shortcut else arm.model, name, mean)


def _figure(category: Category) -> Experiment:
    number = 4 + CATEGORIES.index(category)
    return Experiment(
        f"figure{number}",
        f"Figure {number}: accuracy by number of events, {category} questions",
        tuple(_quantity(str(size), size) for size in SIZES),
        setups=(ALL,),
        measure=partial(lengths, category=category),
        notes=(
            "The slides draw this figure and print no values of it.",
            SHORTCUTS,
            *((VAGUE,) if category == "vague" else ()),
        ),
    )


VAGUE = (
    "Vague questions: Who and How often are scored as the probability that the whole answer is "
    "true, which no answer brings to 1; the slides score each subject by itself and do not say how "
    "a number is scored. The row of the oracle is what can be reached."
)
EVENTS = (
    "Events are uniform over the days and expressions are those of the slides' Table 3; a third of "
    "the questions have no match, a third one, a third several, which the slides do not state."
)
SHORTCUTS = (
    "Shortcuts answer without temporal reasoning: constant (no, nobody, 0 or never), majority (the "
    "most frequent answer to the template), ignore-time (all events that fit but for their time); "
    "only what exceeds them shows any. The oracle gives the best possible answers."
)
SETUPS = (
    *(
        Setup(
            name,
            FEW,
            RunOptions(NAME, conditions=("base",), prompt=name),
            Population(
                "400 questions, explicit and implicit, of 5 and of 50 events",
                400,
                {"events": {"5": 200, "50": 200}, "category": {"explicit": 200, "implicit": 200}},
            ),
            is_first_model_only=name not in BEST,
        )
        for name in CONFIGURATIONS
    ),
    Setup(
        ALL,
        ALL,
        RunOptions(NAME, conditions=("base",), prompt=DEFAULT),
        Population(
            "3,300 questions, 100 of each category and number of events",
            3300,
            {"events": {str(size): 300 for size in SIZES}},
        ),
    ),
)


_OPTIONS = ("expressions=slides", "recent=0", "repeats=0")
PAPER = Reproduction(
    title="TRAVELER: A Benchmark for Evaluating Temporal Reasoning across Vague, Implicit and "
    "Explicit References",
    source="Svenja Kenneweg, Jörg Deigmöller, Philipp Cimiano, Julian Eggert; by slides about it",
    questions=(
        Questions(
            FEW, NAME, "questions about 5 and 50 events", 400,
            ("sizes=5,50", "categories=explicit,implicit", *_OPTIONS),
        ),
        Questions(ALL, NAME, "questions about 5 to 100 events", 3300, _OPTIONS),
    ),
    setups=SETUPS,
    experiments=(
        Experiment(
            "figure1",
            "Figure 1: survey answers to eating risotto and a long time ago",
            (),
            not_reproduced="a survey of people; --option curves=FILE takes measured curves",
        ),
        Experiment(
            "table4",
            "Table 4: the twelve prompts by number of events",
            BY_EVENTS,
            PUBLISHED.tables["table4"],
            tuple(CONFIGURATIONS),
            measure=table_4,
            notes=(
                "The paper's values are GPT-4's. Of several models, the first is asked under all "
                "twelve, the others under the four of Table 5.",
                EVENTS,
            ),
        ),
        Experiment(
            "table5",
            "Table 5: four prompts by model",
            tuple(map(_quantity, BEST)),
            PUBLISHED.tables["table5"],
            BEST,
            measure=table_5,
            notes=(
                "The four prompts are those that the paper chose by Table 4.",
                EVENTS,
            ),
        ),
        Experiment(
            "table6",
            "Table 6: categories and templates by model",
            tuple(map(_quantity, (*CATEGORIES, *TEMPLATES))),
            PUBLISHED.tables["table6"],
            (ALL,),
            measure=table_6,
            notes=(SHORTCUTS, VAGUE, EVENTS),
        ),
        *map(_figure, CATEGORIES),
    ),
    models=PUBLISHED.models,
)  # fmt: skip
