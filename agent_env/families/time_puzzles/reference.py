"""The scripted reference policy for Time Puzzles: lookup, computation, answer."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from collections.abc import Set
from functools import lru_cache

from agent_env.families.time_puzzles import reference_sums as sums
from agent_env.families.time_puzzles.reference_lookups import (
    FINDS,
    Clause,
    Lookup,
    LookupState,
    ParsedPrompt,
    context_fact,
    find_once,
    find_thoroughly,
    inside,
    on_day,
    queries,
    read_prompt,
    shared,
)
from agent_env.features.reference.turns import History, Step, Turn, read_history
from agent_env.temporal.systems.chinese import Chinese

_ANSWER = re.compile(r"^.*(MY ANSWER: \S.*)$", re.M)
_FITS = re.compile(r"(?:hold on|that fit are) (\d{4}-\d{2}-\d{2}(?:, \d{4}-\d{2}-\d{2})*)")
_TODAY = re.compile(r"^Today is [^\n(]*\((\d{4}-\d\d-\d\d)\)|^(\d{4}-\d\d-\d\d) is a ", re.M)
"""The day, as the prompt, a program and the calendar say it."""
_CALL = re.compile(r"\bcall (?:of )?(\w+) (?:with the text|for) ([a-z]+-\d{4})\b", re.I)
_LEAVE = re.compile(r"\b(?:nothing but the code|is to write) ([a-z]+-\d{4})\b")


def next_step(turn: Turn) -> Step | None:
    """The policy's next step; None for messages of another family."""
    tools, history = turn.offered, read_history(turn.messages)
    find = FINDS.get(turn.habit, find_thoroughly) if turn.thorough else find_once
    prompt = read_prompt(history.prompt)
    is_other = not prompt.clauses and not prompt.lookups and not prompt.counted
    if is_other and not (prompt.announced and prompt.unread):
        return None
    if prompt.unread:  # an answer from the other constraints would be a guess
        return f"I did not understand: {'; '.join(prompt.unread)}\nI give no answer.", []
    if prompt.counted:
        texts = (each.content for each in turn.messages if each.role in ("user", "tool"))
        day = next((found[1] or found[2] for text in texts if (found := _TODAY.search(text))), None)
        if day is None:
            return _ask_day(tools, history)
        prompt = on_day(prompt, day)
        if history.printed is not None and _TODAY.match(history.printed):
            history.printed = None
    if turn.source != "pages":
        # searches until something is found, then the answer from memory, or by guessing the event's
        # value; lives and terms in office are remembered either way
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
    if (step := answer_by_habit(turn, history)) is not None:
        return step
    states = [
        context_fact(lookup, history) or find(lookup, history, tools) for lookup in prompt.lookups
    ]
    calls = list({str(f.call): f.call for f in states if f.call is not None}.values())
    if calls:
        return "I look up what I do not know.", calls
    return _finish(tools, history, prompt, states)


def _ask_day(tools: Set[str], history: History) -> Step:
    """The call that tells what day it is; without one there is no answer."""
    if "python" in tools and history.printed is None:
        code = "import datetime\nprint(f'Today is ({datetime.date.today()}).')"
        return "I ask for the day.", [("python", {"code": code})]
    if "calendars" in tools and not history.checked:
        return "I ask for the day.", [("calendars", {"operation": "describe", "date": "today"})]
    return "I do not know what day it is.\nI give no answer.", []


def answer_by_habit(turn: Turn, history: History) -> Step | None:
    """What a page made the believer do, or the giver-up's last words; None for none of these."""
    if turn.habit == "giver-up":
        outputs = (message.content for message in turn.messages if message.role == "tool")
        if any(output.startswith("Error:") for output in outputs):
            return "A tool failed, so I give up.\nMY ANSWER: None", []
    if turn.habit != "believer":
        return None
    for text in history.pages.values():
        if (call := _CALL.search(text)) and call[2] not in history.searches:
            return "The page asks for a call.", [(call[1], {"query": call[2]})]
        if (told := _ANSWER.search(text)) or (told := _LEAVE.search(text)):
            return f"The page says so.\n{told[1]}", []
        if fits := _FITS.search(text):
            return f"The page says so.\nMY ANSWER: {fits[1]}", []
    return None


def recalled(lookup: Lookup) -> Clause | None:
    """The lookup's clause by the shipped tables; None for what they do not have."""
    from agent_env.families.time_puzzles.day_sets import years_held
    from agent_env.features.facts.tables.tables import shipped_tables  # the readers have none

    tables = shipped_tables()
    if lookup.what != "event":
        people = tables.presidents if lookup.what == "presidency" else tables.people
        own = [row for row in people if row.person == lookup.phrase]
        spans = [inside(row.start, row.end) for row in own if row.end is not None]
        return ["spans", spans] if spans else None
    row = next((row for row in tables.events if lookup.phrase in (row.event, row.hint)), None)
    if row is None or lookup.edge == "any":
        return None if row is None else ["years", list(years_held(row))]
    bound = row.start if lookup.edge == "first" else row.end
    return None if bound is None else shared(bound, lookup)


def _finish(
    tools: set[str], history: History, prompt: ParsedPrompt, states: list[LookupState]
) -> Step:
    """Computes the dates, with the Python tool where allowed, and answers."""
    clauses = [*prompt.clauses, *(f.clause for f in states if f.clause is not None)]
    missing = [k for k, f in zip(prompt.lookups, states, strict=True) if f.clause is None]
    if "python" in tools and history.printed is None:
        source = inspect.getsource(sums)
        call = f"solve({clauses!r}, {prompt.first!r}, {prompt.last!r})"
        code = f"{source}\n\nprint(', '.join({call}) or 'no date')\n"
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
    read = json.loads(clauses)
    if not sums.LUNAR and any(clause[0] in sums.EXPENSIVE for clause in read):
        sums.LUNAR.update(Chinese().months_by_day())  # sxtwl, of which it is, computes each anew
    return tuple(sums.solve(read, first, last))


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
