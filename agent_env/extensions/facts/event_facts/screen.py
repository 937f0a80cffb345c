"""Which events can a model date from memory? One question per row, no tools.

An event is known if all its dates are right at the precision of its row: a row that states the
month asks for the month. Nothing is asked that a row does not state.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime

from agent_env.extensions.facts.event_facts.sample import (
    ONGOING,
    EventSample,
    Unreadable,
    event_sample,
    event_task,
    first_line,
    labelled,
    make_sample,
    read_bound,
    read_years,
    stated,
)
from agent_env.extensions.facts.tables.tables import EventRow, shipped_tables
from agent_env.sdk.family import Family, NoOptions, SampleSet, Task
from agent_env.sdk.models import Limits
from agent_env.sdk.records import Condition, Episode, Message, Sample, Score
from agent_env.sdk.scoring import episode_score

NAME = "event-screen"

PROMPT = """\
This is a question about what you remember; there is nothing to look up.

Event: {event}
Kind: {kind}

When was it? Dates are Gregorian. You may think first. Then finish with these lines, each on its \
own and with nothing else on it:
{lines}

Where you do not remember, write UNKNOWN instead of guessing."""

FORMS = {4: "the year as YYYY", 7: "the month as YYYY-MM", 10: "the day as YYYY-MM-DD"}
"""The form of the answer, by the length of the stated date."""


def make_task(prompt: str = "default") -> Task:
    """The task; it has one prompt."""
    limits = Limits(steps=1, tool_calls=0)
    return event_task(NAME, prompt, _prompt, score, ("known",), "base", limits)


def make_samples(rows: Iterable[EventRow], now: date) -> tuple[EventSample, ...]:
    """One sample for each row that states a date."""
    samples = (make_sample(row, NAME, (), now) for row in stated(rows))
    return tuple(s.model_copy(update={"gold": tuple(_right_answers(s).values())}) for s in samples)


def _right_answers(sample: EventSample) -> dict[str, str]:
    """The right answer by label, as far as the row states it."""
    end = ONGOING if sample.lasts else sample.end
    answers = {"FIRST": sample.start, "LAST": end, "YEARS": sample.years}
    return {label: text for label, text in answers.items() if text}


def _prompt(sample: Sample, condition: Condition) -> tuple[Message, ...]:
    event = event_sample(sample)
    lines = "\n".join(_line(label, event) for label in _right_answers(event))
    text = PROMPT.format(event=event.event, kind=event.kind, lines=lines)
    return (Message(role="user", content=text),)


def _line(label: str, event: EventSample) -> str:
    """Depends on the precision of the dates, never on the dates."""
    if label == "FIRST":
        return f"FIRST: when it began, {FORMS[len(event.start)]}"
    if label == "LAST":
        form = FORMS[len(event.end or event.start)]
        return f"LAST: when it ended, {form}, or ONGOING if it still lasted on {event.now}"
    return "YEARS: all years in which it took place, each as YYYY, separated by commas"


def score(sample: Sample, episode: Episode) -> Score:
    """1 where every date asked for is right; with a line that cannot be parsed, unreadable."""
    return episode_score(sample, episode, lambda text: _measure(event_sample(sample), text or ""))


def _measure(sample: EventSample, text: str) -> dict[str, object]:
    gold = _right_answers(sample)
    try:
        answers = read_answer(text, tuple(gold))
    except Unreadable as exc:
        return {"outcome": "unreadable", "rule": str(exc), "metrics": {"known": 0.0}}
    right = all(is_right(gold[label], answers[label]) for label in gold)
    return {
        "outcome": "read",
        "answer": tuple(answers.values()),
        "rule": "labelled lines",
        "metrics": {"known": float(right)},
    }


def read_answer(text: str, labels: tuple[str, ...]) -> dict[str, str]:
    """The answer of each line; Unreadable for the first that is missing or cannot be parsed."""
    lines = labelled(text, ("FIRST", "LAST", "YEARS"))
    answers = {}
    for label in labels:
        if not (line := first_line(lines.get(label, ""))):
            raise Unreadable(f"no line that begins with {label}: and says something")
        answers[label] = read_years(line) if label == "YEARS" else read_bound(line)
    return answers


def is_right(gold: str, answer: str) -> bool:
    """Whether the answer is the stated date or a day or month within it."""
    return answer == gold or answer.startswith(f"{gold}-")


def _of_shipped_table(count: int, seed: int, options: NoOptions) -> SampleSet:
    rows = shipped_tables().events
    return SampleSet(make_samples(rows, datetime.now(UTC).date())[:count])


SCREEN = Family(NAME, lambda prompt, options, tables: make_task(prompt), _of_shipped_table)
