"""Measures an answer to a question from a temporal table: the answer, its dates, both, the hops.

Metrics (paper, sections 3.2, 4 and B.4; what differs is said in docs/tdbench-scores.md):

  answer       A: 1 where exactly the gold names are given, or the absence of any is said
  time         T: share of the asked dates of the gold rows that are given in their role; absent
               where none is asked, as for questions without an answer
  answer_time  AT: 1 where A and T both are 1; absent where T is
  f1           of the names given against the gold names
  no_answer, unsure    1 where the episode says so
  correct, outdated, incorrect (and each with `_time`)   of `current` questions
  hop_1, hop_2, …      whether hop i is right; hallucination_i: whether hop i + 1 is wrong, absent
                       where hop i is (H_i is its mean)
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from agent_env.families.tdbench.sample import GoldRow, Role, TdbenchSample, tdbench_sample
from agent_env.protocols import Scorer
from agent_env.records.schema import Episode, MaterialTable, Sample, Score
from agent_env.scoring.name_answers import (
    Mention,
    NameReading,
    answer_part,
    find_names,
    prepared,
    read_names,
    read_number,
)
from agent_env.scoring.time_references import (
    TimeReference,
    says_role,
    sentence_starts,
    time_references,
)

METRICS = ("answer", "answer_time", "time", "f1", "no_answer", "unsure")
"""Those that a run's table shows, the main one first."""
_ISO = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?")
_LENGTHS = {"year": 4, "month": 7, "day": 10}
UNSURE = "unsure"
LONGEST = 20_000
"""Characters of an answer that are read, the last ones; time grows with their square."""


def make_scorer(tables: Mapping[str, MaterialTable]) -> Scorer:
    """The scorer; the tables say since when a former value held, for `outdated_time`."""

    def score(sample: Sample, episode: Episode) -> Score:
        asked = tdbench_sample(sample)
        common = {
            "sample": sample.id,
            "condition": episode.condition,
            "repeat": episode.repeat,
        }
        if episode.status != "finished":
            return Score.model_validate({**common, "outcome": episode.status})
        table = tables.get(asked.materials[0]) if asked.materials else None
        found = measure(asked, episode.answer, table)
        return Score.model_validate({**common, **found})

    return score


@dataclass(frozen=True, slots=True)
class Said:
    """What an answer says, as far as it can be read."""

    text: str
    names: NameReading
    references: tuple[TimeReference, ...]
    owners: tuple[str | None, ...]
    """By reference: the known name that it is about; None where no name is near."""


def measure(
    sample: TdbenchSample, text: str | None, table: MaterialTable | None = None
) -> dict[str, object]:
    """Outcome, answer, rule and metrics of one answer, as a Score has them."""
    said = read(sample, text or "")
    names = said.names
    if names.rule == "no text":
        return {"outcome": "unreadable", "rule": names.rule, "metrics": _zeros(sample)}
    given = _given(sample, said)
    right = _is_right(sample, given, names)
    metrics = {
        "answer": float(right),
        "f1": float(right) if sample.cardinality == "none" else f1(sample.gold, given),
        "no_answer": float(names.none),
        "unsure": float(names.unsure),
    }
    share = time_share(sample, said, _expected(sample))
    if share is not None:
        metrics |= {"time": share, "answer_time": float(right and share == 1)}
    metrics |= _alignment(sample, said, given, right, share, table) | _hops(sample, said, right)
    answer = (UNSURE,) if names.unsure else given
    return {"outcome": "read", "answer": answer, "rule": names.rule, "metrics": metrics}


def read(sample: TdbenchSample, text: str) -> Said:
    """The names and dates that the text gives; of a very long one, its last part."""
    plain = prepared(text[-LONGEST:])
    names = read_names(plain, (*sample.gold, *sample.others))
    references = time_references(plain)
    return Said(plain, names, references, tuple(_owners(plain, names.mentions, references)))


def _given(sample: TdbenchSample, said: Said) -> tuple[str, ...]:
    """The answer as read: known names, then entries that are none; a number in digits."""
    if sample.answer_type == "number" and not (said.names.none or said.names.unsure):
        number = _number(said)
        return () if number is None else (str(number),)
    return (*said.names.names, *said.names.others)


def _number(said: Said) -> int | None:
    """The number beside the dates; one that could be a year, such as 1096, where it is alone."""
    number = read_number(said.text, [ref.at for ref in said.references])
    if number is not None:
        return number
    full = [ref.at for ref in said.references if ref.date is None or ref.date.month is not None]
    return read_number(said.text, full)


def _is_right(sample: TdbenchSample, given: Sequence[str], names: NameReading) -> bool:
    if sample.cardinality == "none":
        return names.none and not given
    return set(given) == set(sample.gold)


def f1(gold: Iterable[str], given: Iterable[str]) -> float:
    """Harmonic mean of precision and recall of the names; 0 where nothing is common."""
    wanted, had = set(gold), set(given)
    return 2 * len(wanted & had) / (len(wanted) + len(had)) if wanted or had else 1.0


def _zeros(sample: TdbenchSample) -> dict[str, float]:
    zeros = dict.fromkeys(("answer", "f1", "no_answer", "unsure"), 0.0)
    if _expected(sample):
        zeros |= {"time": 0.0, "answer_time": 0.0}
    if sample.kind == "current":
        zeros |= dict.fromkeys(("correct", "outdated"), 0.0) | {"incorrect": 1.0}
    return zeros | {f"hop_{n}": 0.0 for n, _ in enumerate(sample.hops, start=1)}


# Time references --------------------------------------------------------------------------------

Expected = tuple[str, Role, str]
"""A name, a role, and the date that must be given, at the precision asked for."""


def _expected(sample: TdbenchSample) -> tuple[Expected, ...]:
    """The dates that the sample's roles ask for; not the end of what still lasts."""
    return tuple(
        (row.answer, role, _needed(sample, day))
        for row in sample.golds
        for role in sample.roles
        if (day := _bound(row, role)) is not None
    )


def _bound(row: GoldRow, role: Role) -> str | None:
    return row.start if role == "start" else row.end


def _needed(sample: TdbenchSample, day: str) -> str:
    """To the sample's granularity; of `current` questions, which ask for month and year, to the
    month at most."""
    length = _LENGTHS[sample.granularity]
    return day[: min(length, 7) if sample.kind == "current" else length]


def time_share(sample: TdbenchSample, said: Said, expected: Sequence[Expected]) -> float | None:
    """Share of the expected dates that are given in their role, each for its own name (equation 1);
    None where none is expected."""
    if not expected:
        return None
    begin = answer_part(said.text)
    pairs = list(zip(said.references, said.owners, strict=True))
    final = [pair for pair in pairs if pair[0].at[0] >= begin and pair[0].role]
    gold = {name for name, _, _ in expected}
    right = 0
    for name, role, day in expected:
        rows = sum(1 for e in expected if e[:2] == (name, role))
        dates = _stated(final or pairs, name, role, gold)[:rows]
        right += any(len(given) >= len(day) and given.startswith(day) for given in dates)
    return right / len(expected)


def _stated(
    pairs: Sequence[tuple[TimeReference, str | None]], name: str, role: Role, gold: set[str]
) -> list[str]:
    """The dates given in this role for this name, in order; where the name is not mentioned with
    any, those that are given for no gold name. A coarse date that a finer one repeats is left
    out."""
    own = [ref for ref, owner in pairs if owner == name]
    refs = own or [ref for ref, owner in pairs if owner not in gold]
    dates = [str(ref.date) for ref in refs if ref.role == role and ref.date is not None]
    distinct = list(dict.fromkeys(dates))
    return [d for d in distinct if not any(o != d and o.startswith(d) for o in distinct)]


def _owners(
    text: str, mentions: Sequence[Mention], references: Sequence[TimeReference]
) -> Iterable[str | None]:
    """Whose date each reference is: of the name before it in its sentence, else of the first one
    behind it there, else of the last one given before."""
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
    """Whether the next date behind a name is said of it: `X, who began on that day`."""
    following = next((ref.at[0] for ref in references if ref.at[0] > aside.at[1]), len(text))
    return says_role(text[aside.at[1] : following])


# What holds now, and hops -----------------------------------------------------------------------


def _alignment(
    sample: TdbenchSample,
    said: Said,
    given: Sequence[str],
    right: bool,
    share: float | None,
    table: MaterialTable | None,
) -> dict[str, float]:
    """Correct, outdated (only values that held before now) or incorrect, without and with T."""
    if sample.kind != "current":
        return {}
    old = bool(given) and not right and set(given) <= set(sample.outdated)
    neither = said.names.none or said.names.unsure
    classes = {
        "correct": float(right),
        "outdated": float(old),
        "incorrect": float(not right and not old and not neither),
    }
    if share is None:
        return classes
    dated = right and share == 1
    old_dated = old and time_share(sample, said, _former(sample, given, table)) == 1
    wrong = not dated and not old_dated and not neither
    with_time = zip(classes, (dated, old_dated, wrong), strict=True)
    return classes | {f"{name}_time": float(value) for name, value in with_time}


def _former(
    sample: TdbenchSample, given: Sequence[str], table: MaterialTable | None
) -> tuple[Expected, ...]:
    """Since when the former values held, by the table: the last time each."""
    if table is None:
        return ()
    columns = [column.casefold() for column in table.columns]
    if "start" not in columns:
        return ()
    last: dict[str, str] = {}
    asked = {name.casefold(): value for name, value in sample.asked.items()}
    answers = [columns.index(a.casefold()) for a in sample.answers if a.casefold() in columns]
    for row in table.rows:
        cells = [str(cell) if cell is not None else "" for cell in row]
        if any(n in columns and cells[columns.index(n)] != v for n, v in asked.items()):
            continue
        value = ", ".join(cells[i] for i in answers)
        if value in given:
            last[value] = max(last.get(value, ""), cells[columns.index("start")])
    return tuple((name, "start", _needed(sample, day)) for name, day in last.items())


def _hops(sample: TdbenchSample, said: Said, right: bool) -> dict[str, float]:
    """Whether each hop's values are named anywhere in the answer; the last hop is the answer."""
    if not sample.hops:
        return {}
    reached = [_names_hop(said.text, hop.gold) for hop in sample.hops[:-1]] + [right]
    found = {f"hop_{n}": float(is_right) for n, is_right in enumerate(reached, start=1)}
    for number in range(1, len(reached)):
        if reached[number - 1]:
            found[f"hallucination_{number}"] = float(not reached[number])
    return found


def _names_hop(text: str, gold: Sequence[str]) -> bool:
    """All values that are no dates; a date counts in any notation that reads as the same."""
    dates = {str(ref.date) for ref in time_references(text)}
    days = [value for value in gold if _ISO.fullmatch(value)]
    names = [value for value in gold if value not in days]
    said = {m.name for m in find_names(text, names) if m.how != "denied"}
    return set(names) <= said and all(_told(day, dates, text) for day in days)


def _told(day: str, dates: Iterable[str], text: str) -> bool:
    return any(day.startswith(d) or d.startswith(day) for d in dates) or day in text
