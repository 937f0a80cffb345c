"""The experiments of the Time Puzzles paper (Wang and Dong 2026), for `study reproduce`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec

from agent_env.families.time_puzzles.sample import time_puzzles
from agent_env.features.papers.paper import Evidence, Experiment, Quantity, Reproduction
from agent_env.features.papers.time_puzzles.author_outputs import read_outputs
from agent_env.features.papers.time_puzzles.paper_tables import (
    exact_against_others,
    implicit_explicit,
    macro_mean,
)
from agent_env.sdk.records import Sample
from agent_env.sdk.results import Arm, Measurement

TABLE_3_ROWS = {"exact_match vs f1": "EM vs F1", "exact_match vs jaccard": "EM vs JI"}
CONDITIONS = {
    "base": "implicit", "web": "implicit +Web", "python": "implicit +CI",
    "web+python": "implicit +Web+CI", "explicit-paper": "explicit",
    "explicit-paper+python": "explicit +CI", "cited": "implicit +cited pages",
    "cited+python": "implicit +cited pages+CI",
}  # fmt: skip
"""The last two are of response files alone: the pages that a GPT model had cited, as text."""
BY_CONDITION = (
    Quantity("EM %", "%"),
    Quantity("output tokens", "output tokens", metric="output_tokens"),
)


def table_1(experiment: Experiment, evidence: Evidence) -> Iterator[Measurement]:
    """Exact match and output tokens, macro-averaged over the solution counts."""
    names = [quantity.name for quantity in experiment.quantities]
    for comparison in evidence.each("no-tools"):
        yield from (m for m in implicit_explicit(comparison) if m.quantity in names)
    for comparison in evidence.each("no-tools")[:1]:  # the same questions for every model
        for arm in comparison.shortcut_arms:
            estimate = macro_mean(comparison, arm, comparison.metric).times(100)
            yield Measurement(arm.label, "EM implicit", estimate, remark=arm.model)


def table_3(experiment: Experiment, evidence: Evidence) -> Iterator[Measurement]:
    """Exact match less F1 and Jaccard, over all episodes of all models."""
    if (comparison := evidence.together("no-tools")) is None:
        return
    for each in exact_against_others(comparison):
        if (row := TABLE_3_ROWS.get(each.row)) is not None:
            yield Measurement(row, each.quantity, each.estimate, model="all models")


def curves(experiment: Experiment, evidence: Evidence) -> Iterator[Measurement]:
    """Figures 2 and 4: exact match over the solution counts by condition and model, then of the
    shortcuts."""
    (setup,), counts = experiment.setups, experiment.quantities
    for arm, count, estimate in evidence.figures(setup, counts):
        yield Measurement(_condition_name(arm), count, estimate, model=arm.model)
    for arm, count, estimate in evidence.figures(setup, counts, shortcuts=True):
        yield Measurement(arm.label, count, estimate, remark=arm.model)


def _condition_name(arm: Arm) -> str:
    """As the paper calls the arm's condition."""
    parts = (part.partition(":")[0] for part in arm.condition.name.split("+"))
    name = CONDITIONS.get("+".join(parts))
    _, _, cited_by = (arm.condition.context or "").partition(":")
    return f"{name} of {cited_by}" if name and cited_by else name or arm.label


def figure_3(experiment: Experiment, evidence: Evidence) -> Iterator[Measurement]:
    """Exact match and output tokens by condition, on puzzles with one solution."""
    for arm, quantity, estimate in evidence.figures("single-solution", BY_CONDITION):
        name = _condition_name(arm).partition(" of ")[0]
        yield Measurement(arm.model, f"{quantity}, {name}", estimate)


def changed_golds(samples: Sequence[Sample]) -> Mapping[str, Sequence[Sample]]:
    """The puzzles by the readings of the audit that change a gold; none where features/audit was
    left out. Under all of them they are grouped by the file's solution counts."""
    if find_spec("agent_env.features.audit") is None:
        return {}
    from agent_env.features.audit.audit import audit
    from agent_env.features.audit.gold_readings import puzzles_by_reading
    from agent_env.features.facts.tables.tables import shipped_tables

    puzzles = time_puzzles(samples)
    return puzzles_by_reading(puzzles, audit(puzzles, shipped_tables()))


PAPER = Reproduction.beside(
    __file__,
    measures={"table_1": table_1, "table_3": table_3, "curves": curves, "figure_3": figure_3},
    read_responses=read_outputs,
    readings=changed_golds,
)
