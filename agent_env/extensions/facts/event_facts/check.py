"""Is a row right? A model with web tools looks its dates up and judges them as they are stated.

A verdict counts only if it names a page that was opened in the episode or cited by the reply; any
other counts as unclear.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Literal

from agent_env.extensions.facts.event_facts.sample import (
    EventSample,
    event_sample,
    event_task,
    first_line,
    labelled,
    make_sample,
    stated,
)
from agent_env.extensions.facts.tables.tables import EventRow, shipped_tables
from agent_env.sdk.family import Family, NoOptions, SampleSet, Task
from agent_env.sdk.models import Limits
from agent_env.sdk.records import Condition, Episode, Message, Sample, Score
from agent_env.sdk.scoring import episode_score

NAME = "event-check"
Verdict = Literal["correct", "not correct", "unclear"]
VERDICTS: dict[str, Verdict] = {
    "correct": "correct",
    "not correct": "not correct",
    "incorrect": "not correct",
    "unclear": "unclear",
}
VERDICT_METRICS = ("correct", "not_correct", "unclear")
MAX_REASON = 600

PROMPT = """\
A table of events states this:

Event: {event}
Kind: {kind}
{claim}

Find out whether the table is right. Search the web, open the pages that should know, and rely on \
what they say, not on your memory. Dates are Gregorian.

Judge each date at the precision to which it is stated: a month says nothing of the day, a year \
nothing of the month. The row is correct if everything that it states is right, not correct if \
anything in it is wrong, and unclear if you find no page that settles it or if good pages \
contradict each other.

Finish with these lines:
VERDICT: correct, not correct or unclear
WHY: one sentence; where a date is wrong, say what it should be
PAGES: the addresses of the opened pages that your verdict rests on"""


def make_task(prompt: str = "default") -> Task:
    """The task; it has one prompt."""
    return event_task(NAME, prompt, _prompt, score, VERDICT_METRICS, "web", Limits())


def make_samples(rows: Iterable[EventRow], now: date) -> tuple[EventSample, ...]:
    """One sample for each row that states a date; its gold is what the table claims."""
    return tuple(make_sample(row, NAME, ("correct",), now) for row in stated(rows))


def _prompt(sample: Sample, condition: Condition) -> tuple[Message, ...]:
    event = event_sample(sample)
    text = PROMPT.format(event=event.event, kind=event.kind, claim="\n".join(_claims(event)))
    return (Message(role="user", content=text),)


def _claims(event: EventSample) -> Iterable[str]:
    """The row's statements, date by date."""
    for name, day in (("Began", event.start), ("Ended", event.end)):
        if day:
            yield f"{name}: {day} (stated to the {_precision(day)})"
    if event.lasts:
        yield f"Ended: not yet; it still lasted on {event.now}"
    if event.years:
        yield f"Years in which it took place, all of them: {event.years.replace(';', ', ')}"


def _precision(day: str) -> str:
    return {4: "year", 7: "month"}.get(len(day), "day")


@dataclass(frozen=True, slots=True)
class Judgement:
    """An episode's verdict on its row."""

    verdict: Verdict | None
    """None where it cannot be parsed."""
    why: str
    pages: tuple[str, ...]
    """Those that it names and has opened or cited."""
    rule: str


def judgement(episode: Episode) -> Judgement:
    """The verdict with its reason and pages."""
    fields = labelled(episode.answer or "", ("VERDICT", "WHY", "PAGES"))
    verdict = VERDICTS.get(" ".join(first_line(fields.get("VERDICT", "")).lower().split()))
    why = " ".join(fields.get("WHY", "").split())[:MAX_REASON]
    pages = _pages(fields.get("PAGES", ""), episode)
    if verdict is None:
        return Judgement(None, why, pages, "no line that begins with VERDICT: and gives one")
    if verdict != "unclear" and not pages:
        return Judgement("unclear", why, (), f"'{verdict}' without a page that was opened")
    return Judgement(verdict, why, pages, "labelled lines")


def _pages(text: str, episode: Episode) -> tuple[str, ...]:
    proper = {ref.url for ref in episode.pages if ref.how == "opened"} | set(episode.citations)
    urls = re.findall(r"https?://(?:(?!,https?://)[^\s<>\"])+", text)
    forms = ((url, url.rstrip(".,;:*_`"), url.rstrip(".,;:*_`)]")) for url in urls)
    matches = (next((form for form in each if form in proper), None) for each in forms)
    return tuple(dict.fromkeys(url for url in matches if url is not None))


def score(sample: Sample, episode: Episode) -> Score:
    """1 for the verdict of the answer, 0 for the others; which one is right is not known here."""

    def measure(text: str | None) -> dict[str, object]:
        result = judgement(episode)
        verdicts = sorted(set(VERDICTS.values()))
        return {
            "outcome": "read" if result.verdict else "unreadable",
            "answer": (result.verdict,) if result.verdict else None,
            "rule": result.rule,
            "metrics": {v.replace(" ", "_"): float(v == result.verdict) for v in verdicts},
        }

    return episode_score(sample, episode, measure)


def _of_shipped_table(count: int, seed: int, options: NoOptions) -> SampleSet:
    rows = shipped_tables().events
    return SampleSet(make_samples(rows, datetime.now(UTC).date())[:count])


CHECK = Family(NAME, lambda prompt, options, tables: make_task(prompt), _of_shipped_table)
