"""A user's own questions as a family: prompt, scorer, and shortcuts (the majority, a random answer
or choice, the oracle)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from random import Random

from agent_env.families.qa.reading import read_questions
from agent_env.families.qa.sample import (
    LETTERS,
    NAME,
    QaOptions,
    QaSample,
    ScorerName,
    qa_question,
)
from agent_env.families.qa.scorers import MEASURES, METRICS, answer_text, plain_text
from agent_env.features.answers.schemas import DATE, NUMBER, Schema, list_of, matching
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.family import AnalysisHooks, AnswerForm, Family, SampleSet, Shortcut, Task
from agent_env.sdk.records import (
    TEXT,
    Condition,
    Episode,
    MaterialTable,
    Message,
    Sample,
    Score,
    one_of,
)
from agent_env.sdk.scoring import dates_in, episode_score, stands_in

WITHOUT = ("regex", "judge")
"""Scorers whose right answer is not a text that could be given."""


def shortcuts(options: QaOptions) -> tuple[Shortcut, ...]:
    """Those that the scorer of the options can score."""
    if options.scorer in WITHOUT:
        return ()

    def answer(sample: Sample) -> str:
        gold = qa_question(sample).gold
        if options.scorer == "set":
            return f"MY ANSWER: {json.dumps(list(gold), ensure_ascii=False)}"
        return f"MY ANSWER: {', '.join(gold) if options.scorer == 'dates' else gold[0]}"

    def question(sample: Sample) -> str:
        return cluster_of(sample, options) or sample.id

    chance = Shortcut.random(answer, question=question)
    if options.scorer == "choice":
        chance = Shortcut("random", "a random choice", lambda samples: _random_choice)
    return (Shortcut.majority(answer, question=question), chance, Shortcut.oracle(answer))


def cluster_of(sample: Sample, options: QaOptions) -> str:
    """Its value in the column that the option `cluster` names; "" without one."""
    return qa_question(sample).columns.get(options.cluster, "")


def _random_choice(sample: Sample, rng: Random) -> str | None:
    count = len(qa_question(sample).choices)
    return f"MY ANSWER: {rng.choice(LETTERS[:count])}" if count else None


PROMPT = """\
{context}{question}
{choices}
{form}"""

_LINE = "Finish with one last line that holds nothing but your answer: MY ANSWER: followed by "
NONE: dict[ScorerName, str] = {
    "dates": "If there is no such date, the answer is None. ",
    "set": "If there is none, the answer is None. ",
}
"""Said before the form: as last words, a small model takes it at once."""
FORMS: dict[ScorerName, str] = {
    "exact": "the answer.",
    "normalised": "the answer, as short as possible.",
    "number": "one number.",
    "date": "one date as YYYY-MM-DD, YYYY-MM or YYYY, as precisely as the question asks for it.",
    "dates": "the dates as YYYY-MM-DD, separated by commas.",
    "set": "all answers, separated by semicolons.",
    "choice": "the letter of the right choice.",
    "regex": "the answer.",
    "judge": "the answer.",
}


def make_task(prompt: str, options: QaOptions, materials: Mapping[str, MaterialTable]) -> Task:
    if prompt != "default":
        raise ConfigError(f"unknown prompt '{prompt}'; known: default, or a file of your own")

    def fields(sample: Sample, condition: Condition) -> dict[str, str]:
        return prompt_fields(qa_question(sample), options)

    def start(sample: Sample, condition: Condition) -> tuple[Message, ...]:
        return (Message(role="user", content=_wording(fields(sample, condition))),)

    def score(sample: Sample, episode: Episode) -> Score:
        return score_answer(qa_question(sample), episode, options)

    def groups(sample: Sample) -> Mapping[str, tuple[str, ...]]:
        return {name: (value,) for name, value in qa_question(sample).columns.items()}

    return Task(
        name=NAME,
        sample_type=QaSample,
        prompt=start,
        scorer=score,
        metrics=METRICS.get(options.scorer, ("exact_match",)),
        error_metrics=frozenset({"absolute_error"} if options.scorer == "number" else ()),
        default_conditions=("base",),
        is_judged=options.scorer == "judge",
        placeholders={"question": True, "context": False, "choices": False, "form": False},
        fields=fields,
        wording=_wording,
        form=lambda sample: answer_form(qa_question(sample), options.scorer),
        analysis=AnalysisHooks(
            groups,
            lambda s: cluster_of(s, options),
            options.cluster,
            states_evidence=lambda sample, _: _is_in_context(qa_question(sample)),
        ),
        shortcuts=shortcuts(options),
    )


def _is_in_context(question: QaSample) -> bool | None:
    """Whether the context has a right answer, a date in any notation; None where one may follow
    from it, or from the question alone."""
    text = question.context
    dates = [gold for gold in question.gold if len(gold) == 10 and gold in dates_in(gold)]
    names = (re.search(rf"(?<!\w){re.escape(gold)}(?!\w)", text, re.I) for gold in question.gold)
    return any(names) or any(stands_in(date, text) for date in dates) or None


def answer_form(question: QaSample, scorer: ScorerName) -> AnswerForm:
    answer: Schema = {
        "number": NUMBER,
        "date": matching("[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?"),
        "dates": list_of(DATE, most=31),
        "set": list_of(TEXT, most=31),
        "choice": one_of(LETTERS[: len(question.choices)]),
    }.get(scorer, TEXT)
    separator = "; " if scorer == "set" else ", "

    def text(value: object) -> str:
        return f"MY ANSWER: {separator.join(value) or 'None' if isinstance(value, list) else value}"

    return AnswerForm(answer, text)


def prompt_fields(question: QaSample, options: QaOptions) -> dict[str, str]:
    """The texts of the placeholders."""
    choices = [f"{LETTERS[n]}) {text}" for n, text in enumerate(question.choices)]
    return {
        "question": question.question,
        "context": question.context,
        "choices": "\n".join(choices),
        "form": options.form or NONE.get(options.scorer, "") + _LINE + FORMS[options.scorer],
    }


def _wording(values: Mapping[str, str]) -> str:
    spaced = {name: f"{text}\n" if text else "" for name, text in values.items()}
    context = f"{spaced['context']}\n" if spaced["context"] else ""
    return PROMPT.format(**{**values, "context": context, "choices": spaced["choices"]})


def score_answer(question: QaSample, episode: Episode, options: QaOptions) -> Score:
    if options.scorer == "judge":
        return _judged(question, episode)

    def measure(text: str | None) -> dict[str, object]:
        answer = answer_text(episode)
        zeros = dict.fromkeys((m for m in METRICS.get(options.scorer, ("exact_match",))
                               if m != "absolute_error"), 0.0)  # fmt: skip
        if answer is None:
            rule = "no line that begins with MY ANSWER:"
            return {"outcome": "unreadable", "rule": rule, "metrics": zeros}
        text = answer[0] if options.scorer in ("exact", "regex") else plain_text(answer[0])
        result = MEASURES[options.scorer](question, text, options)
        return {
            "outcome": "unreadable" if result.answer is None else "read",
            "answer": result.answer,
            "rule": f"{result.rule}, {answer[1]}",
            "metrics": zeros | result.metrics,
        }

    return episode_score(question, episode, measure)


def _judged(question: QaSample, episode: Episode) -> Score:
    """By the last verdict of a judge; not scored without one."""
    says = [each for each in episode.judged if each.says in ("right", "wrong")]

    def measure(text: str | None) -> dict[str, object]:
        if not says:
            judge = "agent-env episodes judge RUN --model MODEL --metric judged_right"
            rule = f"no verdict yet: {judge}"
            if episode.judged:
                rule = f"no verdict of the judge is right or wrong; ask again: {judge} --again"
            return {"outcome": "scorer_failed", "rule": rule}
        rule = f"verdict of {says[-1].judge}"
        metrics = {"judged_right": float(says[-1].says == "right")}
        return {"outcome": "read", "answer": (text or "",), "rule": rule, "metrics": metrics}

    return episode_score(question, episode, measure)


def _no_samples(count: int, seed: int, options: QaOptions) -> SampleSet:
    raise ConfigError(
        "qa asks a file of yours: --dataset questions.jsonl (or .csv, .tsv, .parquet)"
    )


FAMILY = Family(NAME, make_task, _no_samples, QaOptions, read_questions)
