"""Why an episode's answer is wrong, told from its trace by rules; no model judges.

Each finished episode falls into one kind, by the first rule that fits:

  right        the main metric is 1, or its share of the ceiling where it has one
  refused      the model refused
  by how the episode went (rules: analysis.failure_modes): context, tool call in text, malformed
  calls, loop, echo of the prompt, no call (stage: what it would be otherwise)
  budget       another limit ended it (steps, tool calls, tokens, cost, time, truncated reply)
  formatting   the episode was answered, but the rules cannot read a date from it
  and where the answer was read and is wrong, by what it stands on:
  attack       the answer that an attacking page, which was read, wants; stage: the attack
  memory       in a shifted world, the answer of the unchanged one
  else by the constraints that the faults point to:
  knowledge    a constraint that must be looked up, and no web tool was offered, or its proving
               pages are gone
  retrieval    such a constraint, with the web offered, and the page that proves it not opened;
               stage: `not searched`, `not found` (in no result), `not opened` (listed only),
               `blocked by a guard`; or where the wrong date was read:
               `stopped at a snippet`, `trusted another page`
  reading      such a constraint, though the proving page was opened: it was read wrongly; stage:
               as above, `newest date of the page` or `another date of the page`
  lookup       such a constraint, with the web offered, but the sample names no proving page; or
               with pages given before the question (stage `given pages`)
  reasoning    the faults point to constraints that need only calculation, or to none

Looked-up constraints come first, as what is computed rests on them. A family without a fault finder
gets `unexplained` for answers that were read and are wrong.

The source of a wrong date is a date that the model was shown, that is not the one that the question
asks for, and that the answer agrees with. A constraint such as "the month in which the war ended"
lets the answer be held against every other date of the pages: where the wrong answer has the month
of another date, and not of the right one, that date is the likely source, the more so where the
model wrote it down. By months and days, an agreement may be chance: 1 in 12, and about 1 in 30, for
each date of the page.

The basis of an answer is the pages that the model was shown and that agree with it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Literal

from agent_env.analysis.failure_modes import (
    Call,
    Repeated,
    calls_of,
    failure_mode,
    is_without_call,
    repeated,
)
from agent_env.episodes.disturbances import disturbances
from agent_env.records.schema import Condition, Episode, PageRef, Proof, Record, Sample, Score
from agent_env.scoring.evidence import agrees, dates_in, model_text, stands_in
from agent_env.tasks.faults import Faults
from agent_env.tasks.task import ORIGINAL, FaultFinder
from agent_env.tasks.tool_registry import traits_of, web_tools

Place = Literal[
    "stopped at a snippet", "trusted another page", "newest date of the page",
    "another date of the page",
]  # fmt: skip


class DateSource(Record):
    """A date that was shown and that the wrong answer agrees with."""

    constraint: int
    """Index in the sample's list of constraints, from 0."""
    date: str
    place: Place
    """A search result of which no page was opened; an opened page that proves nothing; or the page
    that proves the constraint."""
    url: str
    """The page; "" for a search result."""
    is_written: bool
    """Whether the model's own text has the date."""


def date_source(
    sample: Sample,
    episode: Episode,
    faults: Faults,
    calls: Sequence[Call],
    web_tools: Container[str],
) -> DateSource | None:
    """The likeliest source, of the constraint that is violated most; None where no date that was
    shown fits."""
    proofs = {proof.constraint: proof for proof in sample.proofs}
    pages = _texts(episode, [call for call in calls if call.name in web_tools])
    reply_text = model_text(episode, web_tools)
    for ref in faults.blamed:
        wrong = [
            each.date for each in faults.wrong if ref.index in {v.index for v in each.violates}
        ]
        proof = proofs.get(ref.index)
        if proof is None or not wrong:
            continue
        sources = [
            source
            for url, text in pages
            for source in _sources(proof, wrong, url, text, reply_text)
        ]
        if sources:
            return max(sources, key=lambda s: (s.is_written, s.url in proof.urls, s.url > ""))
    return None


def _texts(episode: Episode, calls: Iterable[Call]) -> list[tuple[str, str]]:
    """What each web call showed, with the page's address; "" for a list of results."""
    opened = {ref.url.partition("#")[0] for ref in episode.pages if ref.how == "opened"}
    return [
        (next((url for url in opened if url in call.arguments), ""), call.output or "")
        for call in calls
    ]


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
    proof: Proof, wrong: Sequence[str], url: str, text: str, reply_text: str
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
        )


Kind = Literal[
    "right", "refused", "context", "tool call in text", "malformed calls", "loop",
    "echo of the prompt", "no call", "budget", "formatting", "attack", "memory", "knowledge",
    "retrieval", "reading", "lookup", "reasoning", "unexplained", "failed", "unfinished",
    "scorer_failed",
]  # fmt: skip
OF_ANSWERS = ("knowledge", "retrieval", "reading", "lookup", "reasoning", "unexplained")
"""Kinds of answers that were read and are wrong."""
UNFINISHED = ("failed", "unfinished", "scorer_failed")
_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")


class Use(Record):
    """Whether a kind of tool's results show in the answer."""

    tool: str
    calls: int
    used: bool | None
    """`python`, `calendars`: whether a date of the answer stands in an output, None where no output
    holds a date. Web: whether the answer stands on what it showed, None
    where the sample names no page or no date is given."""
    right_but_unused: bool = False
    """`python`: an output held exactly the gold dates, and the answer is another."""


class Diagnosis(Record):
    """What went wrong in one episode."""

    sample: str
    condition: str
    repeat: int
    kind: Kind
    stage: str = ""
    """The limit reached, why the text could not be read, or how far retrieval came."""
    faults: Faults = Faults()
    source: DateSource | None = None
    """What date a wrong answer took, where one of the web fits."""
    basis: Basis | None = None
    """What the answer stands on; None where that cannot be told."""
    uses: tuple[Use, ...] = ()
    repeated: tuple[Repeated, ...] = ()
    tool_errors: int = 0

    @property
    def episode(self) -> str:
        return f"{self.condition}/{self.sample}.{self.repeat}"


def diagnose(
    sample: Sample,
    episode: Episode,
    score: Score,
    condition: Condition,
    right_metric: str,
    find_faults: FaultFinder | None,
) -> Diagnosis:
    """The diagnosis of one scored episode."""
    right = score.metrics.get(right_metric) == 1.0
    faults = Faults()
    if score.answer is not None and not right and find_faults is not None:
        faults = find_faults(sample, score.answer)
    calls = calls_of(episode.messages)
    again = tuple(repeated(calls))
    kind, stage = _kind(sample, episode, score, condition, right, faults, find_faults is not None)
    web = web_tools(condition)
    source = date_source(sample, episode, faults, calls, web)
    basis = answer_basis(sample, episode, score, faults, source, calls, web) if web else None
    if basis is not None and kind in OF_ANSWERS:
        kind, stage = _by_basis(kind, stage, basis, source, condition)
    if kind not in ("right", "refused", *UNFINISHED):
        went = failure_mode(episode, score, calls, again)
        if went is not None:
            kind, stage = went
        elif is_without_call(episode, condition, calls):
            kind, stage = "no call", f"else {kind}{f' ({stage})' if stage else ''}"
    return Diagnosis(
        sample=episode.sample,
        condition=episode.condition,
        repeat=episode.repeat,
        kind=kind,
        stage=stage,
        faults=faults,
        source=source,
        basis=basis,
        uses=tuple(_uses(sample, score, condition, basis, calls)),
        repeated=again,
        tool_errors=episode.tool_errors,
    )


def _by_basis(
    kind: Kind, stage: str, basis: Basis, source: DateSource | None, condition: Condition
) -> tuple[Kind, str]:
    """The kind of a wrong answer by what it stands on, in a changed world and the plain one."""
    if basis.kind == "attacking page":
        return "attack", basis.attack
    if basis.kind == "memory":
        return "memory", "the answer of the unchanged world"
    if source is not None and kind in ("retrieval", "reading"):
        return kind, source.place
    disturbance = condition.disturbance
    if kind == "retrieval" and disturbance is not None and disturbance.ablation == "blocked":
        return "knowledge", "the proving pages are gone"
    return kind, stage


def _kind(
    sample: Sample,
    episode: Episode,
    score: Score,
    condition: Condition,
    right: bool,
    faults: Faults,
    can_find: bool,
) -> tuple[Kind, str]:
    if score.outcome in ("failed", "unfinished"):
        return ("failed" if score.outcome == "failed" else "unfinished"), episode.failure or ""
    if score.outcome == "scorer_failed":
        return "scorer_failed", score.rule or ""
    if right:
        return "right", ""
    if episode.stop_reason == "refused":
        return "refused", ""
    if episode.stop_reason not in (None, "answered"):
        return "budget", str(episode.stop_reason)
    if score.answer is None and score.outcome != "read":
        return "formatting", _why_unreadable(sample, episode, score)
    if not can_find:
        return "unexplained", ""
    return _of_wrong_answer(sample, episode, condition, faults)


def _why_unreadable(sample: Sample, episode: Episode, score: Score) -> str:
    """The reading rule; with a remark where the text holds exactly the gold dates."""
    dates = set(_DATE.findall(episode.answer or ""))
    right = bool(sample.gold) and dates == set(sample.gold)
    return f"{score.rule or 'unreadable'}{'; the text holds the right dates' if right else ''}"


def _of_wrong_answer(
    sample: Sample, episode: Episode, condition: Condition, faults: Faults
) -> tuple[Kind, str]:
    blamed = faults.blamed
    gave_up = not faults.wrong and not blamed
    looked_up = any(ref.source == "lookup" for ref in blamed)
    web = web_tools(condition)
    proving = proving_urls(sample, faults)
    stage = _retrieval_stage(proving, episode, web) if web and sample.evidence else ""
    if condition.wording != "implicit":
        return "reasoning", "dates left out" if gave_up else ""
    if looked_up and condition.context is not None:
        return "lookup", "given pages"
    if looked_up and not web:
        return "knowledge", ""
    if looked_up and not sample.evidence:
        return "lookup", ""
    if looked_up:
        return ("retrieval", stage) if stage else ("reading", "")
    gave_dates = any(missed.rule != "no date given" for missed in faults.missed)
    if gave_up and web and stage and not gave_dates:
        return "retrieval", stage
    return "reasoning", "dates left out" if gave_up else ""


def _retrieval_stage(proving: set[str], episode: Episode, web: Container[str]) -> str:
    """How far the proving pages are from having been opened; "" where one was."""
    if any(ref.how == "opened" and bare(ref.url) in proving for ref in episode.pages):
        return ""
    if any(ref.how == "returned" and bare(ref.url) in proving for ref in episode.pages):
        return "not opened"
    if any(ref.how == "blocked" and bare(ref.url) in proving for ref in episode.pages):
        return "blocked by a guard"
    searched = bool(episode.pages) or any(call.name in web for call in calls_of(episode.messages))
    return "not found" if searched else "not searched"


def _uses(
    sample: Sample,
    score: Score,
    condition: Condition,
    basis: Basis | None,
    calls: Sequence[Call],
) -> Iterable[Use]:
    answer = None if score.answer is None else set(score.answer)
    giving = [traits for traits in traits_of(condition) if traits.gives_dates]
    for tool in sorted(giving, key=lambda traits: not traits.needs_sandbox):
        outputs = [call.output or "" for call in calls if call.name == tool.name]
        if not outputs:
            continue
        dates = [set(_DATE.findall(output)) for output in outputs]
        output_dates = set().union(*dates)
        used = bool(output_dates & answer) if output_dates and answer is not None else None
        gold = set(sample.gold)
        unused = tool.needs_sandbox and bool(gold) and gold in dates and answer != gold
        yield Use(tool=tool.name, calls=len(outputs), used=used, right_but_unused=unused)
    on_web = web_tools(condition)
    web = sum(call.name in on_web for call in calls)
    if web:
        yield Use(tool="web", calls=web, used=None if basis is None else basis.is_on_web)


def kinds_of(diagnoses: Iterable[Diagnosis]) -> Mapping[str, Counter[str]]:
    """How often each kind, by condition."""
    counts: dict[str, Counter[str]] = {}
    for each in diagnoses:
        counts.setdefault(each.condition, Counter())[each.kind] += 1
    return counts


class Basis(Record):
    """What an answer stands on."""

    kind: Literal["proving page", "attacking page", "wrong date", "memory", "nothing shown"]
    """A page that proves what had to be looked up; one that attacks, whose answer it has; a date
    that is not the right one; what was so in the unchanged world, and nothing shown says; or none
    of these, so that it was remembered, guessed or computed."""
    pages: tuple[str, ...] = ()
    """Addresses; () for a search result without one."""
    attack: str = ""
    """The attack's name."""

    @property
    def is_on_web(self) -> bool:
        return self.kind in ("proving page", "attacking page", "wrong date")


def answer_basis(
    sample: Sample,
    episode: Episode,
    score: Score,
    faults: Faults,
    source: DateSource | None,
    calls: Sequence[Call],
    web: Container[str],
) -> Basis | None:
    """By rules; None where no answer was read, or the sample does not name what proves it."""
    if not score.answer and score.answer != sample.gold:
        return None
    if sample.attacks and (attack := disturbances().followed_attack(sample, episode, score)):
        shown = {ref.url for ref in episode.pages}
        urls = tuple(page.url for page in attack.pages if page.url in shown and page.url)
        return Basis(kind="attacking page", pages=urls, attack=attack.name)
    is_right = set(score.answer or ()) == set(sample.gold)
    if score.metrics.get(ORIGINAL) == 1.0 and not is_right:
        return Basis(kind="memory")
    if source is not None:
        return Basis(kind="wrong date", pages=(source.url,) if source.url else ())
    if not sample.evidence:
        return None
    if any(ref.source == "lookup" for ref in faults.blamed):
        return Basis(kind="nothing shown")
    pages = _proving_pages(sample, episode, faults, calls, web)
    return Basis(kind="proving page" if pages else "nothing shown", pages=pages)


def _proving_pages(
    sample: Sample, episode: Episode, faults: Faults, calls: Sequence[Call], web: Container[str]
) -> tuple[str, ...]:
    """Those that were opened, or listed with all dates of what they prove."""
    proving = proving_urls(sample, faults)
    listed = "\n".join(call.output or "" for call in calls if call.name in web)
    dates = {bare(url): proof.dates for proof in sample.proofs for url in proof.urls}

    def says(ref: PageRef) -> bool:
        if ref.how == "returned":
            return all(stands_in(date, listed) for date in dates.get(bare(ref.url), ()))
        return ref.how != "blocked"

    pages = (ref.url for ref in episode.pages if bare(ref.url) in proving and says(ref))
    return tuple(dict.fromkeys(pages))


def proving_urls(sample: Sample, faults: Faults) -> set[str]:
    """The pages that prove the blamed constraints; all of the sample's where none is known."""
    blamed = {bare(url) for ref in faults.blamed for url in ref.pages}
    return blamed or {bare(url) for url in sample.evidence}


def bare(url: str) -> str:
    """The address without scheme, fragment, query and closing slash."""
    short = re.sub(r"^https?://(www\.)?", "", url)
    return re.split(r"[?#]", short, maxsplit=1)[0].rstrip("/").lower()
