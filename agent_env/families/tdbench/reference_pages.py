"""Finds the rows that a question is about on the web: searches for the key values, opens pages of
that title, and takes the page that states that it has all of them.

`thorough` policies skip pages that call themselves outdated or invented; the others trust the first
hit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_env.families.reference.turns import Call
from agent_env.records.schema import Message

if TYPE_CHECKING:
    from agent_env.families.tdbench.reading import ParsedQuestion

Row = Mapping[str, str]
"""Cells by column; an empty end means that the row still lasts."""
Keys = Mapping[str, str]

_HEAD = re.compile(r"^No\.: (.+)$", re.M)
_LINE = re.compile(r"^\d+: (.+)$", re.M)
_COMPLETE = re.compile(
    r"(?:The only entry|All \d+ entries) of the table (\S+) with (.{1,1000}), in the order"
)
_WINDOWS = re.compile(r"\[Window (\d+) of (\d+)\.\]")
_DOUBTFUL = ("outdated copy", "an invention of this site")
STILL = "still"


@dataclass(frozen=True, slots=True)
class WebResults:
    """Searches and pages so far."""

    hits: Mapping[str, tuple[tuple[str, str], ...]]
    """By query: titles and addresses."""
    pages: Mapping[str, Mapping[int, str]]
    """By address: the windows that were opened, by number."""

    @classmethod
    def of(cls, messages: Sequence[Message]) -> WebResults:
        """From all calls with their results."""
        hits: dict[str, tuple[tuple[str, str], ...]] = {}
        pages: dict[str, dict[int, str]] = {}
        calls = {call.id: call for message in messages for call in message.tool_calls}
        for message in messages:
            call = calls.get(message.tool_call_id or "")
            if message.role != "tool" or call is None:
                continue
            arguments = json.loads(call.arguments)
            if call.name == "web_search":
                pairs = re.findall(r"^\[\d+\] (.*)\n(\S+)$", message.content, re.M)
                hits[arguments["query"]] = tuple(pairs)
            elif call.name == "open_page":
                windows = pages.setdefault(arguments["url"], {})
                windows[arguments.get("window", 1)] = message.content
        return cls(hits, pages)


Rows = tuple[list[Row] | None, Call | None]
"""The rows, or the call that may find them; neither where they cannot be found."""


def table_rows(
    parse: ParsedQuestion, messages: Sequence[Message], thorough: bool
) -> tuple[dict[str, list[Row]], Call | None]:
    """The rows by table as far as they were found, or the next call."""
    results = WebResults.of(messages)
    if parse.kind != "hops":
        rows, call = _find(parse.table, parse.keys, results, thorough)
        return ({parse.table or "": rows} if rows is not None else {}), call
    by = next(iter(parse.keys))
    games, call = _find("games", {by: parse.keys[by]}, results, thorough)
    if not games:
        return {}, call
    office = {"country": games[0]["country"], "role": parse.keys["role"]}
    offices, call = _find("offices", office, results, thorough)
    if call is not None:
        return {}, call
    return {"games": games, "offices": offices or []}, None  # a country may lack the office


def _find(table: str | None, keys: Keys, results: WebResults, thorough: bool) -> Rows:
    """Go through the queries and their hits until a page fits."""
    for query in _queries(table, keys):
        if query not in results.hits:
            return None, ("web_search", {"query": query})
        hits = results.hits[query]
        plain = [hit for hit in hits if _words(hit[0]) <= _words(query)]
        for _, url in plain if thorough else hits[:1]:
            windows = results.pages.get(url, {})
            if (number := _next_window(windows)) is not None:
                more: dict[str, object] = {"window": number} if number > 1 else {}
                return None, ("open_page", {"url": url} | more)
            text = "".join(_body(windows[number]) for number in sorted(windows))
            if (rows := _page_rows(text, table, keys, thorough)) is not None:
                return rows, None
        if not thorough:
            break
    return None, None


def _queries(table: str | None, keys: Keys) -> list[str]:
    """All values, with the table's name where it is known, then each value alone."""
    values = list(keys.values())
    together = [*values, table] if table else values
    return list(dict.fromkeys(" ".join(words) for words in (values, together, *zip(values))))


def _words(text: str) -> set[str]:
    """Of a title that says no more than the query, all are in the query."""
    return set(re.findall(r"\w+", text.lower()))


def _next_window(windows: Mapping[int, str]) -> int | None:
    """The window to open next; None where all are open."""
    if not windows:
        return 1
    match = _WINDOWS.search(windows[1]) if 1 in windows else None
    numbers = range(1, int(match[2]) + 1 if match else 2)
    return next((number for number in numbers if number not in windows), None)


def _body(window: str) -> str:
    """A window without the page's name above and its number below; it may end within a line."""
    return _WINDOWS.split(window.partition("\n\n")[2])[0].removesuffix("\n\n")


def _page_rows(text: str, table: str | None, keys: Keys, thorough: bool) -> list[Row] | None:
    """The page's rows with these keys; None where it is not about all of them."""
    head = _HEAD.search(text)
    if head is None:
        return None
    if thorough:
        complete = _COMPLETE.search(text)
        if complete is None or any(mark in text for mark in _DOUBTFUL):
            return None
        if table not in (None, complete[1]) or not _covers(complete[2], keys):
            return None
    columns = [*head[1].split(" | ")[:-2], "start", "end"]
    lines = [line.split(" | ") for line in _LINE.findall(text[head.end() :])]
    rows = [_row(columns, cells) for cells in lines if len(cells) == len(columns)]
    group = [row for row in rows if all(row.get(n) in value_forms(v) for n, v in keys.items())]
    return group or None


def _covers(scope: str, keys: Keys) -> bool:
    """Whether the values that the page's rows share are among the keys."""
    pairs = {f"{name} {form}" for name, value in keys.items() for form in value_forms(value)}
    return scope in pairs or any(f"{a} and {b}" == scope for a in pairs for b in pairs)


def _row(columns: Sequence[str], cells: Sequence[str]) -> Row:
    from agent_env.families.tdbench.reading import iso

    row = dict(zip(columns, cells, strict=True))
    dates = {side: "" if row[side] == STILL else iso(row[side]) for side in ("start", "end")}
    return row | {side: day.zfill(4) if day else "" for side, day in dates.items()}


def value_forms(value: str) -> tuple[str, ...]:
    """The value, and without the article that a sentence may have added."""
    return tuple(dict.fromkeys((value, value.removeprefix("the "))))
