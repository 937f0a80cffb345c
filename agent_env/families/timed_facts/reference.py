"""Answers questions on timed facts, by the words of the prompt alone.

Asked for an extraction or a program it writes one by rules, so that a solver does the comparing.
Asked for an answer it compares years only, as a careless reader would: what execution is worth can
then be seen without a model. It says nothing about any model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence, Set

from agent_env.families.reference.turns import Step, Turn, look_back
from agent_env.families.timed_facts.extraction import write_extraction
from agent_env.families.timed_facts.extractor import Extracted, extract, told_reference
from agent_env.families.timed_facts.facts import Fact
from agent_env.families.timed_facts.questions import add_months
from agent_env.families.timed_facts.reference_asked import EXTRACTION, PROGRAM, Asked, read_asked
from agent_env.families.timed_facts.solver import Query
from agent_env.families.timed_facts.wording import KINDS
from agent_env.scoring.names import normalise
from agent_env.temporal.months import Span

_ONLY_EXTRACTION = "Do not answer the question"
_ANSWER_FIRST = "First write one line: `Answer:`"
_LIST = "as a JSON list"


Call = tuple[str, dict[str, str]]
"""A tool and its arguments."""


def next_call(
    asked: Asked,
    searches: Mapping[str, Sequence[tuple[str, str]]],
    pages: Mapping[str, str],
    offered: Set[str],
) -> Call | None:
    """The search for whom the question is about, then the pages found, until one bears its name;
    None where nothing more is to be done."""
    topic = _topic(asked.question)
    if asked.context or topic is None or "web_search" not in offered:
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


def _topic(question: str) -> str | None:
    for kind in KINDS.values():
        head, _, tail = kind.ask.partition("{t}")
        middle = tail.removesuffix("{when}?")
        found = re.match(rf"{re.escape(head)}(.+?){re.escape(middle)}", question)
        if found is not None and (middle.strip() or (found := _WHEN.match(question[len(head) :]))):
            return found[1]
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
    """The rows of an article as lines of a fact each, about the one in its title."""
    lines = []
    for what, value, start, end in _ROW.findall(page):
        if (kind := _ROW_KINDS.get(what)) is not None:
            until = "" if end in ("", "still") else f" to {end}"
            said = KINDS[kind].line.format(t=_title(page), v=value)
            lines.append(f"{said} from {start}{until}.")
    return "\n".join(lines)


def reply_to(asked: Asked, pages: Mapping[str, str]) -> str:
    """What the script writes; `pages` are those that it opened."""
    told = asked.context or "\n".join(map(_rows, pages.values()))
    found = extract(asked.question, told)
    if PROGRAM in asked.prompt:
        return "I could not read the question." if found.query is None else _program(found)
    if _ONLY_EXTRACTION in asked.prompt:
        return _extraction(found)
    answer, reasoning = _careless(asked, found)
    if EXTRACTION in asked.prompt:
        return f"{_extraction(found)}\n\nAnswer: {answer}"
    if _ANSWER_FIRST in asked.prompt:
        return f"Answer: {answer}\nReasoning: {reasoning}"
    return f"Reasoning: {reasoning}\nAnswer: {answer}"


def _extraction(found: Extracted) -> str:
    if found.query is None:
        return "I could not read what the question asks."
    return write_extraction(found.facts, found.query, told_reference(found.query))


def _careless(asked: Asked, found: Extracted) -> tuple[str, str]:
    """An answer by years, and its reasons."""
    if (moved := add_months(asked.question)) is not None:
        return moved, "I added the years and the months."
    names = _by_years(found.facts, found.query) if found.query is not None else ()
    reasoning = f"By their years these fit: {', '.join(names) or 'none'}."
    if _LIST in asked.prompt:
        return json.dumps(names, ensure_ascii=False), reasoning
    return (names[0] if names else "none"), reasoning


def _by_years(facts: Sequence[Fact], query: Query) -> tuple[str, ...]:
    """As the solver, with months left aside."""
    if query.relation in ("before", "after"):
        return _next_by_years(facts, query)
    assert isinstance(query.reference, Span)  # questions in words give nothing else
    low, high = query.reference.first // 12, query.reference.last // 12
    every = query.relation == "throughout"
    held = [
        fact.value
        for fact in facts
        if (_first(fact) <= low and _last(fact) >= high if every else
            _first(fact) <= high and _last(fact) >= low)
    ]  # fmt: skip
    return tuple(dict.fromkeys(held))


def _next_by_years(facts: Sequence[Fact], query: Query) -> tuple[str, ...]:
    before, reference = query.relation == "before", query.reference
    if isinstance(reference, Span):
        at = reference.first // 12
    else:
        own = [_first(f) for f in facts if normalise(f.value) == normalise(reference)]
        if not own:
            return ()
        at = own[0]
    years = [y for y in map(_first, facts) if (y < at if before else y > at)]
    if not years:
        return ()
    best = max(years) if before else min(years)
    return tuple(dict.fromkeys(f.value for f in facts if _first(f) == best))


def _first(fact: Fact) -> int:
    return fact.first // 12 if fact.first is not None else -1


def _last(fact: Fact) -> int:
    return fact.last // 12 if fact.last is not None else 9999


def _program(found: Extracted) -> str:
    """Facts as records of months, and the comparison that the question asks for."""
    assert found.query is not None  # said by the caller
    query = found.query
    rows = "\n".join(f"    ({f.first!r}, {f.last!r}, {f.value!r})," for f in found.facts)
    lines = [
        "import json", "", "# months since the year 0; None is an open end", f"facts = [\n{rows}\n]"
    ]  # fmt: skip
    if query.relation in ("before", "after"):
        lines += _neighbour_lines(query)
    else:
        assert isinstance(query.reference, Span)  # as above
        low, high = query.reference.first, query.reference.last
        one, two = (low, high) if query.relation == "throughout" else (high, low)
        lines += [
            f"names = [name for first, last, name in facts if (first is None or first <= {one})"
            f" and (last is None or last >= {two})]"
        ]
    lines.append("print(json.dumps(list(dict.fromkeys(names))))")
    return "```python\n" + "\n".join(lines) + "\n```"


def _neighbour_lines(query: Query) -> list[str]:
    before, reference = query.relation == "before", query.reference
    pick, sign = ("min", "<") if before else ("max", ">")
    begin = (
        f"{pick}(start for start, _, name in begun if name == {reference!r})"
        if isinstance(reference, str)
        else repr(reference.first if before else reference.last)
    )
    best = "max" if before else "min"
    return [
        "begun = [(-1 if first is None else first, last, name) for first, last, name in facts]",
        f"at = {begin}",
        f"others = [start for start, _, _ in begun if start {sign} at]",
        f"names = [n for s, _, n in begun if others and s == {best}(others)]",
    ]


def next_step(turn: Turn) -> Step | None:
    """The step in a question on timed facts; None where the question is none."""
    question = read_asked(turn.messages)
    if question is None:
        return None
    seen = look_back(turn.messages)
    call = next_call(question, seen.searches, seen.pages, turn.offered)
    if call is not None:
        return "I look up whom it is about.", [call]
    return reply_to(question, seen.pages), []
