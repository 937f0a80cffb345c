"""How the scripted reference policy looks a fact up, by the pages that its searches found."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from agent_env.families.reference.turns import Call, Habit, History
from agent_env.families.time_puzzles.reference_evidence import (
    clause_from,
    fit,
    has_names,
    is_about_more,
    is_titled,
    words,
)
from agent_env.families.time_puzzles.reference_reading import Clause, Lookup

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


def find_first(lookup: Lookup, history: History, tools: set[str]) -> LookupState:
    """What the first page of the first search with results says."""
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
    pages: dict[str, dict[str, float]] = {}
    for query in queries(lookup):
        if query not in history.searches:
            if "web_search" not in tools:
                break
            return LookupState(call=("web_search", {"query": query}))
        for url, snippet in history.searches[query][:MAX_OPENED]:
            if url not in history.pages and "open_page" in tools:
                return LookupState(call=("open_page", {"url": url}))
            text = history.pages.get(url) or snippet
            fitness, clause = fit(text, lookup), clause_from(text, lookup)
            if clause is None or fitness < GOOD_FIT:
                continue
            pages.setdefault(json.dumps(clause), {})[url] = fitness
            if len(pages[json.dumps(clause)]) == 2:
                return LookupState(clause, url=url)
    best = max(pages, key=lambda clause: max(pages[clause].values()), default=None)
    return LookupState() if best is None else LookupState(
        json.loads(best), url=next(iter(pages[best]))
    )  # fmt: skip


FINDS: Mapping[Habit, Callable[[Lookup, History, set[str]], LookupState]] = {
    "believer": find_first,
    "checker": find_twice,
}
"""How those look things up who do it in a way of their own."""
