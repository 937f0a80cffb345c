"""The rules by which the authors of TempAnswerQA score a response, for one answer of a run.

MASE is left out: it divides by clusters over the labels of all response files together
(`agent-env questions score-answers --mode paper`).
"""

from __future__ import annotations

from pathlib import Path

from agent_env.families.temp_answers.sample import TimeQuestion, time_question
from agent_env.families.temp_answers.wording import is_continued
from agent_env.features.papers.temp_answers.responses import ResponseFile, response_row
from agent_env.sdk.family import PublishedScorer
from agent_env.sdk.records import Episode, Sample, Score
from agent_env.sdk.scoring import episode_score

METRICS = ("exact_match", "smape")


def score(sample: Sample, episode: Episode) -> Score:
    """Exact match, and sMAPE where it is defined."""
    return episode_score(sample, episode, lambda text: _measure(time_question(sample), episode))


def _measure(question: TimeQuestion, episode: Episode) -> dict[str, object]:
    from agent_env.features.papers.temp_answers.modes import score_paper

    dataset = "tot" if question.keys else "ttqa"
    prefilled = is_continued(question, episode.answer)
    row = response_row(1, question, episode)
    file = ResponseFile(Path(episode.condition), dataset, "", "", prefilled, (row,))
    ((item,),) = score_paper([file], clustered=False).items
    metrics = {"exact_match": float(item.exact)}
    if item.percentage is not None:
        metrics["smape"] = item.percentage
    outcome = "read" if item.outcome == "parsed" else "unreadable"
    return {"outcome": outcome, "rule": item.rule, "metrics": metrics}


SCORER = PublishedScorer(score, METRICS)
