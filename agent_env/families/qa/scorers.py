"""Scorers for a user's questions: each compares the answer of a reply with the accepted answers.

The answer is the text after `MY ANSWER:`, or of another clear form (`answers.answer_parts`). An
answer without one scores 0.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

import regex

from agent_env.families.qa.sample import (
    LETTERS,
    QaOptions,
    QaSample,
    ScorerName,
    as_number,
    normal_form,
)
from agent_env.features.answers.answer_parts import answer_parts
from agent_env.features.answers.date_answers import parse_date_text
from agent_env.features.answers.date_sets import exact_match, f1
from agent_env.features.answers.hedges import UNFINISHED, hedge
from agent_env.features.answers.names import asks, names_in, names_of_json, token_f1
from agent_env.features.answers.notations import one_notation, qualifier, without_latex
from agent_env.features.answers.number_answers import parse_number_text
from agent_env.features.answers.time_references import time_references
from agent_env.sdk.records import Episode
from agent_env.temporal.days import PartialDate
from agent_env.temporal.written import ANY_MONTH

PATTERN_TIMEOUT_S = 1.0
"""For one pattern of the user's over one answer."""


@dataclass(frozen=True, slots=True)
class Assessment:
    answer: tuple[str, ...] | None
    """None for an answer that cannot be parsed."""
    rule: str
    metrics: dict[str, float]


Measure = Callable[[QaSample, str, QaOptions], Assessment]
"""From the question, the text of the answer, and the options."""


def answer_text(episode: Episode) -> tuple[str, str] | None:
    """The text of the answer and the rule that found it; None without one."""
    is_final = episode.stop_reason in (None, "answered")
    part = next(iter(answer_parts(episode.answer or "", is_final, of_dates=False)), None)
    if part is None or part.problem:
        return None
    text = part.text.strip()
    return text.strip("*`").strip() or text, part.where


def plain_text(text: str) -> str:
    """The text of an answer without LaTeX and without the JSON around a single value; a list stays
    JSON, of its values alone."""
    try:
        value = json.loads(text) if text[:1] in ("{", "[", '"') else None
    except (ValueError, RecursionError):
        value = None
    values = None if value is None else names_of_json(value)
    if values is None:
        return without_latex(text)
    if len(values) != 1 or "[" in text:
        return json.dumps(values, ensure_ascii=False)
    key = next(iter(value)).replace("_", " ") if isinstance(value, dict) and len(value) == 1 else ""
    says = f"{key} " if qualifier(f"{key} ", "") else ""  # {"before": "1997"}
    return says + without_latex(values[0]).strip()


def _single(match: float, answer: str, rule: str, **more: float) -> Assessment:
    return Assessment((answer,), rule, {"exact_match": match, **more})


def exact(question: QaSample, text: str, options: QaOptions) -> Assessment:
    """Equal to an accepted answer, character by character."""
    return _single(float(text in question.gold), text, "whole answer")


def normalised(question: QaSample, text: str, options: QaOptions) -> Assessment:
    """Equal after normalisation; `token_f1` is SQuAD's, with the best accepted answer."""
    accepted = [normal_form(gold) for gold in question.gold]
    answer = normal_form(text)
    match = float(answer in accepted and not asks(text, question.gold))
    return _single(match, text, "whole answer, normalised", token_f1=token_f1(accepted, answer))


_PERCENT = re.compile(r"%|\bper ?cent", re.I)


def number(question: QaSample, text: str, options: QaOptions) -> Assessment:
    """Within the tolerance of an accepted number; the answer may have words and a unit around one
    number. `absolute_error` is the distance to the nearest accepted one."""
    value, problem = parse_number_text(text, _PERCENT.search(question.question) is not None)
    if value is None:
        return Assessment(None, problem, {"exact_match": 0.0})
    accepted = [as_number(gold) for gold in question.gold]
    distance = min(abs(value - gold) for gold in accepted)
    match = any(abs(value - gold) <= _tolerance(gold, options) for gold in accepted)
    return _single(float(match), str(value), "the one number", absolute_error=float(distance))


def _tolerance(gold: Decimal, options: QaOptions) -> Decimal:
    share = Decimal(str(options.relative_tolerance)) * abs(gold)
    return max(Decimal(str(options.tolerance)), share)


_BARE_YEAR = re.compile(r"(?:in )?(?:the year )?(\d{1,3})\.?", re.I)


_LOOSE = re.compile(
    r"(?<![\w.,:/\[(#])\d{1,2}(?:st|nd|rd|th)?(?!\w|[.,:]\d|[.)\]] ?\0|%| ?[^\W\d_]{2,}(?<! of))"
    rf"|\b(?:{ANY_MONTH})\.?,? \d{{1,2}}(?!\d)|\b(?:month|day)\W{{1,4}}\d",
    re.I,
)
"""A day or a month beside a year."""


def date(question: QaSample, text: str, options: QaOptions) -> Assessment:
    """The one date of the answer, as precise as an accepted one or finer, and in agreement."""
    if bare := _BARE_YEAR.fullmatch(text):
        text = f"{bare[1]:0>4}"
    text = one_notation(text)
    places = [each for each in time_references(text) if each.date is not None]
    references = {str(each.date) for each in places}
    if len(references) != 1:
        reason = "no date" if not references else f"{len(references)} different dates"
        return Assessment(None, reason, {"exact_match": 0.0})
    qualified = (qualifier(text[: each.at[0]], text[each.at[1] :]) for each in places)
    if why := next(filter(None, qualified), "") or hedge(text, [each.at for each in places]):
        return Assessment(None, why, {"exact_match": 0.0})
    (value,) = references
    spans = [0, *(index for each in places for index in each.at), len(text)]
    rest = "\0".join(text[a:b] for a, b in zip(spans[::2], spans[1::2], strict=True))
    if len(value) < 10 and (left := _LOOSE.search(rest)):
        return Assessment(None, f"leaves '{left[0]}' beside its date", {"exact_match": 0.0})
    accepted = [str(PartialDate.parse(gold)) for gold in question.gold]
    match = any(value == gold or value.startswith(f"{gold}-") for gold in accepted)
    return _single(float(match), value, "the one date")


def dates(question: QaSample, text: str, options: QaOptions) -> Assessment:
    """The set of days: exact match and F1."""
    parsed = parse_date_text(text)
    if parsed.dates is None:
        return Assessment(None, parsed.rule, {"exact_match": 0.0, "f1": 0.0})
    gold, answer = frozenset(question.gold), frozenset(parsed.dates)
    metrics = {"exact_match": exact_match(gold, answer), "f1": f1(gold, answer)}
    return Assessment(parsed.dates, parsed.rule, metrics)


def members(question: QaSample, text: str, options: QaOptions) -> Assessment:
    """The set of normalised members: exact match and F1."""
    listed = names_in(text, "list", question.gold)
    if listed.names is None or UNFINISHED.search(text):
        rule = "breaks off in a list" if listed.names else listed.rule
        return Assessment(None, rule, {"exact_match": 0.0, "f1": 0.0})
    gold = {normal_form(each) for each in question.gold}
    answer = {normal_form(each) for each in listed.names}
    metrics = {"exact_match": exact_match(gold, answer), "f1": f1(gold, answer)}
    return Assessment(listed.names, listed.rule, metrics)


_LETTER = re.compile(r"[\s(\[]{0,9}([A-Za-z])(?:(?P<mark>[)\].:]{1,3})|\s|$)")


def choice(question: QaSample, text: str, options: QaOptions) -> Assessment:
    letter, rule = _chosen(question.choices, text)
    if letter is None:
        return Assessment(None, rule, {"exact_match": 0.0})
    return _single(float(letter in question.gold), letter, rule)


_GIVES = re.compile(
    r"(?:[*_]{0,2}(?:(?:so|thus|hence|therefore),? )?(?:(?:it|this|that)(?:['’]s| is| was)\b"
    r"|(?:(?:the|my) )?(?:(?:final|correct|right|best|only) )?(?:answer|option|choice|letter)\b"
    r"(?: is| was)?)[\s:=*_]{0,5}){1,3}",
    re.I,
)
"""Words before a choice, such as "The answer is option"."""


def _chosen(choices: tuple[str, ...], text: str) -> tuple[str | None, str]:
    """The letter of the choice that the text names, and the rule."""
    plain = {" ".join(each.casefold().split()): LETTERS[n] for n, each in enumerate(choices)}
    by_text = {normal_form(each): LETTERS[n] for n, each in enumerate(choices)}
    if (whole := plain.get(" ".join(text.casefold().split()))) is not None:
        return whole, "text of a choice"
    text = text.strip("[]\"' ")
    if (gives := _GIVES.match(text)) is not None and normal_form(text) not in by_text:
        text = text[gives.end() :]
    match = _LETTER.match(text)
    if match is not None and match[1].upper() in LETTERS[: len(choices)]:
        letter, rest = match[1].upper(), normal_form(text[match.end() :])
        owner = by_text.get(rest)
        if not rest or owner == letter or (owner is None and match["mark"]):
            why = hedge(text, [match.span(1)])
            return (None, why) if why else (letter, "letter")
        if owner is not None:
            return None, "letter and text of two choices"
    by_name = by_text.get(normal_form(text))
    return by_name, "text of a choice" if by_name else "no choice"


def pattern(question: QaSample, text: str, options: QaOptions) -> Assessment:
    """An accepted pattern is found in the answer."""
    found = any(
        regex.search(each, text, timeout=PATTERN_TIMEOUT_S) is not None for each in question.gold
    )
    return _single(float(found), text, "pattern")


MEASURES: dict[ScorerName, Measure] = {
    "exact": exact,
    "normalised": normalised,
    "number": number,
    "date": date,
    "dates": dates,
    "set": members,
    "choice": choice,
    "regex": pattern,
}
METRICS: dict[ScorerName, tuple[str, ...]] = {
    "normalised": ("exact_match", "token_f1"),
    "number": ("exact_match", "absolute_error"),
    "dates": ("exact_match", "f1"),
    "set": ("exact_match", "f1"),
    "judge": ("judged_right",),
}
"""Of the scorers with more than `exact_match`."""
