"""What a trace shows of each constraint that must be looked up:

- returned: a search listed a page that proves it; opened: the model opened one; cited: the answer
  or the reply's citations name one;
- shown: the results of the web tools have every date that it needs, in any notation;
- used: the model's own text or code has the right date (for a year: the year), or every date of its
  answer agrees with it; for a question from a table, the dates that the question asks for.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Sequence

from agent_env.records.schema import Episode, PageRef, Proof, Record, Sample, Score
from agent_env.temporal.days import PartialDate
from agent_env.temporal.written import ANY_MONTH, MONTHS, DateForms

_SHORTEST = 6
"""Characters of all right answers together; shorter ones are on any page."""
WRITTEN_DATES = DateForms(
    r"(?<![\d-])(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)(?![\d-])",
    rf"(?:(?<!\d)(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? )?\b(?P<m>{ANY_MONTH})\b\.?,? "
    r"(?P<y>\d{4})(?!\d)",
    rf"\b(?P<m>{ANY_MONTH})\b\.? (?P<d>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y>\d{{4}})(?!\d)",
    r"(?<![\d-])(?P<y>\d{4})(?![\d-])",
)


"""Full dates, months and years in usual notations."""


class Lookup(Record):
    """The claims about one constraint."""

    constraint: int
    returned: bool
    opened: bool
    cited: bool
    shown: bool
    used: bool


def lookups_of(
    sample: Sample, episode: Episode, score: Score, web_tools: Container[str], shown: str
) -> tuple[Lookup, ...]:
    """One for each constraint to look up; `score`: by the sample's task; `web_tools`: names of the
    tools whose results show the web; `shown`: these results."""
    if not sample.proofs:
        return ()
    reply_text = model_text(episode, web_tools)
    return tuple(_lookup(proof, episode, score, shown, reply_text) for proof in sample.proofs)


def _lookup(proof: Proof, episode: Episode, score: Score, shown: str, reply_text: str) -> Lookup:
    urls = set(proof.urls)
    by = {how: {r.url for r in episode.pages if r.how == how} for how in ("returned", "opened")}
    needed = proof.dates if proof.used is None else proof.used
    dates = [date[:4] for date in needed] if proof.shares == "year" else needed
    is_used = all(stands_in(date, reply_text) for date in dates)
    return Lookup(
        constraint=proof.constraint,
        returned=bool(urls & by["returned"]),
        opened=bool(urls & by["opened"]),
        cited=any(cites(episode, url) for url in urls),
        shown=all(stands_in(date, shown) for date in proof.dates),
        used=is_used or (proof.used is None and agrees(proof, score.answer)),
    )


def page_flags(pages: Iterable[PageRef]) -> dict[str, int]:
    """How many pages and results were `shown` and `withheld`, each once, and how many of these with
    each flag, as `shown undated`; `leak`: shown, with every right answer, and either without a date
    or speaking of days after the one asked for."""
    flags: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for ref in pages:
        how = "withheld" if ref.how == "blocked" else "shown"
        flags[how, ref.url] |= {"", *(ref.flags or ())}
    counts = Counter(f"{how} {each}".strip() for (how, _), its in flags.items() for each in its)
    counts["leak"] = sum(
        how == "shown" and "gold" in its and not its.isdisjoint({"undated", "mentions-later"})
        for (how, _), its in flags.items()
    )
    return dict(+counts)


def is_telling(gold: Sequence[str]) -> bool:
    """Whether the right answers are long enough not to be on any page."""
    return sum(map(len, gold)) >= _SHORTEST


def holds_all(gold: Sequence[str], text: str) -> bool:
    """Whether right answers that are long enough all are in the text, dates in any notation."""
    return is_telling(gold) and all(
        stands_in(value, text)
        if re.fullmatch(r"\d{4}(-\d\d){0,2}", value)
        else re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text, re.I)
        for value in gold
    )


def cites(episode: Episode, url: str) -> bool:
    """Whether the answer or the reply's citations have the page's address, and not only one that
    begins like it."""
    address = re.compile(re.escape(url.partition("#")[0]) + r"(?![\w%~-]|[./?&=][\w%])")
    return any(address.search(text) for text in (episode.answer or "", *episode.citations))


def model_text(episode: Episode, web_tools: Container[str]) -> str:
    """The model's text, reasoning and code; without searches."""
    parts: list[str] = []
    for message in episode.messages:
        if message.role == "assistant":
            parts += [message.content, message.reasoning or ""]
            parts += [c.arguments for c in message.tool_calls if c.name not in web_tools]
    return "\n".join(parts)


def stands_in(date: str, text: str) -> bool:
    """Whether the text has the date in a usual notation, such as 20 July 1969, July 20th, 1969."""
    if date.partition("-")[0] not in text:
        return False  # each notation has the year
    return re.search(_pattern(date), text, re.I) is not None


def dates_in(text: str) -> set[str]:
    """The dates that are in the text in a usual notation: YYYY, YYYY-MM or YYYY-MM-DD."""
    dates = (each for each in WRITTEN_DATES.find(text) if each.year is not None)
    return {str(PartialDate(each.year, each.month, each.day)) for each in dates}  # type: ignore[arg-type]


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


def agrees(proof: Proof, answer: Iterable[str] | None) -> bool:
    """Whether the answer has dates and all of them satisfy the constraint."""
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
            years = [each[:4] for each in proof.dates]
            if all(len(each) == 4 for each in proof.dates):
                return date[:4] in years
            return years[0] <= date[:4] <= years[-1]
    pairs = zip(proof.dates[::2], proof.dates[1::2], strict=True)
    return any(low < date < high for low, high in pairs)
