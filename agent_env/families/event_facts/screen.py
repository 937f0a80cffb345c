"""Which events can a model date from memory? One question per row, no tools.

Known is an event all of whose dates are right at the precision of its row: a row that gives the
month asks for the month. What a row does not state is not asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from agent_env.errors import ConfigError
from agent_env.families.event_facts.answers import (
    Unreadable,
    first_line,
    labelled,
    read_bound,
    read_years,
)
from agent_env.families.event_facts.sample import (
    ONGOING,
    EventSample,
    event_sample,
    make_sample,
    stated,
)
from agent_env.protocols import Limits
from agent_env.records.schema import Condition, Episode, Message, Sample, Score
from agent_env.tasks.task import Task
from agent_env.temporal.facts.tables import EventRow

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
"""What is asked for, by the length of the stated date."""


def make_task(prompt: str = "default") -> Task:
    """The task; it has one prompt."""
    if prompt != "default":
        raise ConfigError(f"unknown prompt '{prompt}'; known: default")
    return Task(
        name=NAME,
        sample_type=EventSample,
        prompt=_prompt,
        scorer=score,
        metrics=("known",),
        default_conditions=("base",),
        limits=Limits(steps=1, tool_calls=0),
    )


def make_samples(rows: Iterable[EventRow], now: date) -> tuple[EventSample, ...]:
    """One sample for each row that states a date."""
    samples = (make_sample(row, NAME, (), now) for row in stated(rows))
    return tuple(s.model_copy(update={"gold": tuple(_wanted(s).values())}) for s in samples)


def _wanted(sample: EventSample) -> dict[str, str]:
    """The right answer by label, as far as the row states it."""
    end = ONGOING if sample.lasts else sample.end
    wanted = {"FIRST": sample.start, "LAST": end, "YEARS": sample.years}
    return {label: text for label, text in wanted.items() if text}


def _prompt(sample: Sample, condition: Condition) -> tuple[Message, ...]:
    event = event_sample(sample)
    lines = "\n".join(_line(label, event) for label in _wanted(event))
    text = PROMPT.format(event=event.event, kind=event.kind, lines=lines)
    return (Message(role="user", content=text),)


def _line(label: str, event: EventSample) -> str:
    """Depends on the form of the dates, never on the dates."""
    if label == "FIRST":
        return f"FIRST: when it began, {FORMS[len(event.start)]}"
    if label == "LAST":
        form = FORMS[len(event.end or event.start)]
        return f"LAST: when it ended, {form}, or ONGOING if it still lasted on {event.now}"
    return "YEARS: all years in which it took place, each as YYYY, separated by commas"


def score(sample: Sample, episode: Episode) -> Score:
    """1 where every asked date is right; a line that is missing or unclear is unreadable."""
    common = {
        "sample": sample.id,
        "condition": episode.condition,
        "repeat": episode.repeat,
    }
    if episode.status != "finished":
        return Score.model_validate({**common, "outcome": episode.status})
    wanted = _wanted(event_sample(sample))
    try:
        given = read_answer(episode.answer or "", tuple(wanted))
    except Unreadable as exc:
        zero = {"outcome": "unreadable", "rule": str(exc), "metrics": {"known": 0.0}}
        return Score.model_validate({**common, **zero})
    right = all(is_right(wanted[label], given[label]) for label in wanted)
    return Score.model_validate(
        {
            **common,
            "outcome": "read",
            "answer": tuple(given.values()),
            "rule": "labelled lines",
            "metrics": {"known": float(right)},
        }
    )


def read_answer(text: str, labels: tuple[str, ...]) -> dict[str, str]:
    """What each line says; Unreadable for the first that is missing or cannot be read."""
    found = labelled(text, ("FIRST", "LAST", "YEARS"))
    given = {}
    for label in labels:
        if not (line := first_line(found.get(label, ""))):
            raise Unreadable(f"no line that begins with {label}: and says something")
        given[label] = read_years(line) if label == "YEARS" else read_bound(line)
    return given


def is_right(wanted: str, given: str) -> bool:
    """Whether the answer is the stated date or a day or month within it."""
    return given == wanted or given.startswith(f"{wanted}-")
