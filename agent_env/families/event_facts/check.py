"""Is a row right? A model with web tools looks its dates up and judges them as they are stated.

A verdict counts only where it names a page that was opened in the episode or cited by the reply;
any other is taken as unclear.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Literal

from agent_env.errors import ConfigError
from agent_env.families.event_facts.answers import first_line, labelled
from agent_env.families.event_facts.sample import EventSample, event_sample, make_sample, stated
from agent_env.protocols import Limits
from agent_env.records.schema import Condition, Episode, Message, Sample, Score
from agent_env.tasks.task import Task
from agent_env.temporal.facts.tables import EventRow

NAME = "event-check"
Verdict = Literal["correct", "not correct", "unclear"]
VERDICTS: dict[str, Verdict] = {
    "correct": "correct",
    "not correct": "not correct",
    "incorrect": "not correct",
    "unclear": "unclear",
}
LONGEST_WHY = 600

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
    if prompt != "default":
        raise ConfigError(f"unknown prompt '{prompt}'; known: default")
    return Task(
        name=NAME,
        sample_type=EventSample,
        prompt=_prompt,
        scorer=score,
        metrics=("correct", "not_correct", "unclear"),
        default_conditions=("web",),
        limits=Limits(),
    )


def make_samples(rows: Iterable[EventRow], now: date) -> tuple[EventSample, ...]:
    """One sample for each row that states a date; its gold is what the table claims."""
    return tuple(make_sample(row, NAME, ("correct",), now) for row in stated(rows))


def _prompt(sample: Sample, condition: Condition) -> tuple[Message, ...]:
    event = event_sample(sample)
    text = PROMPT.format(event=event.event, kind=event.kind, claim="\n".join(_claims(event)))
    return (Message(role="user", content=text),)


def _claims(event: EventSample) -> Iterable[str]:
    """What the row states, date by date."""
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
    """What an episode says of its row."""

    verdict: Verdict | None
    """None where it cannot be read."""
    why: str
    pages: tuple[str, ...]
    """Those that it names and has opened or cited."""
    rule: str


def judgement(episode: Episode) -> Judgement:
    """The verdict with its reason and pages."""
    found = labelled(episode.answer or "", ("VERDICT", "WHY", "PAGES"))
    said = VERDICTS.get(" ".join(first_line(found.get("VERDICT", "")).lower().split()))
    why = " ".join(found.get("WHY", "").split())[:LONGEST_WHY]
    pages = _pages(found.get("PAGES", ""), episode)
    if said is None:
        return Judgement(None, why, pages, "no line that begins with VERDICT: and gives one")
    if said != "unclear" and not pages:
        return Judgement("unclear", why, (), f"'{said}' without a page that was opened")
    return Judgement(said, why, pages, "labelled lines")


def _pages(text: str, episode: Episode) -> tuple[str, ...]:
    seen = {ref.url for ref in episode.pages if ref.how == "opened"} | set(episode.citations)
    named = re.findall(r"https?://(?:(?!,https?://)[^\s<>\"])+", text)
    forms = ((url, url.rstrip(".,;:*_`"), url.rstrip(".,;:*_`)]")) for url in named)
    kept = (next((form for form in urls if form in seen), None) for urls in forms)
    return tuple(dict.fromkeys(url for url in kept if url is not None))


def score(sample: Sample, episode: Episode) -> Score:
    """1 for the verdict that was given, 0 for the others; nothing says here who is right."""
    common = {
        "sample": sample.id,
        "condition": episode.condition,
        "repeat": episode.repeat,
    }
    if episode.status != "finished":
        return Score.model_validate({**common, "outcome": episode.status})
    found = judgement(episode)
    metrics = {v.replace(" ", "_"): float(v == found.verdict) for v in set(VERDICTS.values())}
    return Score.model_validate(
        {
            **common,
            "outcome": "read" if found.verdict else "unreadable",
            "answer": (found.verdict,) if found.verdict else None,
            "rule": found.rule,
            "metrics": dict(sorted(metrics.items())),
        }
    )
