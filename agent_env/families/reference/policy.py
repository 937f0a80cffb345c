"""The two scripted policies: one that goes on looking until it knows, one that looks once."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agent_env.families.reference.given import split_given
from agent_env.families.tdbench.reference import table_reply
from agent_env.families.temp_answers.reference import next_step
from agent_env.families.time_puzzles import reference_sums as sums
from agent_env.families.time_puzzles.reference_evidence import (
    clause_from,
    fit,
    has_names,
    is_about_more,
    is_titled,
    words,
)
from agent_env.families.time_puzzles.reference_reading import Clause, Lookup, Reading, read_prompt
from agent_env.families.timed_facts.reference_asked import read_asked
from agent_env.families.traveler import reference as event_lists
from agent_env.models.tokenizers import Estimate
from agent_env.protocols import ReplyOptions
from agent_env.records.schema import Message, Reply, ToolCall, ToolSpec, Usage

SURE_FIT = 0.85
"""How well a page must fit to be taken at once."""
GOOD_FIT = 0.6
"""How well the best of a search must fit to be taken without another search."""
FAIR_FIT = 0.3
"""How well the best of all must fit to be taken at last."""
ENOUGH_SEARCHES = 2
"""After so many, a page that lacks a name is taken if it fits well otherwise."""
MAX_OPENED = 5


@dataclass(slots=True)
class Seen:
    """What the messages tell of the episode so far."""

    prompt: str = ""
    given: dict[str, str] = field(default_factory=dict)
    """By address: pages that came with the question."""
    searches: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """By query: addresses and snippets, best first."""
    pages: dict[str, str] = field(default_factory=dict)
    """By address: what the page says; empty where it could not be opened."""
    printed: str | None = None
    """Output of the last program."""
    checked: bool = False
    """Whether the calendar was asked."""


Call = tuple[str, Mapping[str, object]]
"""A tool and its arguments."""


Step = tuple[str, Sequence[Call]]
"""What is said, and the calls that are asked for."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What a policy is sent."""

    messages: Sequence[Message]
    tools: Sequence[ToolSpec]
    thorough: bool
    """Whether every event of a list is looked at, or the first that fits."""

    @property
    def offered(self) -> set[str]:
        """Names of the tools."""
        return {tool.name for tool in self.tools}


@dataclass(frozen=True, slots=True)
class Found:
    """A lookup's state: its clause, or the next call that may give it, or neither."""

    clause: Clause | None = None
    call: Call | None = None
    url: str | None = None
    """The page that the clause was read from."""


@dataclass(slots=True)
class Best:
    """The best fitting page so far, and what it says."""

    fitness: float = 0.0
    found: Found = Found()

    def offer(self, fitness: float, found: Found) -> None:
        """Keep it if it fits better; the first of equals stays."""
        if fitness > self.fitness:
            self.fitness, self.found = fitness, found


def _table(turn: Turn) -> Step | None:
    told = table_reply(turn.messages, turn.tools, turn.thorough)
    return None if told is None else (told.text, [] if told.call is None else [told.call])


def _event_list(turn: Turn) -> Step | None:
    asked = event_lists.read_question(turn.messages)
    if asked is None:
        return None
    return event_lists.next_step(asked, turn.messages, turn.tools, turn.thorough)


def _time_question(turn: Turn) -> Step | None:
    return next_step(turn.messages, turn.offered)


def _timed_facts(turn: Turn) -> Step | None:
    asked = read_asked(turn.messages)
    if asked is None:
        return None
    from agent_env.families.timed_facts import reference as timed

    seen = look_back(turn.messages)
    call = timed.next_call(asked, seen.searches, seen.pages, turn.offered)
    if call is not None:
        return "I look up whom it is about.", [call]
    return timed.reply_to(asked, seen.pages), []


FAMILIES = (_table, _event_list, _time_question, _timed_facts)
"""Each gives the next step, or None where the question is not of its family."""


class Reference:
    """Searches, opens pages until one fits, asks again where a search failed, computes."""

    name = "reference"
    thorough = True
    """Whether every event of a list is looked at, or the first that fits."""

    async def generate(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        options: ReplyOptions = ReplyOptions(),
    ) -> Reply:
        """The next step, told by the messages alone; a policy that needs no call makes none."""
        turn = Turn(messages, () if options.tool_choice == "none" else tools, self.thorough)
        steps = (family(turn) for family in (*FAMILIES, self._puzzle))
        return _reply(messages, *next(step for step in steps if step is not None))

    def _puzzle(self, turn: Turn) -> Step:
        """The step in a puzzle of constraints, or in what no family knows."""
        offered, seen = turn.offered, look_back(turn.messages)
        asked = read_prompt(seen.prompt)
        if not asked.clauses and not asked.lookups:  # all days would fit
            return "I do not understand the question.", []
        found = [
            given_fact(lookup, seen) or self.find(lookup, seen, offered) for lookup in asked.lookups
        ]
        calls = list({str(f.call): f.call for f in found if f.call is not None}.values())
        if calls:
            return "I look up what I do not know.", calls
        return _finish(offered, seen, asked, found)

    def find(self, lookup: Lookup, seen: Seen, offered: set[str]) -> Found:
        """Go through the queries and their hits until a page fits."""
        sure, unsure = Best(), Best()
        for number, query in enumerate(queries(lookup), start=1):
            if query not in seen.searches:
                if "web_search" not in offered:
                    break
                return Found(call=("web_search", {"query": query}))
            for url, snippet in seen.searches[query][:MAX_OPENED]:
                if url not in seen.pages and "open_page" in offered:
                    return Found(call=("open_page", {"url": url}))
                text = seen.pages.get(url) or snippet
                fitness, clause = fit(text, lookup), clause_from(text, lookup)
                if clause is None or fitness <= FAIR_FIT:
                    continue
                if is_titled(text, lookup):
                    return Found(clause, url=url)
                if not has_names(text, lookup) or is_about_more(text, lookup):
                    unsure.offer(fitness, Found(clause, url=url))
                elif fitness >= SURE_FIT:
                    return Found(clause, url=url)
                else:
                    sure.offer(fitness, Found(clause, url=url))
            if sure.fitness >= GOOD_FIT:
                return sure.found
            if number >= ENOUGH_SEARCHES and unsure.fitness > GOOD_FIT:
                return unsure.found
        return max(sure, unsure, key=lambda best: best.fitness).found


def given_fact(lookup: Lookup, seen: Seen) -> Found | None:
    """What the pages that came with the question say: the one that fits best is taken."""
    best: tuple[float, Found] | None = None
    for url, text in seen.given.items():
        clause, fitness = clause_from(text, lookup), fit(text, lookup)
        if clause is not None and fitness > max(FAIR_FIT, best[0] if best else 0.0):
            best = fitness, Found(clause, url=url)
    return best[1] if best else None


class ReferenceStatic(Reference):
    """One search for each thing, and the first hit's snippet is trusted."""

    name = "reference-static"
    thorough = False

    def find(self, lookup: Lookup, seen: Seen, offered: set[str]) -> Found:
        query = queries(lookup)[0]
        if query not in seen.searches:
            call = ("web_search", {"query": query})
            return Found(call=call if "web_search" in offered else None)
        hits = seen.searches[query]
        if not hits:
            return Found()
        url, snippet = hits[0]
        clause = clause_from(snippet, lookup)
        return Found(clause, url=url if clause is not None else None)


def queries(lookup: Lookup) -> list[str]:
    """What to search for, in order: all of it, its names, then ever fewer of its words."""
    phrase = lookup.phrase
    if lookup.what == "presidency":
        return [f"presidency of {phrase}", phrase]
    capital = " ".join(re.findall(r"\b[A-Z][\w'’.-]*", phrase[1:]))
    long = sorted(words(phrase), key=len, reverse=True)
    tries = [phrase, capital, *(" ".join(long[:n]) for n in (6, 4, 3, 2))]
    singles = [word for word in long if len(word) > 3][:6]
    return list(dict.fromkeys(query for query in [*tries, *singles] if query))


def look_back(messages: Sequence[Message]) -> Seen:
    """What was asked and what the tools have said."""
    seen = Seen()
    calls: dict[str, ToolCall] = {}
    for message in messages:
        if message.role == "user" and (not seen.prompt or "\nConstraints:\n" in message.content):
            seen.given, seen.prompt = split_given(message.content)  # after any worked examples
        calls |= {call.id: call for call in message.tool_calls}
        if message.role == "tool" and message.tool_call_id in calls:
            _take_in(seen, calls[message.tool_call_id], message.content)
    return seen


def _take_in(seen: Seen, call: ToolCall, output: str) -> None:
    arguments = json.loads(call.arguments)
    if call.name == "web_search":
        seen.searches[arguments["query"]] = _hits(output)
    elif call.name == "open_page":
        seen.pages[arguments["url"]] = "" if output.startswith("Error:") else output
    elif call.name == "python":
        seen.printed = output
    elif call.name == "calendars":
        seen.checked = True


def _hits(output: str) -> list[tuple[str, str]]:
    blocks = re.split(r"(?:(?<!\n)\n++)?^\[\d+\] ", output, flags=re.M)[1:]
    hits = []
    for block in blocks:
        _, url, snippet = [*block.split("\n", 2), "", ""][:3]
        hits.append((url, snippet))
    return hits


def _finish(
    offered: set[str],
    seen: Seen,
    asked: Reading,
    found: list[Found],
) -> Step:
    """Compute with what is known, in Python where it may, and answer."""
    clauses = [*asked.clauses, *(f.clause for f in found if f.clause is not None)]
    missing = [k for k, f in zip(asked.lookups, found, strict=True) if f.clause is None]
    if "python" in offered and seen.printed is None:
        code = _program(clauses, asked)
        return "I compute the dates.", [("python", {"code": code})]
    dates = _printed_dates(seen.printed)
    if dates is None:
        dates = sums.solve(clauses, asked.first, asked.last)
    dates = _guess(dates, missing, seen.prompt)
    if "calendars" in offered and not seen.checked and dates:
        check = {"operation": "describe", "date": dates[0]}
        return "I check a date with the calendar.", [("calendars", check)]
    sources = list(dict.fromkeys(f.url for f in found if f.url is not None))
    return _answer(dates, missing, asked.unread, sources), []


def _program(clauses: list[Clause], asked: Reading) -> str:
    source = inspect.getsource(sums)
    call = f"solve({clauses!r}, {asked.first!r}, {asked.last!r})"
    return f"{source}\n\nprint(', '.join({call}) or 'no date')\n"


def _printed_dates(printed: str | None) -> list[str] | None:
    """The dates that the program printed; None where it did not run or failed."""
    if printed is None:
        return None
    if printed.strip() == "no date":
        return []
    lines = re.fullmatch(r"\s*(?:\d{4}-\d{2}-\d{2}(?:, )?)+\s*", printed)
    return re.findall(r"\d{4}-\d{2}-\d{2}", printed) if lines else None


def _guess(dates: list[str], missing: list[Lookup], prompt: str) -> list[str]:
    """Where an event is unknown, one of the values that it could have, by lot."""
    for lookup in missing:
        if lookup.shares == "span" or not dates:
            continue
        part = {"year": slice(0, 4), "month": slice(5, 7), "day": slice(8, 10)}[lookup.shares]
        values = sorted({day[part] for day in dates})
        lot = int.from_bytes(hashlib.sha256(prompt.encode()).digest()[:4], "big")
        value = values[lot % len(values)]
        dates = [day for day in dates if day[part] == value]
    return dates


def _answer(
    dates: list[str], missing: list[Lookup], unread: tuple[str, ...], sources: list[str]
) -> str:
    lines = []
    if missing:
        lines.append(f"I could not find out about {'; '.join(m.phrase for m in missing)}.")
    if unread:
        lines.append(f"I did not understand: {'; '.join(unread)}")
    if sources:
        lines.append(f"Sources: {', '.join(sources)}")
    lines.append(f"MY ANSWER: {', '.join(dates) or 'None'}")
    return "\n".join(lines)


def _reply(messages: Sequence[Message], text: str, wanted: Sequence[Call]) -> Reply:
    count = sum(len(message.tool_calls) for message in messages)
    calls = tuple(
        ToolCall(id=f"call_{count + i}", name=name, arguments=json.dumps(arguments))
        for i, (name, arguments) in enumerate(wanted, start=1)
    )
    message = Message(role="assistant", content=text, tool_calls=calls)
    return Reply(
        message=message,
        finish_reason="tool_calls" if calls else "stop",
        usage=_usage(messages, message),
    )


def _usage(messages: Sequence[Message], reply: Message) -> Usage:
    """What a server might have counted; an estimate, as there are no real tokens."""
    count = Estimate().count
    sent = sum(count(m.content) + _calls_size(m) for m in messages)
    return Usage(
        input_tokens=sent,
        output_tokens=count(reply.content) + _calls_size(reply),
        source="estimate",
    )


def _calls_size(message: Message) -> int:
    return sum(Estimate().count(call.name + call.arguments) for call in message.tool_calls)
