"""The scripted reference policy for Time Puzzles: lookup, computation, answer."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from dataclasses import dataclass
from functools import lru_cache

from agent_env.families.reference.turns import Call, History, Step, Turn, read_history
from agent_env.families.time_puzzles import reference_sums as sums
from agent_env.families.time_puzzles.reference_evidence import (
    clause_from,
    fit,
    has_names,
    is_about_more,
    is_titled,
    words,
)
from agent_env.families.time_puzzles.reference_habits import FINDS, answer_by_habit
from agent_env.families.time_puzzles.reference_reading import (
    Clause,
    Lookup,
    ParsedPrompt,
    read_prompt,
)

SURE_FIT = 0.85
"""Fit at which a page is accepted immediately."""
GOOD_FIT = 0.6
"""Fit at which a search's best page is accepted without another search."""
FAIR_FIT = 0.3
"""Least fit of an accepted page."""
ENOUGH_SEARCHES = 2
"""Searches after which a page with a good fit is accepted without all names."""
MAX_OPENED = 5


@dataclass(frozen=True, slots=True)
class LookupState:
    """A lookup's state: its clause, or the next call for it, or neither."""

    clause: Clause | None = None
    call: Call | None = None
    url: str | None = None
    """The clause's page."""


@dataclass(slots=True)
class Best:
    """The page with the best fit so far."""

    fitness: float = 0.0
    state: LookupState = LookupState()

    def offer(self, fitness: float, state: LookupState) -> None:
        """Keeps the state if its fit is better; the first of equal ones remains."""
        if fitness > self.fitness:
            self.fitness, self.state = fitness, state


def next_step(turn: Turn) -> Step | None:
    """The policy's next step; None for messages of another family."""
    tools, history = turn.offered, read_history(turn.messages)
    find = FINDS.get(turn.habit or "giver-up", find_thoroughly) if turn.thorough else find_once
    prompt = read_prompt(history.prompt)
    if not prompt.clauses and not prompt.lookups and not (prompt.announced and prompt.unread):
        return None
    if prompt.unread:  # an answer from the other constraints would be a guess
        return f"I did not understand: {'; '.join(prompt.unread)}\nI give no answer.", []
    if turn.source != "pages":
        return answer_without_pages(turn, prompt, history)
    if (step := answer_by_habit(turn, history)) is not None:
        return step
    states = [
        context_fact(lookup, history) or find(lookup, history, tools) for lookup in prompt.lookups
    ]
    calls = list({str(f.call): f.call for f in states if f.call is not None}.values())
    if calls:
        return "I look up what I do not know.", calls
    return _finish(tools, history, prompt, states)


def find_thoroughly(lookup: Lookup, history: History, tools: set[str]) -> LookupState:
    """Goes through queries and hits until a page fits."""
    sure, unsure = Best(), Best()
    for number, query in enumerate(queries(lookup), start=1):
        if query not in history.searches:
            if "web_search" not in tools:
                break
            return LookupState(call=("web_search", {"query": query}))
        for url, snippet in history.searches[query][:MAX_OPENED]:
            if url not in history.pages and "open_page" in tools:
                return LookupState(call=("open_page", {"url": url}))
            text = history.pages.get(url) or snippet
            fitness, clause = fit(text, lookup), clause_from(text, lookup)
            if clause is None or fitness <= FAIR_FIT:
                continue
            if is_titled(text, lookup):
                return LookupState(clause, url=url)
            if not has_names(text, lookup) or is_about_more(text, lookup):
                unsure.offer(fitness, LookupState(clause, url=url))
            elif fitness >= SURE_FIT:
                return LookupState(clause, url=url)
            else:
                sure.offer(fitness, LookupState(clause, url=url))
        if sure.fitness >= GOOD_FIT:
            return sure.state
        if number >= ENOUGH_SEARCHES and unsure.fitness > GOOD_FIT:
            return unsure.state
    return max(sure, unsure, key=lambda best: best.fitness).state


def find_once(lookup: Lookup, history: History, tools: set[str]) -> LookupState:
    """One search; trusts the first hit's snippet."""
    query = queries(lookup)[0]
    if query not in history.searches:
        call = ("web_search", {"query": query})
        return LookupState(call=call if "web_search" in tools else None)
    hits = history.searches[query]
    if not hits:
        return LookupState()
    url, snippet = hits[0]
    clause = clause_from(snippet, lookup)
    return LookupState(clause, url=url if clause is not None else None)


def context_fact(lookup: Lookup, history: History) -> LookupState | None:
    """The clause of the best fitting page in the prompt's context."""
    best: tuple[float, LookupState] | None = None
    for url, text in history.context_pages.items():
        clause, fitness = clause_from(text, lookup), fit(text, lookup)
        if clause is not None and fitness > max(FAIR_FIT, best[0] if best else 0.0):
            best = fitness, LookupState(clause, url=url)
    return best[1] if best else None


def queries(lookup: Lookup) -> list[str]:
    """Search queries in order: the phrase, its names, then fewer and fewer of its words."""
    phrase = lookup.phrase
    if lookup.what == "presidency":
        return [f"presidency of {phrase}", phrase]
    capital = " ".join(re.findall(r"\b[A-Z][\w'’.-]*", phrase[1:]))
    long = sorted(words(phrase), key=len, reverse=True)
    tries = [phrase, capital, *(" ".join(long[:n]) for n in (6, 4, 3, 2))]
    singles = [word for word in long if len(word) > 3][:6]
    return list(dict.fromkeys(query for query in [*tries, *singles] if query))


def answer_without_pages(turn: Turn, prompt: ParsedPrompt, history: History) -> Step:
    """Searches until something is found, then the answer from memory, or by guessing the event's
    value; lives and terms in office are remembered either way."""
    from agent_env.families.time_puzzles.reference_memory import recalled  # the readers have none

    for query in queries(prompt.lookups[0]) if prompt.lookups else ():
        if any(history.searches.values()) or "web_search" not in turn.offered:
            break
        if query not in history.searches:
            return "I look that up.", [("web_search", {"query": query})]
    is_guess = turn.source == "chance"
    states = [
        LookupState(None if is_guess and lookup.what == "event" else recalled(lookup))
        for lookup in prompt.lookups
    ]
    clauses = [*prompt.clauses, *(state.clause for state in states if state.clause is not None)]
    dates = list(_solve(json.dumps(clauses), prompt.first, prompt.last))
    missing = [k for k, f in zip(prompt.lookups, states, strict=True) if f.clause is None]
    # what it was shown decides the draw, so that two worlds give two independent guesses
    dates = _guess(dates, missing, "\n".join(each.content for each in turn.messages))
    return _answer(dates, missing, []), []


def _finish(
    tools: set[str],
    history: History,
    prompt: ParsedPrompt,
    states: list[LookupState],
) -> Step:
    """Computes the dates, with the Python tool where allowed, and answers."""
    clauses = [*prompt.clauses, *(f.clause for f in states if f.clause is not None)]
    missing = [k for k, f in zip(prompt.lookups, states, strict=True) if f.clause is None]
    if "python" in tools and history.printed is None:
        code = _program(clauses, prompt)
        return "I compute the dates.", [("python", {"code": code})]
    dates = _printed_dates(history.printed)
    if dates is None:
        dates = list(_solve(json.dumps(clauses), prompt.first, prompt.last))
    dates = _guess(dates, missing, history.prompt)
    if "calendars" in tools and not history.checked and dates:
        check = {"operation": "describe", "date": dates[0]}
        return "I check a date with the calendar.", [("calendars", check)]
    sources = list(dict.fromkeys(f.url for f in states if f.url is not None))
    return _answer(dates, missing, sources), []


@lru_cache(maxsize=1000)
def _solve(clauses: str, first: str, last: str) -> tuple[str, ...]:
    """Cached, because clauses recur in every condition, repeat and replay."""
    return tuple(sums.solve(json.loads(clauses), first, last))


def _program(clauses: list[Clause], prompt: ParsedPrompt) -> str:
    source = inspect.getsource(sums)
    call = f"solve({clauses!r}, {prompt.first!r}, {prompt.last!r})"
    return f"{source}\n\nprint(', '.join({call}) or 'no date')\n"


def _printed_dates(printed: str | None) -> list[str] | None:
    """The dates that the program printed; None if it did not run or failed."""
    if printed is None:
        return None
    if printed.strip() == "no date":
        return []
    lines = re.fullmatch(r"\s*(?:\d{4}-\d{2}-\d{2}(?:, )?)+\s*", printed)
    return re.findall(r"\d{4}-\d{2}-\d{2}", printed) if lines else None


def _guess(dates: list[str], missing: list[Lookup], chance: str) -> list[str]:
    """The dates of one pseudo-randomly drawn value of each unknown event."""
    for lookup in missing:
        if lookup.shares == "span" or not dates:
            continue
        part = {"year": slice(0, 4), "month": slice(5, 7), "day": slice(8, 10)}[lookup.shares]
        values = sorted({day[part] for day in dates})
        draw = int.from_bytes(hashlib.sha256(chance.encode()).digest()[:4], "big")
        value = values[draw % len(values)]
        dates = [day for day in dates if day[part] == value]
    return dates


def _answer(dates: list[str], missing: list[Lookup], sources: list[str]) -> str:
    lines = []
    if missing:
        lines.append(f"I could not find out about {'; '.join(m.phrase for m in missing)}.")
    if sources:
        lines.append(f"Sources: {', '.join(sources)}")
    lines.append(f"MY ANSWER: {', '.join(dates) or 'None'}")
    return "\n".join(lines)
