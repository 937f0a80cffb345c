"""`temp-answers` as a Task: its prompt, its scorer, and whether the form asked for was kept."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from agent_env.errors import ConfigError
from agent_env.families.temp_answers.hooks import HOOKS
from agent_env.families.temp_answers.making import AnswerOptions, examples
from agent_env.families.temp_answers.sample import NAME, TimeQuestion, time_question
from agent_env.families.temp_answers.scoring.time_answers import read_response
from agent_env.families.temp_answers.scoring.time_errors import is_transitional, measure, within
from agent_env.families.temp_answers.scoring.time_wanted import TimeAnswer
from agent_env.families.temp_answers.wording import messages
from agent_env.records.schema import Condition, Episode, MaterialTable, Message, Sample, Score
from agent_env.tasks.task import Task

METRICS = ("exact_match", "smape", "mase", "within_1", "off_by_one", "format_kept")
"""`smape` (percent) and `mase` stand in a score where they are defined, the others always."""
ERROR_METRICS = frozenset({"smape", "mase"})


def make_task(prompt: str, options: AnswerOptions, materials: Mapping[str, MaterialTable]) -> Task:
    """The task with its tables."""
    if prompt != "default":
        raise ConfigError(f"unknown prompt '{prompt}'; known: default")

    def start(sample: Sample, condition: Condition) -> tuple[Message, ...]:
        question = time_question(sample)
        table = materials[question.materials[0]] if question.materials else None
        return messages(
            question,
            table,
            examples(question, table, options.shots),
            options.turns,
            is_prefilled(question, condition, options),
        )

    return Task(
        name=NAME,
        sample_type=TimeQuestion,
        prompt=start,
        scorer=score,
        metrics=METRICS,
        error_metrics=ERROR_METRICS,
        default_conditions=("base", "cal", "ci"),
        analysis=HOOKS,
    )


def is_prefilled(question: TimeQuestion, condition: Condition, options: AnswerOptions) -> bool:
    """Whether the answer's object is begun for the model: not where it may call tools."""
    return options.prefill and bool(question.keys) and not condition.tools


def score(sample: Sample, episode: Episode) -> Score:
    """By the `v2` reader; an answer that cannot be read scores 0 and counts 100 % in sMAPE."""
    question = time_question(sample)
    common = {"sample": sample.id, "condition": episode.condition, "repeat": episode.repeat}
    if episode.status != "finished":
        return Score.model_validate({**common, "outcome": episode.status})
    answer = read_answer(question, episode)
    found = measure(answer, question.amount, question.wanted, question.scale)
    metrics: dict[str, float | None] = {
        "exact_match": float(found.exact),
        "within_1": float(within(found.error, 1)),
        "off_by_one": float(found.error is not None and abs(found.error) == 1),
        "format_kept": float(keeps_format(question, episode.answer or "")),
        "smape": found.percentage,
        "mase": found.scaled,
        "signed_error": None if found.error is None else float(found.error),
        "transitional": float(is_transitional(found.error, question.wanted, question.years_only)),
    }
    read = answer.outcome == "parsed"
    return Score.model_validate(
        {
            **common,
            "outcome": "read" if read else "unreadable",
            "answer": (str(answer.amount),) if read and answer.amount is not None else None,
            "rule": answer.rule if read else f"{answer.outcome}: {answer.rule}",
            "metrics": {name: value for name, value in metrics.items() if value is not None},
        }
    )


def read_answer(question: TimeQuestion, episode: Episode) -> TimeAnswer:
    """What the episode's answer says; a text that goes on from the prefill is completed."""
    text = episode.answer
    prefilled = bool(question.keys) and text is not None and "{" not in text.split('"', 1)[0]
    return read_response(text, question.wanted, prefilled)


_LEAD = re.compile(r"\A\s*+(?:```(?:json)?\s*+)?(?:JSON\s*+=\s*+)?")


def keeps_format(question: TimeQuestion, text: str) -> bool:
    """Whether the answer stands as asked: a line `Final Answer:`, or one strict JSON object with
    the keys asked for (Tables 8 and 9 count this)."""
    if not question.keys:
        return re.search(r"^Final Answer: *\S", text, re.M) is not None
    bare = _LEAD.sub("", text.rstrip().removesuffix("```").rstrip())
    for whole in (bare, '{"explanation":' + bare):
        try:
            found = json.loads(whole)
        except (ValueError, RecursionError):
            continue
        return isinstance(found, dict) and {"explanation", *question.keys} <= set(found)
    return False
