"""Answers questions from temporal tables, from the rows in the prompt, or those that `sql` or pages
of the web return.

Everything comes from the messages: the question states which rows are meant and what has to be true
of their dates, and the rows hold the rest. On the web it searches for the key values, opens pages
of that title, and takes the page that states that it has all rows. `thorough` policies skip pages
that are old versions or on what is named after the key; the others trust the first hit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from agent_env.families.tdbench.prompts import answer_lines
from agent_env.families.tdbench.reading import ParsedQuestion, iso, parse_question
from agent_env.features.facts.tables.table_files import literal
from agent_env.features.reference.turns import Call, Step, Turn
from agent_env.sdk.records import Message, ToolSpec, identifier

Row = Mapping[str, str]
"""Cells by column; an empty end means that the row still lasts."""
Keys = Mapping[str, str]

_HEAD = re.compile(r"^No\.: (.+)$", re.M)
_LINE = re.compile(r"^\d+: (.+)$", re.M)
_COMPLETE = re.compile(
    r"(?:The only entry|All \d+ entries) under (.{1,1000}) in the list of (\S+), earliest first"
)
_WINDOWS = re.compile(r"\[Window (\d+) of (\d+)\.\]")
_DOUBTFUL = ("is an old version, kept as it stood on", " named after ")
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
        group: list[Row] = []
        for keys in [side for side, _ in parse.pair] or [parse.keys]:
            rows, call = _find(parse.table, keys, results, thorough)
            if rows is None:
                return {}, call
            group += rows
        return {parse.table or "": group}, None
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
    # all values, with the table's name where it is known, then each value alone
    values = list(keys.values())
    together = [*values, table] if table else values
    for query in list(dict.fromkeys(" ".join(words) for words in (values, together, *zip(values)))):
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
        if table not in (None, complete[2]) or not _covers(complete[1], keys):
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
    row = dict(zip(columns, cells, strict=True))
    dates = {side: "" if row[side] == STILL else iso(row[side]) for side in ("start", "end")}
    return row | {side: day.zfill(4) if day else "" for side, day in dates.items()}


def value_forms(value: str) -> tuple[str, ...]:
    """The value, and without the article that a sentence may have added."""
    return tuple(dict.fromkeys((value, value.removeprefix("the "))))


_LATER_THAN_ALL = "~"


def next_step(turn: Turn) -> Step | None:
    """The step in a question from a temporal table; None where the prompt holds no such question.
    A policy that is not thorough trusts every page that it finds."""
    prompt = next((m.content for m in reversed(turn.messages) if m.role == "user"), "")
    questions = re.findall(r"^Question: (.+)$", prompt, re.M)
    if not questions or "unsure" not in prompt:  # the word that every such prompt offers
        return None
    parses, tables = parse_question(questions[-1]), shown_rows(prompt)
    sql = next((tool for tool in turn.tools if tool.name == "sql"), None)
    if not parses:
        return ("unsure", []) if tables or sql else None
    label = "ANSWER:\n" if '"ANSWER:"' in prompt else ""
    if not tables and sql is None and {"web_search", "open_page"} <= turn.offered:
        text, call = _by_web(parses, turn)
    elif tables or sql is None:
        fitting = next((parse for parse in parses if _fits(parse, tables)), None)
        text, call = _answer(fitting, tables) if fitting else "unsure", None
    else:
        text, call = _by_sql([parse for parse in parses if _has_table(sql, parse)], sql, turn)
    return (
        ("I look the rows up.", [call])
        if call
        else (text if "ANSWER:" in text else label + text, [])
    )


def _by_sql(
    parses: Sequence[ParsedQuestion], tool: ToolSpec, turn: Turn
) -> tuple[str, Call | None]:
    """One query for each interpretation of the question, until one returns rows."""
    outputs = [message.content for message in turn.messages if message.role == "tool"]
    if outputs and (rows := _sql_rows(outputs[-1])):
        parse = parses[len(outputs) - 1]
        return _answer(parse, {parse.table or "": rows}), None
    if len(outputs) < len(parses):
        return "", ("sql", {"query": _query(parses[len(outputs)], tool)})
    empty_join = parses and parses[-1].kind == "hops"
    return "No answer" if empty_join else "unsure", None


def _by_web(parses: Sequence[ParsedQuestion], turn: Turn) -> tuple[str, Call | None]:
    """Each interpretation of the question in turn, until a page has its rows."""
    for parse in parses:
        tables, call = table_rows(parse, turn.messages, turn.thorough)
        if call is not None:
            return "", call
        if tables:
            return _answer(parse, tables), None
    return "unsure", None


def _has_table(tool: ToolSpec, parse: ParsedQuestion) -> bool:
    return parse.table is None or f"{parse.table}(" in tool.description


def _fits(parse: ParsedQuestion, tables: Mapping[str, list[Row]]) -> bool:
    """Whether the table is there and has rows with the key values."""
    if parse.kind == "hops":
        return parse.table in tables
    return any(_has(row, parse.keys) for row in tables.get(_table(parse, tables), []))


def _table(parse: ParsedQuestion, tables: Mapping[str, list[Row]]) -> str:
    return parse.table if parse.table is not None else next(iter(tables), "")


def shown_rows(prompt: str) -> dict[str, list[Row]]:
    """The tables in the prompt, by name."""
    tables: dict[str, list[Row]] = {}
    for name, block in re.findall(r"^Rows of the table (\S+):\n((?:\|.*\n?)+)", prompt, re.M):
        head, _, *lines = [_cells(line) for line in block.splitlines()]
        tables[name] = [dict(zip(head, line, strict=False)) for line in lines]
    return tables


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", inner)]


def _query(parse: ParsedQuestion, tool: ToolSpec) -> str:
    """Selects all rows of the question's group; their dates are compared here."""
    if parse.kind == "hops":
        column, value = next(iter(parse.keys.items()))
        return (
            'SELECT a.*, b.games AS games, b.start AS opened, b."end" AS closed '
            "FROM offices AS a JOIN games AS b ON a.country = b.country "
            'AND a.start < b."end" AND (a."end" > b.start OR a."end" IS NULL) '
            f"WHERE b.{identifier(column)} = {literal(value)} "
            f"AND a.role = {literal(parse.keys['role'])}"
        )
    tests = " OR ".join(
        " AND ".join(
            f"{identifier(name)} IN ({', '.join(map(literal, value_forms(value)))})"
            for name, value in keys.items()
        )
        for keys in ([side for side, _ in parse.pair] or [parse.keys])
    )
    only_table = re.search(r"Tables: ([^(]{1,2000})\(", tool.description)
    table = parse.table or (only_table[1] if only_table else "")
    return f"SELECT * FROM {identifier(table)} WHERE {tests}"


def _sql_rows(output: str) -> list[Row]:
    head, *lines = [line.split(" | ") for line in output.splitlines() if line != "(no rows)"]
    cells = [["" if cell == "NULL" else cell for cell in line] for line in lines]
    return [dict(zip(head, line, strict=False)) for line in cells]


def _answer(parse: ParsedQuestion, tables: Mapping[str, list[Row]]) -> str:
    """The rows that meet the question's condition, in the form that the prompt asks for."""
    facts = ""
    if parse.kind == "hops":
        games, rows = _hops_rows(parse, tables)
        facts = "".join(
            f"The {game['games']} were held in {game['country']} from {game['opened']} to "
            f"{game['closed']}.\n"
            for game in games[:1]
        )
    else:
        listed = tables.get(_table(parse, tables), [])
        if parse.pair:
            return _shared_days(parse, listed)
        group = [row for row in listed if _has(row, parse.keys)]
        rows = _select(parse, sorted(group, key=lambda row: row["start"]))
    entries = ((_name(row, parse), row["start"], row["end"]) for row in rows)
    answer = answer_lines(entries, is_current=parse.kind == "current")
    return f"{facts}ANSWER:\n{answer}" if facts else answer


def _shared_days(parse: ParsedQuestion, listed: Sequence[Row]) -> str:
    """The number of days that two rows have in common."""
    spans = []
    for keys, who in parse.pair:
        names = parse.answers or [n for n in listed[0] if n not in (*keys, "start", "end")]
        own = [r for r in listed if _has(r, keys) and ", ".join(r[n] for n in names) == who]
        if len(own) != 1 or not own[0]["end"]:
            return "unsure"
        spans.append([_day(own[0][side]) for side in ("start", "end")])
    (start, end), (other_start, other_end) = spans
    return str(max(0, (min(end, other_end) - max(start, other_start)).days))


def _has(row: Row, keys: Keys) -> bool:
    return all(row.get(name) in value_forms(value) for name, value in keys.items())


def _select(parse: ParsedQuestion, rows: list[Row]) -> list[Row]:
    """The rows that meet the question's condition on time."""
    if parse.kind == "relation":
        return [row for row in rows if all(bound.holds(row) for bound in parse.bounds)]
    if parse.kind == "current":
        now = parse.now or _LATER_THAN_ALL
        return [r for r in rows if r["start"] <= now[: len(r["start"])] and not r["end"]]
    if parse.kind == "nth":
        return rows[parse.number - 1 : parse.number]
    if parse.kind == "count":
        names = [_name(row, parse) for row in rows]
        places = range(len(rows))
        return [rows[n] for n in places if names[: n + 1].count(names[n]) == parse.number]
    over = [row for row in rows if row["end"]]
    longest = max((_days(row) for row in over), default=0)
    return [row for row in over if _days(row) == longest]


def _hops_rows(
    parse: ParsedQuestion, tables: Mapping[str, list[Row]]
) -> tuple[list[Row], list[Row]]:
    """The games, and holders of the office in the host country whose term shares a day with
    them."""
    offices = [r for r in tables.get("offices", []) if r["role"] == parse.keys["role"]]
    if "games" not in tables:
        return offices, offices  # the tool has joined them
    column, value = next(iter(parse.keys.items()))
    games: list[Row] = [
        {**game, "opened": game["start"], "closed": game["end"]}
        for game in tables["games"]
        if game[column] == value
    ]
    return games, [
        row
        for game in games
        for row in offices
        if row["country"] == game["country"]
        and row["start"] < game["end"]
        and (row["end"] or _LATER_THAN_ALL) > game["start"]
    ]


def _name(row: Row, parse: ParsedQuestion) -> str:
    return ", ".join(row[column] for column in parse.answers)


def _days(row: Row) -> int:
    return (_day(row["end"]) - _day(row["start"])).days


def _day(text: str) -> date:
    return date.fromisoformat((text + "-01-01")[:10])
