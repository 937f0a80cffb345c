"""Finds the rows that a question is about on the web: searches by the values asked for, opens what
is called so, and takes the page that says that it has all of them.

`thorough` policies pass over pages that call themselves outdated or invented; the other ones trust
whatever comes first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_env.records.schema import Message

if TYPE_CHECKING:
    from agent_env.families.tdbench.reading import Read

Row = Mapping[str, str]
WebCall = tuple[str, dict[str, object]]
Wanted = Mapping[str, str]

_HEAD = re.compile(r"^No\.: (.+)$", re.M)
_LINE = re.compile(r"^\d+: (.+)$", re.M)
_WHOLE = re.compile(
    r"(?:The only entry|All \d+ entries) of the table (\S+) with (.{1,1000}), in the order"
)
_WINDOWS = re.compile(r"\[Window (\d+) of (\d+)\.\]")
_DOUBTFUL = ("outdated copy", "an invention of this site")
STILL = "still"


@dataclass(frozen=True, slots=True)
class Looked:
    """What the messages tell of searches and pages."""

    hits: Mapping[str, tuple[tuple[str, str], ...]]
    """By query: titles and addresses."""
    pages: Mapping[str, Mapping[int, str]]
    """By address: the windows that were opened, by number."""

    @classmethod
    def back(cls, messages: Sequence[Message]) -> Looked:
        """At all calls with their results."""
        hits: dict[str, tuple[tuple[str, str], ...]] = {}
        pages: dict[str, dict[int, str]] = {}
        calls = {call.id: call for message in messages for call in message.tool_calls}
        for message in messages:
            call = calls.get(message.tool_call_id or "")
            if message.role != "tool" or call is None:
                continue
            given = json.loads(call.arguments)
            if call.name == "web_search":
                found = re.findall(r"^\[\d+\] (.*)\n(\S+)$", message.content, re.M)
                hits[given["query"]] = tuple(found)
            elif call.name == "open_page":
                pages.setdefault(given["url"], {})[given.get("window", 1)] = message.content
        return cls(hits, pages)


@dataclass(frozen=True, slots=True)
class Found:
    """The rows, or the call that may bring them; neither where there are none to be had."""

    rows: list[Row] | None = None
    call: WebCall | None = None


def table_rows(
    asked: Read, messages: Sequence[Message], thorough: bool
) -> tuple[dict[str, list[Row]], WebCall | None]:
    """The rows by table as far as they were found, or the next call."""
    looked = Looked.back(messages)
    if asked.kind != "hops":
        found = _find(asked.table, asked.asked, looked, thorough)
        rows = found.rows
        return ({asked.table or "": rows} if rows is not None else {}), found.call
    by = next(iter(asked.asked))
    games = _find("games", {by: asked.asked[by]}, looked, thorough)
    if not games.rows:
        return {}, games.call
    held = {"country": games.rows[0]["country"], "role": asked.asked["role"]}
    offices = _find("offices", held, looked, thorough)
    if offices.rows is None and offices.call is None:
        offices = Found(rows=[])  # a country of which no such office is on record
    if offices.rows is None:
        return {}, offices.call
    return {"games": games.rows, "offices": offices.rows}, None


def _find(table: str | None, wanted: Wanted, looked: Looked, thorough: bool) -> Found:
    """Go through the queries and their hits until a page fits."""
    for query in _queries(table, wanted):
        if query not in looked.hits:
            return Found(call=("web_search", {"query": query}))
        hits = looked.hits[query]
        plain = [hit for hit in hits if _words(hit[0]) <= _words(query)]
        for _, url in plain if thorough else hits[:1]:
            windows = looked.pages.get(url, {})
            if (number := _missing(windows)) is not None:
                more: dict[str, object] = {"window": number} if number > 1 else {}
                return Found(call=("open_page", {"url": url} | more))
            text = "".join(_body(windows[number]) for number in sorted(windows))
            if (rows := _read(text, table, wanted, thorough)) is not None:
                return Found(rows=rows)
        if not thorough:
            break
    return Found()


def _queries(table: str | None, wanted: Wanted) -> list[str]:
    """All values, with the table's name where it is known, then each value alone."""
    values = list(wanted.values())
    together = [*values, table] if table else values
    return list(dict.fromkeys(" ".join(words) for words in (values, together, *zip(values))))


def _words(text: str) -> set[str]:
    """Of a title that says no more than what is looked for, all are in the query."""
    return set(re.findall(r"\w+", text.lower()))


def _missing(windows: Mapping[int, str]) -> int | None:
    """The window to open next."""
    if not windows:
        return 1
    told = _WINDOWS.search(windows[1]) if 1 in windows else None
    count = int(told[2]) if told else 1
    return next((number for number in range(1, count + 1) if number not in windows), None)


def _body(window: str) -> str:
    """A window without the page's name above and its number below; it may end within a line."""
    return _WINDOWS.split(window.partition("\n\n")[2])[0].removesuffix("\n\n")


def _read(text: str, table: str | None, wanted: Wanted, thorough: bool) -> list[Row] | None:
    """The page's rows; None where it is not about all that are wanted."""
    head = _HEAD.search(text)
    if head is None:
        return None
    if thorough:
        whole = _WHOLE.search(text)
        if whole is None or any(mark in text for mark in _DOUBTFUL):
            return None
        if table not in (None, whole[1]) or not _covers(whole[2], wanted):
            return None
    columns = [*head[1].split(" | ")[:-2], "start", "end"]
    lines = [line.split(" | ") for line in _LINE.findall(text[head.end() :])]
    rows = [_row(columns, cells) for cells in lines if len(cells) == len(columns)]
    meant = [row for row in rows if all(row.get(n) in _forms(v) for n, v in wanted.items())]
    return meant or None


def _covers(said: str, wanted: Wanted) -> bool:
    """Whether what the page's rows have in common is part of what is wanted."""
    pairs = {f"{name} {form}" for name, value in wanted.items() for form in _forms(value)}
    return said in pairs or any(f"{a} and {b}" == said for a in pairs for b in pairs)


def _row(columns: Sequence[str], cells: Sequence[str]) -> Row:
    from agent_env.families.tdbench.reading import iso

    row = dict(zip(columns, cells, strict=True))
    dates = {side: "" if row[side] == STILL else iso(row[side]) for side in ("start", "end")}
    return row | {side: day.zfill(4) if day else "" for side, day in dates.items()}


def _forms(value: str) -> tuple[str, ...]:
    return value, value.removeprefix("the ")
