"""Questions about random graphs of facts: subject, relation, object, first year, last year."""

from __future__ import annotations

from random import Random

from agent_env.families.temp_answers.drafts import Draft, number, year
from agent_env.sdk.records import MaterialTable

COLUMNS = ("subject", "relation", "object", "start", "end")
Cell = str | int | float | None
Row = tuple[Cell, ...]
PER_GRAPH = 8
"""Questions on one graph."""


def make_graph(rng: Random) -> MaterialTable:
    """About 25 facts on anonymous entities; a relation to an entity has one subject at a time. The
    graph is random, a star (one entity is every fact's object) or a chain (the object of one
    relation is a subject of the next)."""
    shape = rng.choice(("random", "star", "chain"))
    rows: list[Row] = []
    target = rng.randrange(1, 99)
    for relation in rng.sample(range(1, 99), rng.randrange(5, 9)):
        at = rng.randrange(1940, 1975)
        if shape == "random":
            target = rng.randrange(1, 99)
        for _ in range(rng.randrange(2, 6)):
            end = at + rng.randrange(1, 9)
            who = rng.choice([entity for entity in range(1, 99) if entity != target])
            rows.append((f"E{who}", f"R{relation}", f"E{target}", at, end))
            at = end + rng.randrange(0, 3)
        if shape == "chain":
            target = int(str(rows[-1][0])[1:])
    rng.shuffle(rows)
    return MaterialTable(name="facts", columns=COLUMNS, rows=tuple(rows))


def make(rng: Random, graph: MaterialTable, number_of: int) -> Draft:
    """Question types in turn, as far as the graph has facts for them."""
    makers = MAKERS if len(_once(graph)) > 1 else OF_RELATIONS
    return makers[number_of % len(makers)](rng, graph)


def make_easy(rng: Random, graph: MaterialTable) -> Draft:
    """The start or stop of one of three facts."""
    facts = rng.sample(_once(graph), min(3, len(_once(graph))))
    return _when(rng, MaterialTable(name=graph.name, columns=graph.columns, rows=tuple(facts)))


def _when(rng: Random, graph: MaterialTable) -> Draft:
    who, what, whom, start, end = rng.choice(_once(graph))
    begins = rng.random() < 0.5
    text = f"In which year did {who} {'become' if begins else 'stop being'} the {what} of {whom}?"
    return _year("event_at_what_time", text, start if begins else end, graph)


def _first_or_last(rng: Random, graph: MaterialTable) -> Draft:
    what, whom, spans = _relation(rng, graph)
    if rng.random() < 0.5:
        text = f"In which year did the first {what} of {whom} start?"
        return _year("first_last", text, min(start for start, _ in spans), graph)
    text = f"In which year did the last {what} of {whom} end?"
    return _year("first_last", text, max(end for _, end in spans), graph)


def _successor(rng: Random, graph: MaterialTable) -> Draft:
    """The next start of the same relation; in a fact's own year no other can start."""
    candidates = [
        (row, after)
        for row in _once(graph)
        if (after := [r for r in graph.rows if r[1:3] == row[1:3] and _int(r[3]) >= _int(row[4])])
    ]
    if not candidates:
        return _when(rng, graph)
    (who, what, whom, *_), after = rng.choice(candidates)
    text = f"In which year did the next {what} of {whom} after {who} start?"
    return _year("before_after", text, min(_int(row[3]) for row in after), graph)


def _how_long(rng: Random, graph: MaterialTable) -> Draft:
    who, what, whom, *_ = rng.choice(graph.rows)
    spans = [row[3:] for row in graph.rows if row[:3] == (who, what, whom)]
    text = f"For how many years in total was {who} the {what} of {whom} (end minus start)?"
    return _years("relation_duration", text, sum(_int(e) - _int(s) for s, e in spans), graph)


def _longest(rng: Random, graph: MaterialTable) -> Draft:
    what, whom, spans = _relation(rng, graph)
    text = f"How many years did the longest single term of any {what} of {whom} last?"
    return _years("relation_duration", text, max(end - start for start, end in spans), graph)


def _vacant(rng: Random, graph: MaterialTable) -> Draft:
    what, whom, spans = _relation(rng, graph)
    text = (
        f"Between the start of its first {what} and the end of its last, for how many years in "
        f"total did {whom} have no {what}?"
    )
    filled = sum(end - start for start, end in spans)
    whole = max(end for _, end in spans) - min(start for start, _ in spans)
    return _years("multi_op", text, whole - filled, graph)


def _between(rng: Random, graph: MaterialTable) -> Draft:
    first, last = sorted(rng.sample(_once(graph), 2), key=lambda row: _int(row[3]))
    text = (
        f"How many years after {first[0]} became the {first[1]} of {first[2]} did {last[0]} "
        f"become the {last[1]} of {last[2]}?"
    )
    return _years("multi_op", text, _int(last[3]) - _int(first[3]), graph)


def _overlap(rng: Random, graph: MaterialTable) -> Draft:
    pairs = [
        (one, other)
        for one in _once(graph)
        for other in _once(graph)
        if one[1] != other[1] and _shared(one, other) > 0
    ]
    if not pairs:
        return _between(rng, graph)
    one, other = rng.choice(pairs)
    text = (
        f"For how many years was {one[0]} the {one[1]} of {one[2]} while {other[0]} was the "
        f"{other[1]} of {other[2]}?"
    )
    return _years("overlap", text, _shared(one, other), graph)


OF_RELATIONS = (_how_long, _first_or_last, _longest, _vacant)
MAKERS = (_when, _how_long, _between, _first_or_last, _overlap, _longest, _successor, _vacant)


def _year(kind: str, text: str, when: Cell, graph: MaterialTable) -> Draft:
    return year(kind, text, _int(when), "json", table=graph, years_only=True)


def _years(kind: str, text: str, amount: int, graph: MaterialTable) -> Draft:
    return number(kind, text, "years", amount, "json", table=graph, years_only=True)


def _relation(rng: Random, graph: MaterialTable) -> tuple[str, str, list[tuple[int, int]]]:
    """A relation to an entity with all its spans."""
    _, what, whom, *_ = rng.choice(graph.rows)
    spans = [(_int(s), _int(e)) for _, w, m, s, e in graph.rows if (w, m) == (what, whom)]
    return str(what), str(whom), spans


def _shared(one: Row, other: Row) -> int:
    """Years in which both facts hold."""
    return min(_int(one[4]), _int(other[4])) - max(_int(one[3]), _int(other[3]))


def _once(graph: MaterialTable) -> list[Row]:
    """Facts whose subject, relation and object occur once in the graph."""
    names = [row[:3] for row in graph.rows]
    return [row for row in graph.rows if names.count(row[:3]) == 1]


def _int(cell: Cell) -> int:
    return int(cell or 0)
