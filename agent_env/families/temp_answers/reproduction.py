"""The experiments of TempAnswerQA (Abbood et al. 2025), for `agent-env study reproduce`.

Response files in the published layout and runs on generated questions are scored alike, apart from
each other, in both modes: `paper` (the published rules) and `v2` (ours).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from agent_env.extensions.papers.paper import (
    Evidence,
    Experiment,
    Quantity,
    Questions,
    Reproduction,
    Setup,
)
from agent_env.families.temp_answers import paper_measures as measures
from agent_env.families.temp_answers.paper_measures import BINS, Answers, Scope
from agent_env.families.temp_answers.sample import NAME
from agent_env.sdk.results import Estimate, Measurement
from agent_env.sdk.run import RunOptions

Measure = Callable[[Answers], Iterable[tuple[str, str, Estimate]]]
"""Rows, quantities and estimates of one set of answers in one mode."""
MAIN = ("zero-shot", "few-shot")


def measured(
    measure: Measure,
    scope: Scope,
    datasets: tuple[str, ...],
    setups: tuple[str, ...] = MAIN,
    has_modes: bool = True,
) -> Callable[[Evidence], Iterator[Measurement]]:
    """The measure of the response files and of the runs of these setups, in each mode; once where
    modes do not differ."""

    def every(evidence: Evidence) -> Iterator[Measurement]:
        folders = [path for name in setups for path in evidence.folders.get(name, ())]
        for source, paths in (("responses", evidence.responses), ("runs", tuple(folders))):
            for mode, answers in list(_answers(paths, evidence).items())[: 2 if has_modes else 1]:
                name = f"{source}, mode {mode}" if has_modes else source
                for row, quantity, estimate in measure(answers):
                    reason = "questions are generated, the paper's are not"
                    if source == "responses":
                        reason = measures.other_answers(answers, scope, datasets, row, quantity)
                    yield Measurement(
                        row, quantity, estimate, model=name, incomparable=reason, setup=source
                    )

    return every


def _answers(paths: tuple[Path, ...], evidence: Evidence) -> Mapping[str, Answers]:
    """The scored answers by mode; without `paper` where its packages are missing."""
    from agent_env.families.temp_answers.scoring.paper_answers import NEEDS_EXTRA
    from agent_env.sdk.errors import ConfigError

    if not paths:
        return {}
    dated = tuple((path, path.stat().st_mtime_ns) for path in paths)
    try:
        return _scored(dated, None)
    except ConfigError as exc:
        if str(exc) != NEEDS_EXTRA:
            raise
        evidence.note(f"without mode paper: {exc}")
        return _scored(dated, "v2")


@lru_cache(maxsize=4)
def _scored(paths: tuple[tuple[Path, int], ...], mode: str | None) -> Mapping[str, Answers]:
    """Scored once for all experiments; the times of the files tell whether they have changed."""
    from agent_env.families.temp_answers.commands import ScoreOptions, score_answers

    scored = score_answers(ScoreOptions(tuple(path for path, _ in paths), mode))
    return {name: scored.answers(name) for name in scored.summaries}


def _setup(name: str, *options: str, where: tuple[str, ...] = (), note: str = "") -> Setup:
    run = RunOptions(NAME, conditions=("base",), options=options, where=where)
    return Setup(name, "questions", run, notes=(note,) if note else ())


TTQA, TOT, BOTH = ("ttqa",), ("tot",), ("ttqa", "tot")


def _experiment(
    name: str,
    title: str,
    quantities: tuple[Quantity, ...],
    published: measures.Rows,
    measure: Measure,
    *notes: str,
    scope: Scope,
    datasets: tuple[str, ...],
    setups: tuple[str, ...] = MAIN,
    has_modes: bool = True,
    incomparable: str = "",
) -> Experiment:
    return Experiment(
        name, title, quantities, published, setups,
        measure=measured(measure, scope, datasets, setups, has_modes),
        incomparable=incomparable, notes=(*notes, MODES) if has_modes else notes,
    )  # fmt: skip


MODES = (
    "Rows of runs are about generated questions, those of response files about the files' own. "
    "Mode paper has the published rules, mode v2 ours (agent-env docs temp-answers); their "
    "difference on the same responses comes from the rules alone. An interval tells of the "
    "sampling of questions, drawn by table or graph, not of the sampling of responses."
)
SCORES = (Quantity("EM", "%", 2), Quantity("sMAPE", "%", 2), Quantity("MASE", "MASE", 2))
COUNTS = (Quantity("EM", "n", 0), Quantity("sMAPE", "n", 0), Quantity("MASE", "n", 0))
DIRECTIONS = (
    Quantity("sMAPE", "%", 2), Quantity("sMAPE std", "%", 2), Quantity("MASE", "MASE", 2),
    Quantity("MASE std", "MASE", 2),
)  # fmt: skip
OFF_BY_ONE = (Quantity("all data", "%", 2), Quantity("|e| = 1", "%", 2))
CLUSTERS = (
    "The paper's MASE divides by the distance of each label to its cluster's centroid, so that a "
    "few labels near a centroid make most of the sum, and another file changes every figure."
)
PAIRS = tuple(Quantity(name, "correlation", 2) for name in ("EM–sMAPE", "EM–MASE", "MASE–sMAPE"))
NO_VALUES = "The paper draws this figure and prints no values of it."
POSSIBLE = tuple(Quantity(f"EM {em} %", "sMAPE, %", x=em) for em in range(0, 101, 5))
DENSITIES = tuple(Quantity(f"bin {k}", "% of gold answers", x=k) for k in range(1, BINS + 1))

PAPER = Reproduction(
    title="Time to Revisit Exact Match",
    source="Auss Abbood, Zaiqiao Meng, Nigel Collier, 2025",
    questions=(
        Questions(
            "questions", NAME, "a set of `questions generate temp-answers` (the authors' response "
            "files are scored by --responses FILE, which needs no questions)", count=3434,
        ),
    ),
    setups=(
        _setup("zero-shot", "shots=0"),
        _setup("few-shot", "shots=3", note="Few-shot: three worked examples, generated too."),
        _setup("object-begun", "shots=0", "prefill=true", where=("split=semantic",)),
        _setup("one-message", "shots=0", "turns=one", where=("split=table",)),
    ),
    experiments=(
        _experiment(
            "table2", "Table 2: questions by unit of the answer",
            (Quantity("questions", "questions", 0),), measures.TABLES["table2"], measures.units,
            has_modes=False,
            scope="questions", datasets=BOTH,
        ),
        _experiment(
            "figure2", "Figures 2 and 3: models by exact match, sMAPE and MASE", SCORES,
            measures.FIGURES_2_3, measures.rankings,
            "The paper draws these means over splits and prompts; its values here are the means of "
            "the eight rows of a model in Tables 11 and 12.",
            scope="model", datasets=BOTH,
        ),
        _experiment(
            "figure4", "Figure 4: Spearman's correlation between metrics over models and prompts",
            PAIRS, measures.TABLES["figure4"], measures.correlations,
            "The interval comes from a resampling of the files; the paper has 24 a dataset.",
            scope="dataset", datasets=BOTH,
        ),
        _experiment(
            "table3", "Table 3: most frequent absolute errors", (Quantity("share", "%", 2),),
            measures.TABLES["table3"], measures.frequent_errors,
            scope="dataset", datasets=BOTH,
        ),
        _experiment(
            "table4", "Table 4: question types of all answers and of those off by one (ToT)",
            OFF_BY_ONE, measures.TABLES["table4"], measures.question_types,
            scope="dataset", datasets=TOT,
        ),
        _experiment(
            "table5", "Table 5: answer formats of all answers and of those off by one (TTQA)",
            OFF_BY_ONE, measures.TABLES["table5"], measures.answer_formats,
            scope="dataset", datasets=TTQA,
        ),
        _experiment(
            "table6", "Table 6: sMAPE and MASE of errors below and above 0", DIRECTIONS,
            measures.TABLES["table6"], measures.directions, CLUSTERS,
            scope="dataset", datasets=BOTH,
        ),
        _experiment(
            "table8", "Table 8: responses without strict JSON, by generation (ToT)",
            (Quantity("add generation prompt", "%"), Quantity("continue final message", "%")),
            measures.TABLES["table8"], measures.parsing_errors,
            "The paper asked 50 questions of the semantic split; here all of the ToT files, and "
            "the graph questions of runs with and without the start of the object (`prefill`).",
            setups=("zero-shot", "object-begun"), has_modes=False,
            scope="dataset", datasets=TOT,
            incomparable="all questions of the files, the paper's are 50 semantic ones",
        ),
        _experiment(
            "table9", "Table 9: responses with the string `Final Answer:` (TTQA, head)",
            (Quantity("original prompt", "%", 2), Quantity("with chat template", "%", 2)),
            measures.TABLES["table9"], measures.markers,
            "Runs: one message with everything, against system and user messages.",
            setups=("zero-shot", "one-message"), has_modes=False,
            scope="head", datasets=TTQA,
        ),
        Experiment(
            "table10", "Table 10: BERTScore of numbers", (),
            not_reproduced="BERTScore needs an encoder of texts, which this package does not "
            "bring; the four pairs of numbers are no experiment on models",
        ),
        _experiment(
            "table11", "Table 11: performance on TTQA", SCORES, measures.TABLES["table11"],
            measures.performance("ttqa"), CLUSTERS,
            scope="file", datasets=TTQA,
        ),
        _experiment(
            "table12", "Table 12: performance on ToT", SCORES, measures.TABLES["table12"],
            measures.performance("tot"), CLUSTERS,
            scope="file", datasets=TOT,
        ),
        _experiment(
            "table13", "Table 13: answers for which each metric is defined (TTQA)", COUNTS,
            measures.TABLES["table13"], measures.defined("ttqa"),
            scope="prompting", datasets=TTQA,
        ),
        _experiment(
            "table14", "Table 14: answers for which each metric is defined (ToT)", COUNTS,
            measures.TABLES["table14"], measures.defined("tot"),
            scope="prompting", datasets=TOT,
        ),
        _experiment(
            "figure11", "Figure 11: correct arithmetic in the responses of right and wrong answers",
            (Quantity("right answers", "%"), Quantity("wrong answers", "%")), {},
            measures.reasoning, NO_VALUES, "It has ToT alone.",
            scope="dataset", datasets=TOT,
        ),
        _experiment(
            "figure5", "Figure 5: possible sMAPE by exact match", POSSIBLE, {},
            measures.possible_smape, "A bound without data.",
            scope="questions", datasets=BOTH, has_modes=False,
        ),
        _experiment(
            "figures6-10", "Figures 6 to 10: distributions of the gold answers", DENSITIES, {},
            measures.label_densities, NO_VALUES,
            f"Distinct questions; {BINS} bins of equal width from the least to the greatest.",
            scope="questions", datasets=BOTH,
        ),
        Experiment("figures12-13", "Figures 12 and 13: sMAPE and MASE by exact match", (),
                   not_reproduced="its points are the rows of Tables 11 and 12"),
    ),
    models=measures.PUBLISHED.models,
    reads_responses=False,
)  # fmt: skip
