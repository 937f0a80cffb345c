"""Questions about random graphs of facts: subject, relation, object, first year, last year."""

from __future__ import annotations

from random import Random

from agent_env.families.temp_answers.drafts import Draft, number, year
from agent_env.records.schema import MaterialTable

COLUMNS = ("subject", "relation", "object", "start", "end")
PER_GRAPH = 4
"""Questions on one graph."""


def make_graph(rng: Random) -> MaterialTable:
    """About 25 facts on anonymous entities; a relation has one subject at a time."""
    rows: list[tuple[str | int | float | None, ...]] = []
    for relation in rng.sample(range(1, 99), rng.randrange(5, 9)):
        target, at = rng.randrange(1, 99), rng.randrange(1940, 1975)
        for _ in range(rng.randrange(2, 6)):
            end = at + rng.randrange(1, 9)
            rows.append((f"E{rng.randrange(1, 99)}", f"R{relation}", f"E{target}", at, end))
            at = end + rng.randrange(0, 3)
    rng.shuffle(rows)
    return MaterialTable(name="facts", columns=COLUMNS, rows=tuple(rows))


def make(rng: Random, graph: MaterialTable, number_of: int) -> Draft:
    """Question types in turn, as far as the graph has facts for them."""
    makers = (_when, _how_long, _between) if len(_once(graph)) > 1 else (_how_long,)
    return makers[number_of % len(makers)](rng, graph)


def _when(rng: Random, graph: MaterialTable) -> Draft:
    who, what, whom, start, end = rng.choice(_once(graph))
    begins = rng.random() < 0.5
    text = f"In which year did {who} {'begin' if begins else 'cease'} to be the {what} of {whom}?"
    when = int(start if begins else end)  # type: ignore[arg-type]
    return year("event_at_what_time", text, when, "json", table=graph, years_only=True)


def _how_long(rng: Random, graph: MaterialTable) -> Draft:
    who, what, whom, *_ = rng.choice(graph.rows)
    total = sum(
        _years(start, end) for *names, start, end in graph.rows if tuple(names) == (who, what, whom)
    )
    text = f"For how many years altogether was {who} the {what} of {whom}, last year less first?"
    return number("relation_duration", text, "years", total, "json", table=graph, years_only=True)


def _between(rng: Random, graph: MaterialTable) -> Draft:
    one, other = rng.sample(_once(graph), 2)
    first, last = sorted((one, other), key=lambda row: int(row[3]))  # type: ignore[arg-type]
    text = (
        f"How many years after {first[0]} began to be the {first[1]} of {first[2]} did {last[0]} "
        f"begin to be the {last[1]} of {last[2]}?"
    )
    amount = int(last[3]) - int(first[3])  # type: ignore[arg-type]
    return number("multi_op", text, "years", amount, "json", table=graph, years_only=True)


def _once(graph: MaterialTable) -> list[tuple[str | int | float | None, ...]]:
    """Facts whose subject, relation and object occur once in the graph."""
    names = [row[:3] for row in graph.rows]
    return [row for row in graph.rows if names.count(row[:3]) == 1]


def _years(start: str | int | float | None, end: str | int | float | None) -> int:
    return int(end or 0) - int(start or 0)
