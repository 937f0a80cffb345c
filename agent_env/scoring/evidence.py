"""Was what had to be looked up found, read and used? From the trace alone; no model judges.

For each constraint that must be looked up, four claims are checked against the episode:

- returned: a search listed a page that proves it; opened: the model opened one; cited: the answer
  or the reply's citations name one;
- shown: every date that it needs stands in what the web tools put out, in any notation;
- used: the model wrote the right date (for a year: the year) in its own words or code, or every
  date that it answered agrees with it; of a question from a table, the dates that it asks for.

A wrong answer is then a failure of the first stage that failed for any constraint:
*retrieval* where a date was not shown and no proving page was opened, *reading* where a proving
page was opened or the date was shown and yet not used, *reasoning* where all was used. A right
answer is *fine* where all was shown and *unproved* where it was not (a guess, or memory). Where
nothing that the model read is in the trace, as with a search that a provider runs by itself, an
answer that is wrong is *unseen*.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from agent_env.records.schema import Episode, Proof, Sample, Score

Verdict = Literal["fine", "unproved", "retrieval", "reading", "reasoning", "unseen"]
VERDICTS: tuple[Verdict, ...] = (
    "fine", "unproved", "retrieval", "reading", "reasoning", "unseen",
)  # fmt: skip
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Lookup:
    """What became of one constraint."""

    constraint: int
    returned: bool
    opened: bool
    cited: bool
    shown: bool
    used: bool


@dataclass(frozen=True, slots=True)
class Trail:
    """What became of one episode."""

    sample: str
    condition: str
    repeat: int
    verdict: Verdict | None
    """None where the episode did not finish or nothing had to be looked up."""
    lookups: tuple[Lookup, ...]


def follow(sample: Sample, episode: Episode, score: Score, web_tools: Container[str]) -> Trail:
    """The episode's trail; `score` is its score by the sample's task, `web_tools` are the names of
    those whose results show the web."""
    read = _outputs(episode, web_tools)
    own = _own_words(episode, web_tools)
    lookups = tuple(_lookup(proof, episode, score, read, own) for proof in sample.proofs)
    verdict = None
    if lookups and episode.status == "finished" and score.outcome != "scorer_failed":
        hidden = not read and _provider_searched(episode, lookups)
        verdict = _verdict(lookups, _is_right(sample, score), hidden)
    return Trail(episode.sample, episode.condition, episode.repeat, verdict, lookups)


def _is_right(sample: Sample, score: Score) -> bool:
    return score.answer is not None and set(score.answer) == set(sample.gold)


def _provider_searched(episode: Episode, lookups: Sequence[Lookup]) -> bool:
    """Whether pages were found by a search that the provider ran; on the live web they need not be
    those that the sample names."""
    if any(found.cited or found.opened for found in lookups):
        return True
    return episode.hosted_calls > 0 and bool(episode.pages or episode.citations)


def _verdict(lookups: Sequence[Lookup], right: bool, is_hidden: bool) -> Verdict:
    if right:
        return "fine" if all(found.shown for found in lookups) else "unproved"
    if is_hidden:
        return "unseen"
    if any(not found.shown and not found.opened for found in lookups):
        return "retrieval"
    if any(not found.shown or not found.used for found in lookups):
        return "reading"
    return "reasoning"


def _lookup(proof: Proof, episode: Episode, score: Score, read: str, own: str) -> Lookup:
    urls = set(proof.urls)
    by = {how: {r.url for r in episode.pages if r.how == how} for how in ("returned", "opened")}
    cited = urls & set(episode.citations) or any(url in (episode.answer or "") for url in urls)
    return Lookup(
        constraint=proof.constraint,
        returned=bool(urls & by["returned"]),
        opened=bool(urls & by["opened"]),
        cited=bool(cited),
        shown=all(stands_in(date, read) for date in proof.dates),
        used=_is_written(proof, own) or (proof.used is None and _agrees(proof, score.answer)),
    )


def _outputs(episode: Episode, web_tools: Container[str]) -> str:
    """What the web tools put out."""
    names = {call.id: call.name for message in episode.messages for call in message.tool_calls}
    texts = (
        message.content
        for message in episode.messages
        if message.role == "tool" and names.get(message.tool_call_id or "") in web_tools
    )
    return "\n".join(texts)


def _own_words(episode: Episode, web_tools: Container[str]) -> str:
    """What the model wrote, reasoning and code included, searches not."""
    parts: list[str] = []
    for message in episode.messages:
        if message.role == "assistant":
            parts += [message.content, message.reasoning or ""]
            parts += [c.arguments for c in message.tool_calls if c.name not in web_tools]
    return "\n".join(parts)


def _is_written(proof: Proof, own: str) -> bool:
    wanted = proof.dates if proof.used is None else proof.used
    dates = [date[:4] for date in wanted] if proof.shares == "year" else wanted
    return all(stands_in(date, own) for date in dates)


def stands_in(date: str, text: str) -> bool:
    """Whether a text has the date in a usual notation, such as 20 July 1969 or July 20th, 1969."""
    return re.search(_pattern(date), text, re.I) is not None


def _pattern(date: str) -> str:
    year, month, day = [*date.split("-"), "", ""][:3]
    if not month:
        return rf"(?<!\d){year}(?!\d)"
    name = MONTHS[int(month) - 1]
    word = rf"{name[:3]}(?:{name[3:]})?\.?" if name[3:] else name
    if not day:
        return rf"\b{word},? {year}(?!\d)|(?<!\d){year}-{month}(?!\d)"
    number = rf"0?{int(day)}(?:st|nd|rd|th)?"
    return (
        rf"(?<!\d){number}(?: of)? {word},? {year}(?!\d)|\b{word} {number},? {year}(?!\d)"
        rf"|(?<!\d){date}(?!\d)"
    )


def _agrees(proof: Proof, answer: Iterable[str] | None) -> bool:
    """Whether there are answered dates and all of them satisfy the constraint."""
    dates = tuple(answer or ())
    return bool(dates) and all(_satisfies(proof, date) for date in dates)


def _satisfies(proof: Proof, date: str) -> bool:
    if re.fullmatch(r"\d{4}-\d\d-\d\d", date) is None:
        return False
    first = proof.dates[0]
    match proof.shares:
        case "year":
            return date[:4] == first[:4]
        case "month":
            return date[5:7] == first[5:7]
        case "day":
            return date[8:] == first[8:]
        case "years":
            years = [known[:4] for known in proof.dates]
            if all(len(known) == 4 for known in proof.dates):
                return date[:4] in years
            return years[0] <= date[:4] <= years[-1]
    pairs = zip(proof.dates[::2], proof.dates[1::2], strict=True)
    return any(low < date < high for low, high in pairs)
