"""Why an episode's answer is wrong, told from its trace by rules; no model judges.

Each finished episode falls into one kind, by the first rule that fits:

  right        the main metric is 1, or its share of the ceiling where it has one
  refused      the model refused
  by how the episode went (analysis.conduct has the rules): context, tool call in text, malformed
  calls, loop, echo of the prompt, no call (stage: what it would be otherwise)
  budget       another limit ended it (steps, tool calls, tokens, cost, time, truncated reply)
  formatting   the episode was answered, but the rules cannot read a date from it
  and where the answer was read and is wrong, by what it stands on (analysis.answer_basis):
  attack       the answer that an attacking page, which was read, wants; stage: the attack
  memory       in a shifted world, the answer of the unchanged one
  else by the constraints that the faults point to:
  knowledge    a constraint that must be looked up, and no web tool was offered, or its proving
               pages are gone
  retrieval    such a constraint, with the web offered, and the page that proves it not opened;
               stage: `not searched`, `not found` (in no result), `not opened` (listed only),
               `blocked by a guard`; or where the wrong date was read (analysis.date_sources):
               `stopped at a snippet`, `trusted another page`
  reading      such a constraint, though the proving page was opened: it was read wrongly; stage:
               as above, `newest date of the page` or `another date of the page`
  lookup       such a constraint, with the web offered, but the sample names no proving page; or
               with pages given before the question (stage `given pages`)
  reasoning    the faults point to constraints that need only calculation, or to none

Looked-up constraints come first, as what is computed rests on them. A family without a fault finder
gets `unexplained` for answers that were read and are wrong.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Literal

from agent_env.analysis.answer_basis import Basis, answer_basis, bare, proving_urls
from agent_env.analysis.conduct import (
    Call,
    Repeated,
    calls_of,
    conduct,
    is_without_call,
    repeated,
)
from agent_env.analysis.date_sources import DateSource, date_source
from agent_env.records.schema import Condition, Episode, Record, Sample, Score
from agent_env.tasks.faults import Faults
from agent_env.tasks.task import FaultFinder
from agent_env.tasks.tool_registry import traits_of, web_tools

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
    holds a date. Web: whether the answer stands on what it showed (analysis.answer_basis), None
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
        went = conduct(episode, score, calls, again)
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
    its = condition.disturbance
    if kind == "retrieval" and its is not None and its.ablation == "blocked":
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
    if gave_up and web and stage and not _gave_dates(faults):
        return "retrieval", stage
    return "reasoning", "dates left out" if gave_up else ""


def _gave_dates(faults: Faults) -> bool:
    return any(missed.rule != "no date given" for missed in faults.missed)


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
