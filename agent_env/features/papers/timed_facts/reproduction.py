"""The experiments of the paper on extraction and code (Li et al. 2024), for `reproduce`, with the
two questions that it prints as cases (Tables 5 and 6)."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from agent_env.families.timed_facts.published import question_of
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


_FILE = Path(__file__).with_name("printed.toml")
PRINTED: Mapping[str, Any] = tomllib.loads(_FILE.read_text(encoding="utf-8"))
"""The questions of Tables 5 and 6."""


def printed(table: str) -> SampleSet:
    """The question that a table prints."""
    case = PRINTED[table]
    kind, topic = case["kind"], case["topic"]
    facts = (
        Fact(topic=topic, kind=kind, value=value, start=start, end=end)
        for value, start, end in case["spells"]
    )
    sample = question_of(
        task="tempreason",
        sample_id=f"tempreason-{topic.replace(' ', '-')}",
        level=case["level"],
        question=KINDS[kind].ask.format(t=topic, when=case["when"]),
        gold=tuple(case["gold"]),
        lines="\n".join(map(fact_line, facts)),
        text=None,
        negatives=tuple(value for value, _, _ in case["spells"]),
    )
    return SampleSet((sample,))


PAPER = Reproduction.beside(
    __file__,
    measures={"strategies": measure},
    questions={name: {"printed": partial(printed, name)} for name in PRINTED},
    read_responses=read_responses,
)
