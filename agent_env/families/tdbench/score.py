"""Measures an answer to a question from a temporal table: the answer, its dates, both, the hops.

Metrics (paper, sections 3.2, 4 and B.4; docs/tdbench.md lists the differences):

  answer       A: 1 where the answer names exactly the gold names, or states that there is none
  time         T: share of the expected dates of the gold rows that the answer states in their role;
               absent where none is expected, as for questions without an answer
  answer_time  AT: 1 where A and T both are 1; absent where T is
  f1           of the names in the answer against the gold names
  no_answer, unsure    1 where the answer says so
  correct, outdated, incorrect (and each with `_time`)   of `current` questions
  hop_1, hop_2, …      whether hop i is right; hallucination_i: whether hop i + 1 is wrong, absent
                       where hop i is (H_i is its mean)
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from agent_env.families.tdbench.name_answers import (
    Mention,
    NameAnswer,
    answer_part,
    find_names,
    normalised,
    parse_known_names,
    parse_number,
    without_json,
)
from agent_env.families.tdbench.sample import Role, TdbenchSample, rows_of, tdbench_sample
from agent_env.features.answers.answer_parts import user_text
from agent_env.features.answers.date_sets import f1
from agent_env.features.answers.notations import one_notation
from agent_env.features.answers.time_references import (
    TimeReference,
    says_role,
    sentence_starts,
    time_references,
)
from agent_env.features.facts.tables.temporal_table import LENGTHS
from agent_env.sdk.models import Scorer
from agent_env.sdk.records import Episode, MaterialTable, Sample, Score
from agent_env.sdk.scoring import episode_score

METRICS = ("answer", "answer_time", "time", "f1", "no_answer", "unsure")
"""The metrics of a run's table, the main one first."""
_ISO = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?")
UNSURE = "unsure"
MISSPELT = {"ilegal": "illegal"}
"""Values that the published tables misspell, with the word that is meant: both are one answer."""
MAX_CHARACTERS = 20_000
"""Only the last ones of an answer are read, as the time grows with their square."""


def make_scorer(tables: Mapping[str, MaterialTable]) -> Scorer:
    """The scorer; `outdated_time` needs the tables, which hold since when a former value held."""

    def score(sample: Sample, episode: Episode) -> Score:
        own = tdbench_sample(sample)
        table = tables.get(own.materials[0]) if own.materials else None
        return episode_score(sample, episode, lambda text: measure(own, text, table))

    return score


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    text: str
    names: NameAnswer
    references: tuple[TimeReference, ...]
    owners: tuple[str | None, ...]
    """By reference: the gold or wrong name that it belongs to; None where no name is near."""


def measure(
    sample: TdbenchSample, text: str | None, table: MaterialTable | None = None
) -> dict[str, object]:
    """Outcome, answer, rule and metrics of one answer, as fields of a Score."""
    parsed = parse_answer(sample, text or "")
    names = parsed.names
    if names.rule == "no text":
        return {"outcome": "unreadable", "rule": names.rule, "metrics": _zeros(sample)}
    # the answer in normal form: gold and wrong names, then other entries; a number in digits
    values, rule = (*names.names, *names.others), names.rule
    if sample.answer_type == "number" and not (names.none or names.unsure):
        number = _number(parsed)
        values, rule = ((), "no number") if number is None else ((str(number),), "a number")
    exact = sample.cardinality == "none"
    is_right = names.none and not values if exact else set(values) == set(sample.gold)
    metrics = {
        "answer": float(is_right),
        "f1": float(is_right) if exact else f1(set(sample.gold), set(values)),
        "no_answer": float(names.none),
        "unsure": float(names.unsure),
    }
    share = time_share(sample, parsed, _expected_dates(sample))
    if share is not None:
        metrics |= {"time": share, "answer_time": float(is_right and share == 1)}
    metrics |= _alignment(sample, parsed, values, is_right, share, table)
    metrics |= _hops(sample, parsed, is_right)
    answer = (UNSURE,) if names.unsure else values
    return {"outcome": "read", "answer": answer, "rule": rule, "metrics": metrics}


def parse_answer(sample: TdbenchSample, text: str) -> ParsedAnswer:
    """The names and dates of the text without its reasoning; of a long one, of its last part."""
    known = (*sample.gold, *sample.others)
    own = without_json(one_notation(normalised(user_text(text)[-MAX_CHARACTERS:])))
    plain = _as_spelt(own, known)
    aliases = {alias: name for name, others in sample.aliases.items() for alias in others}
    names = parse_known_names(plain, known, aliases, sample.question)
    references = time_references(plain)
    return ParsedAnswer(plain, names, references, tuple(_owners(plain, names.mentions, references)))


def _as_spelt(text: str, known: Sequence[str]) -> str:
    """The text with a word as the published table misspells it, where the table does."""
    for spelt, word in MISSPELT.items():
        if any(name.casefold() == spelt for name in known):
            text = re.sub(rf"\b{word}\b", spelt, text, flags=re.I)
    return text


def _number(parsed: ParsedAnswer) -> int | None:
    """The number beside the dates; one that could be a year, such as 1096, where it is alone."""
    number = parse_number(parsed.text, [ref.at for ref in parsed.references])
    if number is not None:
        return number
    full = [ref.at for ref in parsed.references if ref.date is None or ref.date.month is not None]
    return parse_number(parsed.text, full)


def _zeros(sample: TdbenchSample) -> dict[str, float]:
    zeros = dict.fromkeys(("answer", "f1", "no_answer", "unsure"), 0.0)
    if _expected_dates(sample):
        zeros |= {"time": 0.0, "answer_time": 0.0}
    if sample.kind == "current":
        zeros |= dict.fromkeys(("correct", "outdated"), 0.0) | {"incorrect": 1.0}
    return zeros | {f"hop_{n}": 0.0 for n, _ in enumerate(sample.hops, start=1)}


# Time references --------------------------------------------------------------------------------

ExpectedDate = tuple[str, Role, str]
"""A name, a role, and the date that must be stated, at the precision asked for."""


def _expected_dates(sample: TdbenchSample) -> tuple[ExpectedDate, ...]:
    """The dates that the sample's roles ask for; not the end of what still lasts."""
    return tuple(
        (row.answer, role, _cut(sample, day))
        for row in sample.golds
        for role in sample.roles
        if (day := row.start if role == "start" else row.end) is not None
    )


def _cut(sample: TdbenchSample, day: str) -> str:
    """The date at the sample's granularity; for `current` questions, which ask for month and year,
    to the month at most."""
    length = LENGTHS[sample.granularity]
    return day[: min(length, 7) if sample.kind == "current" else length]


def time_share(
    sample: TdbenchSample, parsed: ParsedAnswer, expected: Sequence[ExpectedDate]
) -> float | None:
    """Share of the expected dates that are stated in their role for their name (equation 1); None
    where none is expected."""
    if not expected:
        return None
    begin = answer_part(parsed.text)
    pairs = list(zip(parsed.references, parsed.owners, strict=True))
    final = [pair for pair in pairs if pair[0].at[0] >= begin and pair[0].role]
    gold = {name for name, _, _ in expected}
    right = 0
    for name, role, day in expected:
        rows = sum(1 for e in expected if e[:2] == (name, role))
        dates = _dates_of(final or pairs, name, role, gold)[:rows]
        right += any(date.startswith(day) for date in dates)
    return right / len(expected)


def _dates_of(
    pairs: Sequence[tuple[TimeReference, str | None]], name: str, role: Role, gold: set[str]
) -> list[str]:
    """The dates stated in this role for this name, in order; where the name has no date, those that
    belong to no gold name. A coarse date that a finer one repeats is omitted."""
    own = [ref for ref, owner in pairs if owner == name]
    refs = own or [ref for ref, owner in pairs if owner not in gold]
    dates = [str(ref.date) for ref in refs if ref.role == role and ref.date is not None]
    distinct = list(dict.fromkeys(dates))
    return [d for d in distinct if not any(o != d and o.startswith(d) for o in distinct)]


def _owners(
    text: str, mentions: Sequence[Mention], references: Sequence[TimeReference]
) -> Iterable[str | None]:
    """The owner of each reference: the name before it in its sentence, else the first one behind it
    there, else the last one of an earlier sentence."""
    starts = sentence_starts(text) if references and mentions else ()
    for ref in references:
        number = bisect_right(starts, ref.at[0])
        low = starts[number - 1] if number else 0
        high = starts[number] if number < len(starts) else len(text)
        inside = [m for m in mentions if low <= m.at[0] < high]
        before = [m for m in inside if m.at[0] < ref.at[0]]
        while before and before[-1].how == "aside" and not _has_own(text, before[-1], references):
            before.pop()  # who succeeded X on that day: the day is not X's
        earlier = [m for m in mentions if m.at[0] < low and m.how == "given"]
        behind = [m for m in inside if m.at[0] > ref.at[0] and m.how == "given"]
        owners = before[-1:] or behind[:1] or earlier[-1:]
        yield owners[0].name if owners else None


def _has_own(text: str, aside: Mention, references: Sequence[TimeReference]) -> bool:
    """Whether the next date behind a name belongs to it: `X, who began on that day`."""
    following = next((ref.at[0] for ref in references if ref.at[0] > aside.at[1]), len(text))
    return says_role(text[aside.at[1] : following])


# What holds now, and hops -----------------------------------------------------------------------


def _alignment(
    sample: TdbenchSample,
    parsed: ParsedAnswer,
    values: Sequence[str],
    is_right: bool,
    share: float | None,
    table: MaterialTable | None,
) -> dict[str, float]:
    """Correct, outdated (only values that held before now) or incorrect, without and with T."""
    if sample.kind != "current":
        return {}
    old = bool(values) and not is_right and set(values) <= set(sample.outdated)
    neither = parsed.names.none or parsed.names.unsure
    classes = {
        "correct": float(is_right),
        "outdated": float(old),
        "incorrect": float(not is_right and not old and not neither),
    }
    if share is None:
        return classes
    dated = is_right and share == 1
    old_dated = old and time_share(sample, parsed, _former_starts(sample, values, table)) == 1
    wrong = not dated and not old_dated and not neither
    with_time = zip(classes, (dated, old_dated, wrong), strict=True)
    return classes | {f"{name}_time": float(value) for name, value in with_time}


def _former_starts(
    sample: TdbenchSample, values: Sequence[str], table: MaterialTable | None
) -> tuple[ExpectedDate, ...]:
    """Since when the former values last held, by the table."""
    last: dict[str, str] = {}
    keys = {name.casefold(): value for name, value in sample.asked.items()}
    for row in rows_of(table, range(len(table.rows) if table else 0)):
        if "start" in row and all(row.get(name, value) == value for name, value in keys.items()):
            value = ", ".join(row[a.casefold()] for a in sample.answers if a.casefold() in row)
            if value in values:
                last[value] = max(last.get(value, ""), row["start"])
    return tuple((name, "start", _cut(sample, day)) for name, day in last.items())


def _hops(sample: TdbenchSample, parsed: ParsedAnswer, is_right: bool) -> dict[str, float]:
    """Whether the answer names each hop's values anywhere; the last hop is the answer itself."""
    if not sample.hops:
        return {}
    reached = [*(_names_hop(parsed.text, hop.gold) for hop in sample.hops[:-1]), is_right]
    metrics = {f"hop_{number}": float(each) for number, each in enumerate(reached, start=1)}
    for number in range(1, len(reached)):
        if reached[number - 1]:
            metrics[f"hallucination_{number}"] = float(not reached[number])
    return metrics


def _names_hop(text: str, gold: Sequence[str]) -> bool:
    """Whether the text holds all values; a date counts in any notation, at any precision."""
    dates = {str(ref.date) for ref in time_references(text)}
    days = [value for value in gold if _ISO.fullmatch(value)]
    names = {value for value in gold if value not in days}
    mentions = {m.name for m in find_names(text, list(names)) if m.how != "denied"}
    return names <= mentions and all(
        day in text or any(day.startswith(d) or d.startswith(day) for d in dates) for day in days
    )
