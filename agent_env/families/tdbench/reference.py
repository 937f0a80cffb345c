"""Answers questions from temporal tables, from the rows in the prompt, or those that `sql` or pages
of the web return.

Everything comes from the messages: the question states which rows are meant and what has to be true
of their dates, and the rows hold the rest.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Mapping, Sequence
from datetime import date
from operator import eq, gt, lt
from typing import TYPE_CHECKING

from agent_env.families.reference.turns import Call, Step, Turn
from agent_env.families.tdbench.reference_pages import Row, table_rows, value_forms
from agent_env.records.schema import ToolSpec
from agent_env.temporal.facts.sql_text import identifier, literal

if TYPE_CHECKING:
    from agent_env.families.tdbench.reading import Bound, ParsedQuestion

_TESTS = {"<": lt, "=": eq, ">": gt}
_LATER_THAN_ALL = "~"
LOOK_UP = "I look the rows up."


def next_step(turn: Turn) -> Step | None:
    """The step in a question from a temporal table; None where the prompt holds no such question.
    A policy that is not thorough trusts every page that it finds."""
    prompt = next((m.content for m in reversed(turn.messages) if m.role == "user"), "")
    questions = re.findall(r"^Question: (.+)$", prompt, re.M)
    if not questions or "unsure" not in prompt:  # the word that every such prompt offers
        return None
    from agent_env.families.tdbench.reading import parse_question  # makes patterns of all sentences

    parses, tables = parse_question(questions[-1]), shown_rows(prompt)
    if not parses:
        return ("unsure", []) if tables else None
    sql = next((tool for tool in turn.tools if tool.name == "sql"), None)
    label = "ANSWER:\n" if '"ANSWER:"' in prompt else ""
    if not tables and sql is None and {"web_search", "open_page"} <= turn.offered:
        text, call = _by_web(parses, turn)
    elif tables or sql is None:
        fitting = next((parse for parse in parses if _fits(parse, tables)), None)
        text, call = _answer(fitting, tables) if fitting else "unsure", None
    else:
        text, call = _by_sql([parse for parse in parses if _has_table(sql, parse)], sql, turn)
    return (LOOK_UP, [call]) if call else (label + text, [])


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
    return any(_has_keys(row, parse) for row in tables.get(_table(parse, tables), []))


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
            "SELECT a.* FROM offices AS a JOIN games AS b ON a.country = b.country "
            'AND a.start < b."end" AND (a."end" > b.start OR a."end" IS NULL) '
            f"WHERE b.{identifier(column)} = {literal(value)} "
            f"AND a.role = {literal(parse.keys['role'])}"
        )
    tests = " AND ".join(
        f"{identifier(name)} IN ({', '.join(map(literal, value_forms(value)))})"
        for name, value in parse.keys.items()
    )
    only_table = re.search(r"Tables: ([^(]{1,2000})\(", tool.description)
    table = parse.table or (only_table[1] if only_table else "")
    return f"SELECT * FROM {identifier(table)} WHERE {tests}"


def _sql_rows(output: str) -> list[Row]:
    head, *lines = [line.split(" | ") for line in output.splitlines() if line != "(no row)"]
    cells = [["" if cell == "NULL" else cell for cell in line] for line in lines]
    return [dict(zip(head, line, strict=False)) for line in cells]


def _answer(parse: ParsedQuestion, tables: Mapping[str, list[Row]]) -> str:
    """The rows that meet the question's condition, in the form that the prompt asks for."""
    if parse.kind == "hops":
        rows = _hops_rows(parse, tables)
    else:
        group = [r for r in tables.get(_table(parse, tables), []) if _has_keys(r, parse)]
        rows = _select(parse, sorted(group, key=lambda row: row["start"]))
    if not rows:
        return "No answer"
    if parse.kind == "current":
        return "\n".join(f"{_name(row, parse)}, since {_month(row['start'])}" for row in rows)
    lines = [f"{_name(r, parse)}, from {r['start']} to {r['end'] or 'present'}" for r in rows]
    return lines[0] if len(lines) == 1 else "\n".join(f"- {line}" for line in lines)


def _has_keys(row: Row, parse: ParsedQuestion) -> bool:
    return all(row.get(name) in value_forms(value) for name, value in parse.keys.items())


def _select(parse: ParsedQuestion, rows: list[Row]) -> list[Row]:
    """The rows that meet the question's condition on time."""
    if parse.kind == "relation":
        return [row for row in rows if all(_meets(row, bound) for bound in parse.bounds)]
    if parse.kind == "current":
        now = parse.now
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


def _meets(row: Row, bound: Bound) -> bool:
    value = row[bound.side] or _LATER_THAN_ALL
    return bool(_TESTS[bound.test](value, bound.day))


def _hops_rows(parse: ParsedQuestion, tables: Mapping[str, list[Row]]) -> list[Row]:
    """Holders of the office in the host country whose term shares a day with the games."""
    offices = [r for r in tables.get("offices", []) if r["role"] == parse.keys["role"]]
    if "games" not in tables:
        return offices  # the tool has joined them
    column, value = next(iter(parse.keys.items()))
    return [
        row
        for game in tables["games"]
        if game[column] == value
        for row in offices
        if row["country"] == game["country"]
        and row["start"] < game["end"]
        and (row["end"] or _LATER_THAN_ALL) > game["start"]
    ]


def _name(row: Row, parse: ParsedQuestion) -> str:
    return ", ".join(row[column] for column in parse.answers)


def _days(row: Row) -> int:
    start, end = (date.fromisoformat((row[side] + "-01-01")[:10]) for side in ("start", "end"))
    return (end - start).days


def _month(day: str) -> str:
    return day if len(day) < 7 else f"{calendar.month_name[int(day[5:7])]} {day[:4]}"
