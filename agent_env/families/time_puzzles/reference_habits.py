"""Policies with one known habit, with which measures of faults and attacks are tried.

The believer takes the first page for the truth and does what a page tells it; the checker wants two
pages that say the same; the giver-up answers nothing once a call has failed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from agent_env.families.reference.turns import Habit, History, Step, Turn
from agent_env.families.time_puzzles.reference_evidence import clause_from, fit
from agent_env.families.time_puzzles.reference_reading import Lookup

if TYPE_CHECKING:
    from agent_env.families.time_puzzles.reference import LookupState

_ANSWER = re.compile(r"^.*(MY ANSWER: \S.*)$", re.M)
_FITS = re.compile(r"(?:hold on|that fit are) (\d{4}-\d{2}-\d{2}(?:, \d{4}-\d{2}-\d{2})*)")
_CALL = re.compile(r"\bcall (?:of )?(\w+) (?:with the text|for) ([a-z]+-\d{4})\b", re.I)
_LEAVE = re.compile(r"\b(?:nothing but the code|is to write) ([a-z]+-\d{4})\b")
Find = Callable[[Lookup, History, set[str]], "LookupState"]


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


def find_first(lookup: Lookup, history: History, tools: set[str]) -> LookupState:
    """What the first page of the first search with results says."""
    from agent_env.families.time_puzzles.reference import LookupState, queries

    for query in queries(lookup):
        if query not in history.searches:
            call = ("web_search", {"query": query})
            return LookupState(call=call if "web_search" in tools else None)
        for url, snippet in history.searches[query][:1]:
            if url not in history.pages and "open_page" in tools:
                return LookupState(call=("open_page", {"url": url}))
            clause = clause_from(history.pages.get(url) or snippet, lookup)
            return LookupState(clause, url=url if clause is not None else None)
    return LookupState()


def find_twice(lookup: Lookup, history: History, tools: set[str]) -> LookupState:
    """What two pages say alike; where no two do, what the best fitting one says."""
    from agent_env.families.time_puzzles import reference as its

    said: dict[str, dict[str, float]] = {}
    for query in its.queries(lookup):
        if query not in history.searches:
            if "web_search" not in tools:
                break
            return its.LookupState(call=("web_search", {"query": query}))
        for url, snippet in history.searches[query][: its.MAX_OPENED]:
            if url not in history.pages and "open_page" in tools:
                return its.LookupState(call=("open_page", {"url": url}))
            text = history.pages.get(url) or snippet
            fitness, clause = fit(text, lookup), clause_from(text, lookup)
            if clause is None or fitness < its.GOOD_FIT:
                continue
            said.setdefault(json.dumps(clause), {})[url] = fitness
            if len(said[json.dumps(clause)]) == 2:
                return its.LookupState(clause, url=url)
    best = max(said, key=lambda clause: max(said[clause].values()), default=None)
    return its.LookupState() if best is None else its.LookupState(
        json.loads(best), url=next(iter(said[best]))
    )  # fmt: skip


FINDS: Mapping[Habit, Find] = {"believer": find_first, "checker": find_twice}
"""How those look things up who do it in a way of their own."""
