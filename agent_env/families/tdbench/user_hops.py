"""Questions of two and three hops over a user's own tables, joined as they are.

The tables are put in an order in which each is reached from the question by what those before it
determine (checked on their rows, `X → Y` at every time), the last one holding the answer. That the
question determines the answer in the join follows by Armstrong's axioms, and is checked on the
joined rows too. Gold is had twice: by the temporal natural join of this package, and by SQL on both
engines.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from agent_env.errors import ConfigError
from agent_env.families.tdbench.engines import Engines, GoldError
from agent_env.families.tdbench.groups import MOST, Held
from agent_env.families.tdbench.queries import Text, asked_names, chain_text
from agent_env.families.tdbench.query import Query
from agent_env.families.tdbench.sample import Hop
from agent_env.temporal.facts.temporal_join import joined_tfds, natural_join
from agent_env.temporal.facts.temporal_table import TemporalTable, Tfd, groups, tfd_violations

HOPS = (2, 3)


@dataclass(frozen=True, slots=True)
class Step:
    """One table on the way: what is known of it, and what follows from that at any time."""

    table: TemporalTable
    known: tuple[str, ...]
    found: tuple[str, ...]

    @property
    def tfd(self) -> Tfd:
        return Tfd.of(self.known, self.found)


@dataclass(frozen=True, slots=True)
class Chain:
    """Steps in order; the last gives the answer."""

    steps: tuple[Step, ...]
    asked: tuple[str, ...]
    answers: tuple[str, ...]

    @property
    def tables(self) -> tuple[TemporalTable, ...]:
        return tuple(step.table for step in self.steps)


def make_chain(
    tables: Sequence[TemporalTable], asked: tuple[str, ...], answers: tuple[str, ...], unique: bool
) -> Chain:
    """The order in which the question reaches the answer; ConfigError says why there is none.
    `unique`: the last step's answer has to depend on what is known there, too."""
    _check(tables, asked, answers)
    broken = ""
    for order in itertools.permutations(tables):
        steps = _steps(order, asked, answers)
        if steps is None:
            continue
        bound = steps if unique else steps[:-1]
        wrong = next((s for s in bound if next(tfd_violations(s.table, s.tfd), None)), None)
        if wrong is None:
            return Chain(steps, asked, answers)
        first = next(tfd_violations(wrong.table, wrong.tfd))
        broken = f"{wrong.tfd} does not hold in {wrong.table.name}: {first}"
    way = f"from {', '.join(asked)} to {', '.join(answers)}"
    names = ", ".join(table.name for table in tables)
    why = broken or "in no order does each table share a column with those behind it"
    raise ConfigError(f"no question of several hops leads {way} through {names}: {why}")


def _check(
    tables: Sequence[TemporalTable], asked: tuple[str, ...], answers: tuple[str, ...]
) -> None:
    if len(tables) not in HOPS:
        raise ConfigError(f"hops need two or three tables, not {len(tables)}")
    if len({table.name for table in tables}) < len(tables):
        raise ConfigError("two tables bear one name; rename a file")
    if both := set(asked) & set(answers):
        raise ConfigError(f"column '{min(both)}' is asked and answered")
    columns = {name for table in tables for name in table.columns}
    for name in (*asked, *answers):
        if name not in columns:
            raise ConfigError(
                f"no table has a column '{name}'; there are {', '.join(sorted(columns))}"
            )
    if any(set(answers) <= set(t.columns) >= set(asked) for t in tables):
        raise ConfigError(
            f"{', '.join((*asked, *answers))} stand in one table; hops ask by a column of another"
        )
    grain = {table.granularity for table in tables}
    if len(grain) > 1:
        raise ConfigError(
            f"the tables are by {' and '.join(sorted(grain))}; cut them with --option granularity="
        )


def _steps(
    order: Sequence[TemporalTable], asked: tuple[str, ...], answers: tuple[str, ...]
) -> tuple[Step, ...] | None:
    """What is known and found in each table of this order; None where one cannot be reached."""
    if not set(answers) <= set(order[-1].columns):
        return None
    reached = set(asked)
    steps = []
    for number, table in enumerate(order):
        known = tuple(name for name in table.columns if name in reached)
        later = {name for other in order[number + 1 :] for name in other.columns}
        found = tuple(n for n in table.columns if n in later and n not in reached)
        if number == len(order) - 1:
            found = answers
        if not known or not found:
            return None
        steps.append(Step(table, known, found))
        reached |= set(found)
    if not all(any(name in step.known for step in steps) for name in asked):
        return None
    linked = set(steps[-1].known) - set(asked)
    return tuple(steps) if linked else None


# Queries ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Way:
    """One way through all tables but the last, by places, with what it found."""

    places: tuple[int, ...]
    values: dict[str, str]


def user_hop_queries(
    chain: Chain, count: int, rng: Random, engines: Engines, phrasings: int, left_out: Counter[str]
) -> Iterator[Query]:
    """At most so many different queries."""
    last = chain.steps[-1]
    ways = _ways(chain, left_out)
    own = tuple(name for name in last.known if name in chain.asked)
    rows = _by_known(last)
    found = _joined(chain)
    wanted = [(way, values) for way in ways for values in _last_values(last, own, way, rows)]
    rng.shuffle(wanted)
    made = 0
    text = chain_text(chain.tables, chain.asked, chain.answers)
    for way, values in wanted:
        if made >= count:
            return
        relevant = rows[tuple(values[name] for name in last.known)]
        golds = _golds(chain, [place for place in relevant if (*way.places, place) in found])
        if len(relevant) > MOST:
            left_out[f"hops to more than {MOST} rows of {last.table.name}"] += 1
        elif len({held.answer for held in golds}) < len(golds):
            left_out[f"hops to one answer twice in {last.table.name}"] += 1
        elif golds or rng.random() < 0.5:  # no answer is true of most values, and soon boring
            query = _query(chain, way, values, relevant, golds, text, phrasings)
            _agree(query, engines)
            made += 1
            yield query


def _ways(chain: Chain, left_out: Counter[str]) -> list[_Way]:
    """All that the question's values lead to before the last table; values that lead to several
    rows are left out, as the first hops would have no one answer."""
    first, *between = chain.steps[:-1]
    prefix = first.table
    parents: list[tuple[int, ...]] = [(place,) for place in range(len(prefix.rows))]
    for step in between:
        joined = natural_join(prefix, step.table, "way")
        parents = [(*parents[one], other) for one, other in joined.parents]
        prefix = joined.table
    asked = [name for name in chain.asked if name in prefix.columns]
    tables = " joined with ".join(step.table.name for step in chain.steps[:-1])
    at = {id(row): number for number, row in enumerate(prefix.rows)}
    ways = []
    for rows in groups(prefix, asked).values():
        if len(rows) > 1:
            what = f"values of {', '.join(asked)} that lead to several rows"
            left_out[f"{what} (each needs one row in {tables})"] += 1
            continue
        ways.append(
            _Way(parents[at[id(rows[0])]], dict(zip(prefix.columns, rows[0].values, strict=True)))
        )
    return ways


def _by_known(last: Step) -> dict[tuple[str, ...], list[int]]:
    found: dict[tuple[str, ...], list[int]] = defaultdict(list)
    at = last.table.places(last.known)
    for place, row in enumerate(last.table.rows):
        found[tuple(row.values[n] for n in at)].append(place)
    return found


def _last_values(
    last: Step, own: tuple[str, ...], way: _Way, rows: Iterable[tuple[str, ...]]
) -> list[dict[str, str]]:
    """What the last table is asked with: what the way found, and each value of the question's own
    columns there that goes with it."""
    found = []
    for key in rows:
        values = dict(zip(last.known, key, strict=True))
        if all(way.values.get(name, value) == value for name, value in values.items()):
            found.append({**way.values, **values})
    return found


def _joined(chain: Chain) -> set[tuple[int, ...]]:
    """Places of all rows that hold together, by the temporal natural join (Definition A.2); its
    dependency is derived, and checked on its rows."""
    table = chain.steps[0].table
    places: list[tuple[int, ...]] = [(place,) for place in range(len(table.rows))]
    for step in chain.steps[1:]:
        joined = natural_join(table, step.table, "joined")
        places = [(*places[one], other) for one, other in joined.parents]
        table = joined.table
    tfds = [step.tfd for step in chain.steps]
    derived = joined_tfds([chain.asked], chain.answers, tfds)
    held = all(not any(tfd_violations(step.table, step.tfd)) for step in chain.steps)
    if held and (not derived or any(tfd_violations(table, derived[0]))):
        raise GoldError(f"the join does not keep {', '.join(map(str, tfds))}")
    return set(places)


def _golds(chain: Chain, places: Sequence[int]) -> tuple[Held, ...]:
    table = chain.steps[-1].table
    return tuple(
        Held(table.rows[place].interval, _answer(chain, place), place) for place in sorted(places)
    )


def _answer(chain: Chain, place: int) -> str:
    table = chain.steps[-1].table
    return ", ".join(table.rows[place].values[at] for at in table.places(chain.answers))


def _query(
    chain: Chain,
    way: _Way,
    values: dict[str, str],
    relevant: Sequence[int],
    golds: tuple[Held, ...],
    text: Text,
    phrasings: int,
) -> Query:
    asked = {name: values[name] for name in chain.asked}
    right = {held.answer for held in golds}
    others = (_answer(chain, place) for place in relevant)
    tables = (chain.tables[-1], *chain.tables[:-1])
    return Query(
        domain="hops",
        kind="hops",
        relation=f"{len(chain.steps)}-hop",
        tables=tables,
        asked=asked,
        answers=chain.answers,
        relevant=(tuple(relevant), *((place,) for place in way.places)),
        golds=golds,
        others=tuple(dict.fromkeys(name for name in others if name not in right)),
        sql=text.filled(dict(zip(asked_names(chain.asked), asked.values(), strict=True))),
        questions=tuple(_worded(chain, asked, style) for style in range(phrasings)),
        hops=(
            *(_hop(step, way, place) for step, place in zip(chain.steps, way.places, strict=False)),
            Hop(
                asks=f"{_and(chain.answers)} for {_pairs(chain.steps[-1].known, values)} then",
                gold=tuple(dict.fromkeys(held.answer for held in golds)),
            ),
        ),
    )


def _hop(step: Step, way: _Way, place: int) -> Hop:
    row = step.table.rows[place]
    return Hop(
        asks=f"{_and(step.found)} recorded for {_pairs(step.known, way.values)}, and when",
        gold=tuple(way.values[name] for name in step.found),
        start=step.table.written(row.start),
        end=None if row.end is None else step.table.written(row.end),
    )


def _worded(chain: Chain, asked: dict[str, str], style: int) -> str:
    """The question, from the answer back to what is known."""
    told = ""
    for step in chain.steps[:-1]:
        own = [f"{name} {asked[name]}" for name in step.known if name in asked]
        parts = [*own, *([told] if told else [])]
        told = f"the {_and(step.found)} recorded for {_and(parts)}"
    last = [f"{n} {asked[n]}" for n in chain.steps[-1].known if n in asked]
    wanted, where = _and(chain.answers), _and([*last, told])
    return (
        f"Which {wanted} is recorded for {where}, at a time when all these entries hold?",
        f"For {where}, which {wanted} stands in an entry that holds at the same time as the rest?",
        f"Name any {wanted} that is recorded for {where} while all these entries hold.",
    )[style % 3]


def _pairs(names: Sequence[str], values: dict[str, str]) -> str:
    return _and([f"{name} {values[name]}" for name in names])


def _and(parts: Sequence[str]) -> str:
    return " and ".join(parts)


def _agree(query: Query, engines: Engines) -> None:
    expected = sorted((held.answer, query.tables[0].written(query.tables[0].rows[held.place].start))
                      for held in query.golds)  # fmt: skip
    found = sorted((", ".join(map(str, row[:-2])), str(row[-2])) for row in engines.both(query.sql))
    if found != expected:
        raise GoldError(f"join {expected}, engines {found}: {query.sql}")
