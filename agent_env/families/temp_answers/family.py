"""The family temp-answers."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random

from agent_env.families.temp_answers.generator import AnswerOptions, examples, make_samples
from agent_env.families.temp_answers.sample import NAME, TimeQuestion, time_question
from agent_env.families.temp_answers.scoring.answer_spec import SECONDS, TimeAnswer, same
from agent_env.families.temp_answers.scoring.time_answers import read_response
from agent_env.families.temp_answers.scoring.time_errors import is_transitional, measure, within
from agent_env.families.temp_answers.wording import (
    PLACEHOLDERS,
    is_continued,
    is_prefilled,
    messages,
    prompt_fields,
)
from agent_env.features.answers.schemas import DATE, INTEGER, NUMBER, Schema, matching
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.family import AnalysisHooks, AnswerForm, Family, Shortcut, Task
from agent_env.sdk.records import (
    TEXT,
    Condition,
    Episode,
    MaterialTable,
    Message,
    Sample,
    Score,
    closed,
)
from agent_env.sdk.run import hook
from agent_env.sdk.scoring import episode_score

HIDDEN = {"gold": (), "amount": 0, "label": ""}


def shortcuts() -> tuple[Shortcut, ...]:
    """Median, most frequent and random answer of the same split, unit and form; the gold."""
    return (
        Shortcut("median", "the median answer of the set's other questions of its unit", _median),
        Shortcut.majority(answer_text, _kind),
        Shortcut.random(answer_text, _kind),
        Shortcut.oracle(answer_text),
    )


def answer_text(sample: Sample) -> str:
    """The gold as the prompt asks for it."""
    question = time_question(sample)
    if not question.keys:
        return f"Final Answer: {question.gold[0]}"
    try:
        answer = ast.literal_eval(question.label)
    except (ValueError, SyntaxError):
        answer = None
    if not isinstance(answer, dict):
        answer = {next(iter(question.keys)): question.gold[0]}
    return json.dumps({"explanation": "a shortcut", **answer}, ensure_ascii=False, default=str)


def _kind(sample: Sample) -> str:
    """What questions share whose answers have one form."""
    own = time_question(sample)
    return json.dumps([own.split, own.kind, own.unit, own.answer_format, own.keys])


def _median(samples: Sequence[Sample]) -> Callable[[Sample, Random], str | None]:
    own: dict[str, list[TimeQuestion]] = {}
    for sample in samples:
        own.setdefault(_kind(sample), []).append(time_question(sample))
    for questions in own.values():
        questions.sort(key=lambda question: (question.amount, question.id))

    def guess(sample: Sample, rng: Random) -> str | None:
        others = [question for question in own[_kind(sample)] if question.id != sample.id]
        return answer_text(others[len(others) // 2]) if others else None

    return guess


METRICS = ("exact_match", "smape", "mase", "within_1", "off_by_one", "floor_match", "round_match",
           "format_kept")  # fmt: skip
"""A score always has them, except `smape` (percent) and `mase` where they are not defined."""


def make_task(prompt: str, options: AnswerOptions, materials: Mapping[str, MaterialTable]) -> Task:
    if prompt != "default":
        raise ConfigError(f"unknown prompt '{prompt}'; known: default")

    def start(sample: Sample, condition: Condition) -> tuple[Message, ...]:
        question = time_question(sample)
        table = materials[question.materials[0]] if question.materials else None
        return messages(
            question,
            table,
            examples(question, table, options.shots, options.level == "easy"),
            options.turns,
            is_prefilled(question, condition, options),
        )

    def fields(sample: Sample, condition: Condition) -> dict[str, str]:
        question = time_question(sample)
        table = materials[question.materials[0]] if question.materials else None
        return prompt_fields(question, table)

    return Task(
        name=NAME,
        sample_type=TimeQuestion,
        prompt=start,
        placeholders=PLACEHOLDERS,
        fields=fields,
        scorer=score,
        authors_scorer=lambda: hook("authors-of-temp-answers", "--scorer authors"),
        form=lambda sample: answer_form(time_question(sample)),
        metrics=METRICS,
        error_metrics=frozenset({"smape", "mase"}),
        default_conditions=("base", "cal", "python"),
        analysis=AnalysisHooks(
            _groups,
            lambda s: s.materials[0] if s.materials else "",
            "table or graph",
            states_evidence=lambda sample, condition: True,
        ),
        shortcuts=shortcuts(),
        hidden=HIDDEN,
    )


CLOCK = "[0-2][0-9]:[0-5][0-9]:[0-5][0-9]"
BY_KIND: dict[str, Schema] = {
    "number": NUMBER, "date": DATE, "year": matching("[0-9]{1,4}( BC)?"), "time": matching(CLOCK),
}  # fmt: skip


def answer_form(question: TimeQuestion) -> AnswerForm:
    """A value by the question's kind, or an object with its keys."""
    single = BY_KIND.get(question.kind, TEXT)
    if not question.keys:
        return AnswerForm(single, "Final Answer: {}".format)
    by_unit = {"answer": single, "day": INTEGER, "time": matching(CLOCK)}
    values = {key: by_unit.get(unit, NUMBER) for key, unit in question.keys.items()}
    if len(values) == 1:
        ((key, value),) = values.items()
        return AnswerForm(value, lambda one: json.dumps({"explanation": "", key: one}))
    return AnswerForm(closed(values), lambda found: json.dumps({"explanation": "", **found}))


def _groups(sample: Sample) -> dict[str, tuple[str, ...]]:
    """By split, question type and unit."""
    q = time_question(sample)
    return {
        "split": (q.split,),
        "question type": (q.question_type,),
        "unit": (q.answer_unit,),
    }


def score(sample: Sample, episode: Episode) -> Score:
    """By the `v2` answer parser; an unparsable answer scores 0 and counts 100 % in sMAPE."""
    question = time_question(sample)
    return episode_score(sample, episode, lambda text: _measure(question, episode))


def _measure(question: TimeQuestion, episode: Episode) -> dict[str, object]:
    answer = read_answer(question, episode)
    error = measure(answer, question.amount, question.spec, question.scale)
    metrics: dict[str, float | None] = {
        "exact_match": float(error.exact),
        "within_1": float(within(error.distance, 1)),
        "floor_match": float(error.floor),
        "round_match": float(error.rounded),
        "off_by_one": float(error.error is not None and abs(error.error) == 1),
        "format_kept": float(keeps_format(question, episode.answer or "")),
        "smape": error.percentage,
        "mase": error.scaled,
        "signed_error": None if error.error is None else float(error.error),
        "transitional": float(is_transitional(error.error, question.spec, question.years_only)),
    }
    return {
        "outcome": "read" if answer.is_parsed else "unreadable",
        "answer": None if answer.amount is None else (written(question, answer),),
        "rule": answer.rule if answer.outcome == "parsed" else f"{answer.outcome}: {answer.rule}",
        "metrics": {name: value for name, value in metrics.items() if value is not None},
    }


PARTS = SECONDS | {"day": SECONDS["days"], "time": 1}
"""What the key of an answer's object counts, in seconds."""


def written(question: TimeQuestion, answer: TimeAnswer) -> str:
    """The answer's amount as the gold is written: a right one as the gold itself, a date by its
    year, month and day, a clock time or named parts of a duration by their parts."""
    amount, day = answer.amount, answer.date
    if amount is None or same(amount, question.amount):
        return question.gold[0]
    if day is not None and day.year is not None:
        year, era = (day.year, "") if day.year > 0 else (1 - day.year, " BC")
        if question.kind == "year":
            return f"{year}{era}"
        parts = (part for part in (day.month, day.day) if part is not None)
        return "-".join((f"{year:04}", *(f"{part:02}" for part in parts))) + era
    keys = {"": "time"} if question.kind == "time" else question.keys
    if not keys or not {*keys.values()} <= PARTS.keys() or question.unit not in SECONDS:
        return str(amount)
    rest, texts = abs(round(amount * SECONDS[question.unit])), dict[str, str]()
    for key, unit in sorted(keys.items(), key=lambda item: -PARTS[item[1]]):
        count, rest = divmod(rest, PARTS[unit])
        clock = f"{count // 3600:02}:{count // 60 % 60:02}:{count % 60:02}"
        texts[key] = f"{key} {clock if unit == 'time' else count}".strip()
    return ("-" if amount < 0 else "") + ", ".join(texts[key] for key in keys)


def read_answer(question: TimeQuestion, episode: Episode) -> TimeAnswer:
    """The parsed answer of an episode; a text that continues the prefill is completed first."""
    prefilled = is_continued(question, episode.answer)
    return read_response(episode.answer, question.spec, prefilled)


_LEAD = re.compile(r"\A\s*+(?:```(?:json)?\s*+)?(?:JSON\s*+=\s*+)?")


def keeps_format(question: TimeQuestion, text: str) -> bool:
    """Whether the answer has the requested form: a line `Final Answer:`, or one strict JSON object
    with the requested keys (counted in Tables 8 and 9)."""
    if not question.keys:
        return re.search(r"^Final Answer: *\S", text, re.M) is not None
    bare = _LEAD.sub("", text.rstrip().removesuffix("```").rstrip())
    for whole in (bare, '{"explanation":' + bare):
        try:
            content = json.loads(whole)
        except (ValueError, RecursionError):
            continue
        return isinstance(content, dict) and {"explanation", *question.keys} <= set(content)
    return False


FAMILY = Family(
    NAME,
    make_task,
    make_samples,
    AnswerOptions,
    reference="agent_env.families.temp_answers.reference:next_step",
    levels=Path(__file__).with_name("difficulty.toml"),
)
