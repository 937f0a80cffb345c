"""Answers questions from temporal tables, from the rows in the prompt, or those that `sql` or pages
of the web give.

Everything comes from the messages: the question's words say which rows are meant and what has to be
true of their dates, and the rows say the rest.
"""

from __future__ import annotations

import calendar
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from operator import eq, gt, lt
from typing import TYPE_CHECKING

from agent_env.families.reference.turns import Step, Turn
from agent_env.families.tdbench.reference_pages import table_rows
from agent_env.records.schema import Message, ToolSpec

if TYPE_CHECKING:
    from agent_env.families.tdbench.reading import Bound, Read

Row = Mapping[str, str]
"""Cells by column; an empty end lasts still."""
SqlCall = tuple[str, dict[str, str]]
_TESTS = {"<": lt, "=": eq, ">": gt}
_LATER_THAN_ALL = "~"


@dataclass(frozen=True, slots=True)
class TableReply:
    """What is said, or asked of the tool."""

    text: str
    call: tuple[str, Mapping[str, object]] | None = None


def table_reply(
    messages: Sequence[Message], tools: Sequence[ToolSpec], thorough: bool = True
) -> TableReply | None:
    """The next step; None where the prompt holds no such question. A `thorough` policy does not
    trust every page that it finds."""
    prompt = next((m.content for m in reversed(messages) if m.role == "user"), "")
    found = re.findall(r"^Question: (.+)$", prompt, re.M)
    if not found or "unsure" not in prompt:  # the word that every such prompt offers
        return None
    from agent_env.families.tdbench.reading import readings  # the words of the questions, no more

    asked, tables = readings(found[-1]), shown_rows(prompt)
    if not asked:
        return TableReply("unsure") if tables else None
    offered = next((tool for tool in tools if tool.name == "sql"), None)
    label = "ANSWER:\n" if '"ANSWER:"' in prompt else ""
    on_web = {"web_search", "open_page"} <= {tool.name for tool in tools}
    if not tables and offered is None and on_web:
        return _by_web(asked, messages, label, thorough)
    if tables or offered is None:
        fitting = next((read for read in asked if _fits(read, tables)), None)
        return TableReply(label + (_answer(fitting, tables) if fitting else "unsure"))
    return _by_sql([read for read in asked if _has(offered, read)], offered, messages, label)


def _by_sql(
    asked: Sequence[Read], tool: ToolSpec, messages: Sequence[Message], label: str
) -> TableReply:
    """One query for each way to understand the question, until one finds rows."""
    outputs = [message.content for message in messages if message.role == "tool"]
    if outputs and (rows := _sql_rows(outputs[-1])):
        read = asked[len(outputs) - 1]
        return TableReply(label + _answer(read, {read.table or "": rows}))
    if len(outputs) < len(asked):
        return TableReply("I look the rows up.", _query(asked[len(outputs)], tool))
    empty_join = asked and asked[-1].kind == "hops"
    return TableReply(label + ("No answer" if empty_join else "unsure"))


def _by_web(
    asked: Sequence[Read], messages: Sequence[Message], label: str, thorough: bool
) -> TableReply:
    """Each way to understand the question in turn, until a page has its rows."""
    for read in asked:
        tables, call = table_rows(read, messages, thorough)
        if call is not None:
            return TableReply("I look the rows up.", call)
        if tables:
            return TableReply(label + _answer(read, tables))
    return TableReply(label + "unsure")


def _has(tool: ToolSpec, read: Read) -> bool:
    return read.table is None or f"{read.table}(" in tool.description


def _fits(read: Read, tables: Mapping[str, list[Row]]) -> bool:
    """Whether the table is there and has rows with the values asked for."""
    if read.kind == "hops":
        return read.table in tables
    return any(_is_meant(row, read) for row in tables.get(_table(read, tables), []))


def _table(read: Read, tables: Mapping[str, list[Row]]) -> str:
    return read.table if read.table is not None else next(iter(tables), "")


def shown_rows(prompt: str) -> dict[str, list[Row]]:
    """The tables that stand in the prompt, by name."""
    tables: dict[str, list[Row]] = {}
    for name, block in re.findall(r"^Rows of the table (\S+):\n((?:\|.*\n?)+)", prompt, re.M):
        head, _, *lines = [_cells(line) for line in block.splitlines()]
        tables[name] = [dict(zip(head, line, strict=False)) for line in lines]
    return tables


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", inner)]


def _query(asked: Read, tool: ToolSpec) -> SqlCall:
    """All rows that the question is about; their dates are compared here."""
    table = asked.table or _only_table(tool)
    if asked.kind == "hops":
        column, value = next(iter(asked.asked.items()))
        text = (
            "SELECT a.* FROM offices AS a JOIN games AS b ON a.country = b.country "
            'AND a.start < b."end" AND (a."end" > b.start OR a."end" IS NULL) '
            f"WHERE b.{_quoted(column)} = {_text(value)} AND a.role = {_text(asked.asked['role'])}"
        )
        return ("sql", {"query": text})
    tests = " AND ".join(
        f"{_quoted(name)} IN ({', '.join(map(_text, _forms(value)))})"
        for name, value in asked.asked.items()
    )
    return ("sql", {"query": f"SELECT * FROM {_quoted(table)} WHERE {tests}"})


def _only_table(tool: ToolSpec) -> str:
    match = re.search(r"Tables: ([^(]{1,2000})\(", tool.description)
    return match[1] if match else ""


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _sql_rows(output: str) -> list[Row]:
    head, *lines = [line.split(" | ") for line in output.splitlines() if line != "(no row)"]
    cells = [["" if cell == "NULL" else cell for cell in line] for line in lines]
    return [dict(zip(head, line, strict=False)) for line in cells]


def _forms(value: str) -> tuple[str, ...]:
    """A value as it stands, and without the article that a sentence may have given it."""
    return tuple(dict.fromkeys((value, value.removeprefix("the "))))


def _answer(asked: Read, tables: Mapping[str, list[Row]]) -> str:
    rows = tables.get(_table(asked, tables), [])
    if asked.kind == "hops":
        return _told(asked, _of_hops(asked, tables))
    mine = sorted((row for row in rows if _is_meant(row, asked)), key=_start)
    return _told(asked, _chosen(asked, mine))


def _is_meant(row: Row, asked: Read) -> bool:
    return all(row.get(name) in _forms(value) for name, value in asked.asked.items())


def _chosen(asked: Read, rows: list[Row]) -> list[Row]:
    """Those that meet the question's condition on time."""
    if asked.kind == "relation":
        return [row for row in rows if all(_meets(row, bound) for bound in asked.bounds)]
    if asked.kind == "current":
        now = asked.now
        return [r for r in rows if r["start"] <= now[: len(r["start"])] and not r["end"]]
    if asked.kind == "nth":
        return rows[asked.number - 1 : asked.number]
    if asked.kind == "count":
        return _turns(rows, asked)
    over = [row for row in rows if row["end"]]
    longest = max((_days(row) for row in over), default=0)
    return [row for row in over if _days(row) == longest]


def _meets(row: Row, bound: Bound) -> bool:
    value = row[bound.side] or _LATER_THAN_ALL
    return bool(_TESTS[bound.test](value, bound.day))


def _turns(rows: list[Row], asked: Read) -> list[Row]:
    seen: Counter[str] = Counter()
    found = []
    for row in rows:
        seen[_name(row, asked)] += 1
        if seen[_name(row, asked)] == asked.number:
            found.append(row)
    return found


def _of_hops(asked: Read, tables: Mapping[str, list[Row]]) -> list[Row]:
    """Holders of the office in the host country whose term shares a day with the games."""
    offices = [r for r in tables.get("offices", []) if r["role"] == asked.asked["role"]]
    if "games" not in tables:
        return offices  # the tool has joined them
    column, value = next(iter(asked.asked.items()))
    return [
        row
        for game in tables["games"]
        if game[column] == value
        for row in offices
        if row["country"] == game["country"]
        and row["start"] < game["end"]
        and (row["end"] or _LATER_THAN_ALL) > game["start"]
    ]


def _told(asked: Read, rows: list[Row]) -> str:
    """The rows in the form that the prompt asks for."""
    if not rows:
        return "No answer"
    if asked.kind == "current":
        return "\n".join(f"{_name(row, asked)}, since {_month(row['start'])}" for row in rows)
    lines = [f"{_name(r, asked)}, from {r['start']} to {r['end'] or 'present'}" for r in rows]
    return lines[0] if len(lines) == 1 else "\n".join(f"- {line}" for line in lines)


def _name(row: Row, asked: Read) -> str:
    return ", ".join(row[column] for column in asked.answers)


def _start(row: Row) -> str:
    return row["start"]


def _days(row: Row) -> int:
    start, end = (date.fromisoformat((row[side] + "-01-01")[:10]) for side in ("start", "end"))
    return (end - start).days


def _month(day: str) -> str:
    if len(day) < 7:
        return day
    return f"{calendar.month_name[int(day[5:7])]} {day[:4]}"


def next_step(turn: Turn) -> Step | None:
    """The step in a question from a temporal table; None where the question is none."""
    told = table_reply(turn.messages, turn.tools, turn.thorough)
    return None if told is None else (told.text, [] if told.call is None else [told.call])
