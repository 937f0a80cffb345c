"""The scripted reference policy for questions on timed facts, from the prompt alone.

Extractions and programs are written by rules, so that a solver compares the months. Direct answers
of `reference-static` compare years only: the difference shows the benefit of execution.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from agent_env.features.extraction.extraction import (
    RuleExtraction,
    extract,
    reference_text,
    write_extraction,
    write_shift,
)
from agent_env.features.extraction.solver import Fact, Ties, solve
from agent_env.features.extraction.wording import KINDS, TIE_RULES, read_shift
from agent_env.features.reference.turns import Call, Step, Turn, read_history
from agent_env.sdk.records import Message
from agent_env.temporal.months import Span
from agent_env.temporal.written import MONTHS

_QUESTION = re.compile(r"(?:^|\n)Question: (.+)")
_CONTEXT = re.compile(r"(?:^|\n)Context:\n(.*?)(?:\n\n|\Z)", re.S)
PROGRAM = "Write one Python program"
EXTRACTIONS = ('{"facts": [{"object"', '{"relation": "after", "reference"')


@dataclass(frozen=True, slots=True)
class PromptQuestion:
    """The question of a prompt, parsed from its last message with one."""

    prompt: str
    question: str
    context: str


def question_in(messages: Sequence[Message]) -> PromptQuestion | None:
    """The question in the messages; None for a prompt of another family."""
    for message in reversed(messages):
        if message.role != "user" or (match := _QUESTION.search(message.content)) is None:
            continue
        text = message.content
        if not any(mark in text for mark in ("`Answer:`", PROGRAM, *EXTRACTIONS)):
            return None
        context = _CONTEXT.search(text)
        return PromptQuestion(text, match[1].strip(), context[1] if context else "")
    return None


def next_call(
    question: PromptQuestion,
    searches: Mapping[str, Sequence[tuple[str, str]]],
    pages: Mapping[str, str],
    tools: Set[str],
) -> Call | None:
    """The search for the question's topic, then its results, until a page has the topic as title;
    None where nothing is left to do."""
    topic = _topic(question.question)
    if question.context or topic is None or "web_search" not in tools:
        return None
    if topic not in searches:
        return "web_search", {"query": topic}
    if any(_title(page) == topic for page in pages.values()):
        return None
    texts = [snippet for _, snippet in searches[topic]] + list(pages.values())
    links = [url for text in texts for url in _LINK.findall(text)]
    ending = f"/{topic.replace(' ', '_')}"
    urls = [url for url in links if url.endswith(ending)] + [url for url, _ in searches[topic]]
    urls.sort(key=lambda url: not url.endswith(ending))
    return next((("open_page", {"url": url}) for url in urls[:4] if url not in pages), None)


_LINK = re.compile(r"<(https?://[^<>\s]+)>")
_LINK_BEHIND = re.compile(rf" {_LINK.pattern}")


def _topic(question: str) -> str | None:
    for kind in KINDS.values():
        head, _, tail = kind.ask.partition("{t}")
        middle = tail.removesuffix("{when}?")
        match = re.match(rf"{re.escape(head)}(.+?){re.escape(middle)}", question)
        if match is not None and (middle.strip() or (match := _WHEN.match(question[len(head) :]))):
            return match[1]
    return None


_WHEN = re.compile(r"(.+?) (?:in|at|from|before|after|between|right) ")
_ROW = re.compile(
    r"^(Played for|Managed|Manager|Office|Worked for|Member of|Attended|Owner|Head): (.+?) \| "
    r"from (.+?) \| (?:to (.+)|.*)$",
    re.M,
)
_ROW_KINDS = {
    "Played for": "team", "Manager": "coach", "Office": "position", "Worked for": "employer",
    "Member of": "party", "Attended": "school", "Owner": "owner", "Head": "head",
}  # fmt: skip


def _title(page: str) -> str:
    return page.split("\n", 1)[0].strip()


def _rows(page: str) -> str:
    """An article's rows as lines of one fact each, with the title as topic."""
    lines = []
    for what, value, start, end in _ROW.findall(page):
        if (kind := _ROW_KINDS.get(what)) is not None:
            until = "" if end in ("", "still") else f" to {end}"
            statement = KINDS[kind].past.format(t=_title(page), v=value)
            lines.append(f"{statement} from {start}{until}.")
    return "\n".join(lines)


def reply_to(question: PromptQuestion, pages: Mapping[str, str], thorough: bool) -> str:
    """The policy's reply; `pages` are those that it opened. A thorough one compares months."""
    if (shift := read_shift(question.question)) is not None:
        if PROGRAM in question.prompt:
            first, one_month = shift.base.first, shift.base.first == shift.base.last
            parts = "f'{names[at]}, {year}'" if one_month else "year"
            return (
                f"```python\nnames = {' '.join(name[:3] for name in MONTHS)!r}.split()\n"
                f"year, at = divmod({first} + {shift.months}, 12)\nprint({parts})\n```"
            )
        reasoning = "I added the years and the months."
        return _in_form(
            question.prompt, shift.answer, reasoning, write_shift(shift), EXTRACTIONS[1]
        )
    texts = (_rows(_LINK_BEHIND.sub("", page)) for page in pages.values())
    context = question.context or "\n".join(texts)
    extraction = extract(question.question, context)
    if PROGRAM in question.prompt:
        return _program(extraction, question.prompt)
    query = extraction.query
    written = (
        "I could not read what the question asks."
        if query is None
        else write_extraction(extraction.facts, query, reference_text(query))
    )
    names: tuple[str, ...] = ()
    if query is not None:
        facts, asked, span = extraction.facts, query, query.reference
        if not thorough:
            facts = tuple(map(_by_years, facts))
            if isinstance(span, Span):
                years = Span(span.first // 12 * 12, span.last // 12 * 12 + 11)
                asked = replace(query, reference=years)
        names = solve(facts, asked, ties=_ties(question.prompt)).answers
    answer = names[0] if names else "none"
    if not extraction.facts:
        return _in_form(
            question.prompt, "unknown", "I have no facts on that.", written, EXTRACTIONS[0]
        )
    if "as a JSON list" in question.prompt:
        answer = json.dumps(names, ensure_ascii=False)
    reasoning = "No fact fits the dates."
    if names:
        reasoning = f"By their dates, {' and '.join(names)} fit{'s' * (len(names) == 1)}."
    return _in_form(question.prompt, answer, reasoning, written, EXTRACTIONS[0])


def _in_form(prompt: str, answer: str, reasoning: str, extraction: str, asks_both: str) -> str:
    """The reply in the form that the prompt asks for; `asks_both` is in one for an extraction and
    an answer."""
    if "Do not answer the question" in prompt:
        return extraction
    if asks_both in prompt:
        return f"{extraction}\n\nAnswer: {answer}"
    if "First write one line: `Answer:`" in prompt:
        return f"Answer: {answer}\nReasoning: {reasoning}"
    return f"Reasoning: {reasoning}\nAnswer: {answer}"


def _by_years(fact: Fact) -> Fact:
    start, end = (None if at is None else f"{at // 12:04}" for at in (fact.first, fact.last))
    return Fact(topic=fact.topic, kind=fact.kind, value=fact.value, start=start, end=end)


def _program(extraction: RuleExtraction, prompt: str) -> str:
    """A program with the facts as records of months, and the question's comparison, with the
    tie-break that the prompt states."""
    if extraction.query is None:
        return "I could not read the question."
    query, span, ties = extraction.query, extraction.query.reference, _ties(prompt)
    rows = "\n".join(
        f"    ({-1 if f.first is None else f.first}, {f.last or 10**6}, {f.value!r}),"
        for f in extraction.facts
    )
    lines = ["import json", "", "# months since the year 0", f"facts = [\n{rows}\n]"]
    if query.relation in ("before", "after"):
        is_before = query.relation == "before"
        sign, own, best = ("<", "min", "max") if is_before else (">", "max", "min")
        at = f"{own}(start for start, _, name in facts if name == {span!r})"
        if isinstance(span, Span):
            at = str(span.first if is_before else span.last)
        is_latest = ties == "last-ending" or (ties == "nearest" and is_before)
        only = f" if end == {'max' if is_latest else 'min'}(end for end, _ in tied)"
        lines += [
            f"at = {at}",
            f"starts = [start for start, _, _ in facts if start {sign} at]",
            f"tied = [(e, n) for start, e, n in facts if starts and start == {best}(starts)]",
            f"names = [name for end, name in tied{'' if ties == 'all' else only}]",
        ]
    else:
        assert isinstance(span, Span)  # questions as text have no other
        every = query.relation == "throughout"
        one, two = (span.first, span.last) if every else (span.last, span.first)
        lines += [
            f"names = [name for start, end, name in facts if start <= {one} and end >= {two}]"
        ]
    lines.append("print(json.dumps(list(dict.fromkeys(names))))")
    return "```python\n" + "\n".join(lines) + "\n```"


def _ties(prompt: str) -> Ties:
    return next((name for name, rule in TIE_RULES.items() if rule in prompt), "all")


def next_step(turn: Turn) -> Step | None:
    """The policy's next step; None for messages of another family."""
    question = question_in(turn.messages)
    if question is None:
        return None
    history = read_history(turn.messages)
    call = next_call(question, history.searches, history.pages, turn.offered)
    if call is not None:
        return "I look up whom it is about.", [call]
    return reply_to(question, history.pages, turn.thorough), []
