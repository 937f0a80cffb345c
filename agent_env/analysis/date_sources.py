"""The date that a wrong answer took.

It is a date that the model was shown, that is not the one that the question asks for, and that the
answer agrees with. By months and days, an agreement may be chance: 1 in 12, and about 1 in 30, for
each date that was shown.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

from agent_env.analysis.failure_modes import Call, Place
from agent_env.records.schema import Episode, Proof, Record, Sample
from agent_env.scoring.evidence import agrees, dates_in, model_text, stands_in
from agent_env.tasks.faults import Faults

MOST_BY_CHANCE = 0.25
VALUES: Mapping[str, tuple[int, int, int]] = {"month": (5, 7, 12), "day": (8, 10, 31)}
"""Where the part is in a date, and how many values it has; of years a century is taken."""


class DateSource(Record):
    """A date that was shown and that the wrong answer agrees with."""

    constraint: int
    """Index in the sample's list of constraints, from 0."""
    date: str
    place: Place
    """A search result, of a search that showed the right date or not; an opened page that proves
    nothing; or the page that proves the constraint."""
    url: str
    """The page; "" for a search result."""
    is_written: bool
    """Whether the model's own text has the date."""
    coverage: float
    """The share of all days, months or years that the dates shown have: by this chance a value that
    was drawn blindly would agree with one of them too."""

    @property
    def is_likely(self) -> bool:
        """Whether it is hardly chance: the model wrote the date, or few were shown."""
        return self.is_written or self.coverage <= MOST_BY_CHANCE


def date_source(
    sample: Sample,
    episode: Episode,
    errors: Faults,
    calls: Sequence[Call],
    web_tools: Container[str],
) -> DateSource | None:
    """The likeliest source, of the constraint violated most; None where no date shown fits."""
    proofs = {proof.constraint: proof for proof in sample.proofs}
    if not errors.wrong or not proofs:
        return None
    opened = {ref.url.partition("#")[0] for ref in episode.pages if ref.how == "opened"}
    pages = [  # what each web call showed, with the page's address; "" for a list of results
        (next((url for url in opened if url in call.arguments), ""), call.output or "")
        for call in calls
        if call.name in web_tools
    ]
    all_text = "\n".join(text for _, text in pages)
    reply_text = model_text(episode, web_tools)
    for ref in errors.blamed:
        wrong = [
            each.date for each in errors.wrong if ref.index in {v.index for v in each.violates}
        ]
        proof = proofs.get(ref.index)
        if proof is None or not wrong:
            continue
        first, end, values = VALUES.get(proof.shares, (0, 4, 100))
        shown = {date[first:end] for date in dates_in(all_text)} - {""}
        sources = [
            source
            for url, text in pages
            for source in _sources(proof, wrong, url, text, reply_text, len(shown) / values)
        ]
        if sources:
            best = max(sources, key=lambda s: (s.is_written, s.url in proof.urls, s.url > ""))
            if best.url or not all(stands_in(date, all_text) for date in proof.dates):
                return best
            return best.model_copy(update={"place": "another date of the snippets"})
    return None


def _fits(proof: Proof, date: str, wrong: Sequence[str]) -> bool:
    """Whether the wrong dates have what the constraint asks for of this date instead: its year,
    month or day; for several years, the first or last of theirs. False for spans of days."""
    if proof.shares == "years":
        return date[:4] in (min(wrong)[:4], max(wrong)[:4])
    length = {"year": 4, "month": 7, "day": 10}.get(proof.shares, 99)
    proof_of_date = proof.model_copy(update={"dates": (date,)})
    return len(date) >= length and agrees(proof_of_date, wrong)


def _span_over(proof: Proof, wrong: Sequence[str], shown: set[str]) -> str | None:
    """The first day of a page that has one span of days, in whose years all wrong dates lie; None
    where it is no other than the right one, or the constraint asks for no years."""
    days = sorted(date for date in shown if len(date) == 10)
    if proof.shares != "years" or len(days) != 2 or set(days) & set(proof.dates):
        return None
    return days[0] if days[0][:4] <= min(wrong)[:4] and max(wrong)[:4] <= days[1][:4] else None


def _sources(
    proof: Proof, wrong: Sequence[str], url: str, text: str, reply_text: str, coverage: float
) -> Iterable[DateSource]:
    shown = dates_in(text)
    span = _span_over(proof, wrong, shown) if url else None
    for date in sorted(shown):
        if date != span and (date in proof.dates or not _fits(proof, date, wrong)):
            continue
        place: Place = "trusted another page" if url else "stopped at a snippet"
        if url in proof.urls:
            is_newest = date == max(shown) and date > max(proof.dates)
            place = "newest date of the page" if is_newest else "another date of the page"
        yield DateSource(
            constraint=proof.constraint,
            date=date,
            place=place,
            url=url,
            is_written=len(date) > 4 and stands_in(date, reply_text),  # the answer has years too
            coverage=coverage,
        )
