"""The experiments of TempAnswerQA (Abbood et al. 2025), for `agent-env study reproduce`.

Response files in the published layout and runs on generated questions are scored alike, apart from
each other, in both modes: `paper` (the published rules) and `v2` (ours).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path

from agent_env.features.papers.paper import Evidence, Experiment, Reproduction
from agent_env.features.papers.temp_answers import paper_measures as measures
from agent_env.features.papers.temp_answers.commands import ScoreOptions, score_answers
from agent_env.features.papers.temp_answers.paper_answers import MODE
from agent_env.features.papers.temp_answers.paper_measures import Answers
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.results import Estimate, Measurement

Measure = Callable[[Answers], Iterable[tuple[str, str, Estimate]]]
"""Rows, quantities and estimates of one set of answers in one mode."""


def measured(measure: Measure) -> Callable[[Experiment, Evidence], Iterator[Measurement]]:
    """The measure of the response files and of the runs of an experiment's setups, in each mode;
    once where modes do not differ."""

    def every(experiment: Experiment, evidence: Evidence) -> Iterator[Measurement]:
        about = experiment.about
        has_modes = about.get("has_modes", True)
        folders = [path for name in experiment.setups for path in evidence.folders.get(name, ())]
        for source, paths in (("responses", evidence.responses), ("runs", tuple(folders))):
            for mode, answers in list(_answers(paths, evidence).items())[: 2 if has_modes else 1]:
                name = f"{source}, mode {mode}" if has_modes else source
                for row, quantity, estimate in measure(answers):
                    reason = "questions are generated, the paper's are not"
                    if source == "responses":
                        reason = measures.other_answers(
                            answers, about["scope"], about["datasets"], row, quantity
                        )
                    yield Measurement(
                        row, quantity, estimate, model=name, incomparable=reason, setup=source
                    )

    return every


def _answers(paths: tuple[Path, ...], evidence: Evidence) -> Mapping[str, Answers]:
    """The scored answers by mode; without `paper` where its packages are missing."""
    if not paths:
        return {}
    dated = tuple((path, path.stat().st_mtime_ns) for path in paths)
    try:
        return _scored(dated, None)
    except ConfigError as exc:
        if not str(exc).startswith(f"{MODE} needs"):
            raise
        evidence.note(f"without mode paper: {exc}")
        return _scored(dated, "v2")


@lru_cache(maxsize=4)
def _scored(paths: tuple[tuple[Path, int], ...], mode: str | None) -> Mapping[str, Answers]:
    """Scored once for all experiments; the times of the files tell whether they have changed."""
    return score_answers(ScoreOptions(tuple(path for path, _ in paths), mode)).modes


MEASURES = {
    each.__name__: each
    for each in (
        measures.units, measures.rankings, measures.correlations, measures.frequent_errors,
        measures.question_types, measures.answer_formats, measures.directions,
        measures.parsing_errors, measures.markers, measures.reasoning, measures.possible_smape,
        measures.label_densities,
    )
} | {
    f"{each.__name__} of {name}": partial(each, dataset=dataset)
    for each in (measures.performance, measures.defined)
    for dataset, name in measures.DATASETS.items()
}  # fmt: skip
"""What `paper.toml` calls them."""
PAPER = Reproduction.beside(
    __file__,
    measures={name: measured(each) for name, each in MEASURES.items()},
    reads_responses=False,
)
