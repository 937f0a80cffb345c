"""Makes samples from tables, with the pages of the sealed web that prove them: the same options,
seed and now give the same bytes on any day."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from random import Random

from agent_env.families.tdbench.hops import hop_queries, make_chain, user_hop_queries
from agent_env.families.tdbench.own_templates import DROPPED, reads_back
from agent_env.families.tdbench.queries import (
    ANSWER_COUNTS,
    MAX_FAILURES,
    Making,
    check_queries,
    current_queries,
    draw_queries,
    special_queries,
)
from agent_env.families.tdbench.query import GroupRow, Query, QueryPool, make_pool, make_samples
from agent_env.families.tdbench.sample import Kind, TdbenchOptions, TdbenchSample
from agent_env.families.tdbench.sources import Source, read_now, sources
from agent_env.families.tdbench.sql import Engines
from agent_env.features.facts.tables.articles import TablePages
from agent_env.features.facts.tables.table_records import read_aliases
from agent_env.features.facts.tables.temporal_table import TemporalTable
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.family import SampleSet
from agent_env.sdk.records import Proof
from agent_env.temporal.allen import RELATIONS


def proofs_of(query: Query, pages: Mapping[str, TablePages]) -> tuple[Proof, ...]:
    """One for each fact that must be looked up; () where one of them has no page, and for hops over
    a user's tables."""
    if query.kind == "hops":
        if [table.name for table in query.tables] != ["offices", "games"]:
            return ()
        # The games with their host, then the office there.
        games = query.tables[1]
        game = games.rows[query.relevant[1][0]]
        by = next(iter(query.keys))
        country = game.values[games.columns.index("country")]
        office = {"country": country, "role": query.keys["role"]}
        first = Proof(
            constraint=0,
            urls=pages[games.name].stating({by: query.keys[by]}),
            dates=_dates(games, game.start, game.end),
            used=(),
            shares="span",
        )
        proofs = [first, _proof(1, query, office, query.golds, pages)]
    elif query.kind == "duration":
        proofs = []
        for n, row in enumerate(query.golds, start=1):
            side = {
                k.removesuffix(f" {n}"): v for k, v in query.keys.items() if k.endswith(f" {n}")
            }
            proofs.append(_proof(n - 1, query, side, (row,), pages))
    else:
        proofs = [_proof(0, query, query.keys, query.golds, pages)]
    return tuple(proofs) if all(proof.urls for proof in proofs) else ()


def _proof(
    number: int,
    query: Query,
    keys: Mapping[str, str],
    golds: Sequence[GroupRow],
    pages: Mapping[str, TablePages],
) -> Proof:
    table = query.tables[0]
    gold = [table.rows[row.index] for row in golds]
    rows = gold or [table.rows[index] for index in query.relevant[0]]
    dates = (day for row in rows for day in _dates(table, row.start, row.end))
    bounds = (row.start if role == "start" else row.end for row in gold for role in query.roles)
    return Proof(
        constraint=number,
        urls=pages[table.name].stating(keys),
        dates=tuple(dict.fromkeys(dates)),
        used=tuple(dict.fromkeys(_dates(table, *bounds))),
        shares="span",
    )


def _dates(table: TemporalTable, *days: date | None) -> tuple[str, ...]:
    return tuple(table.written(day) for day in days if day is not None)


VERSION = 6
"""Raised whenever the same seed would give other questions."""
LISTED_KINDS: frozenset[Kind] = frozenset({"nth", "longest", "count"})
"""Kinds that ask about the rows that a table happens to list."""


def make(count: int, seed: int, options: TdbenchOptions) -> SampleSet:
    """At most `count` samples, all phrasings of a query in sequence, with their tables."""
    tables, now = sources(options, seed), read_now(options)
    materials = {source.table.name: source.table.material() for source in tables}
    digests = {name: material.digest for name, material in materials.items()}
    pages = {name: TablePages(material) for name, material in materials.items()}
    rng = Random(f"tdbench/3/{seed}/{count}")  # the draws are those of version 3
    samples: list[TdbenchSample] = []
    omissions: Counter[str] = Counter()
    for source in tables:
        omissions.update(source.omissions)
    aliases: dict[str, tuple[str, ...]] = defaultdict(tuple)
    for alias, name in read_aliases(options.aliases).items():
        aliases[name] += (alias,)
    with Engines(materials.values()) as engines:
        is_closed = options.book == "closed"
        making = Making(engines, rng, options.phrasings, omissions, is_closed)
        maker = _Maker(tables, now, options, making)
        for number, query in enumerate(maker.queries(-(-count // options.phrasings))):
            name = f"td-{seed}-{number:05d}"
            proofs = proofs_of(query, pages)
            own = make_samples(query, name, now.isoformat(), digests, rng, VERSION, proofs)
            if aliases:
                names = (*own[0].gold, *own[0].others)
                update = {"aliases": {n: aliases[n] for n in names if n in aliases}}
                own = [sample.model_copy(update=update) for sample in own]
            if options.templates is not None:
                omissions[DROPPED] += sum(not reads_back(sample) for sample in own)
                own = [sample for sample in own if reads_back(sample)]
            samples += own
    reasons = {what: number for what, number in omissions.items() if number}
    if options.book == "closed":
        samples = [sample.model_copy(update={"book": "closed"}) for sample in samples]
    if not samples:
        why = "; ".join(f"{number} {what}" for what, number in reasons.items())
        raise ConfigError(f"no question can be made: {why or 'the tables have no fitting rows'}")
    del samples[count:]
    used = {digest for sample in samples for digest in sample.materials}
    notes = tuple(note for source in tables for note in source.notes)
    if options.is_own:
        notes = (*notes, *_by_kind(samples))
    own_tables = tuple(m for m in materials.values() if m.digest in used)
    return SampleSet(tuple(samples), own_tables, reasons, notes=notes)


def _by_kind(samples: Sequence[TdbenchSample]) -> Iterator[str]:
    """How many queries of each kind have one answer, several, none."""
    queries = {sample.query: sample for sample in samples}
    for kind in dict.fromkeys(sample.kind for sample in samples):
        sizes = Counter(each.cardinality for each in queries.values() if each.kind == kind)
        counts = ", ".join(f"{sizes[size]} with {words}" for size, words in ANSWER_COUNTS.items())
        yield f"{sizes.total()} queries of the kind {kind}: {counts}"


@dataclass(frozen=True, slots=True)
class _Maker:
    sources: Sequence[Source]
    now: date
    options: TdbenchOptions
    making: Making

    def queries(self, count: int) -> Iterator[Query]:
        """Queries of all kinds; the kinds share the count as equally as possible."""
        options = self.options
        kinds = tuple(dict.fromkeys(options.kinds))
        if not kinds:
            raise ConfigError("no kind of question is chosen")
        if options.book == "closed" and (listed := set(kinds) & LISTED_KINDS):
            raise ConfigError(
                f"book=closed shows no rows, and kinds={min(listed)} asks about the listed ones"
            )
        if options.book == "closed" and options.is_own and not options.unique:
            raise ConfigError(
                "book=closed shows no rows, and unique=false leaves open whether the table lists "
                "all that holds at a time; take book=open"
            )
        # Every form of question about every table that has groups for it.
        closed = "dependent" if self.options.book == "closed" else ""
        pools = [
            make_pool(source.domain, form, source.table, self.now)
            for source in self.sources
            for form in source.domain.forms
            if not (form.listed and "dependent" in (self.options.asks, closed))
        ]
        for pool in pools:
            self.making.omissions.update(pool.omissions)
        pools = [pool for pool in pools if pool.groups or pool.lone]
        total = 0
        for number, kind in enumerate(kinds):
            missing = (count - total) // (len(kinds) - number)
            balanced = options.is_own and options.cardinalities != ("none",)
            more = 4 if balanced and kind not in ("relation", "current") else 1
            queries = self._of_kind(kind, pools, more * missing)
            if balanced:
                queries = self._balanced(kind, queries, missing)
            for query in queries:
                total += 1
                missing -= 1
                yield query
            what = f"queries of the kind {kind} for which no rows were found"
            self.making.omissions[what] += missing

    def _balanced(self, kind: Kind, queries: Iterator[Query], count: int) -> Iterator[Query]:
        """At most `count`, never more without an answer than with one: else to say so would be
        right more often than not."""
        waiting: list[Query] = []
        made = spare = 0
        for query in queries:
            if query.cardinality == "none":
                waiting.append(query)
            else:
                made, spare = made + 1, spare + 1
                yield query
            if waiting and spare and made < count:
                made, spare = made + 1, spare - 1
                yield waiting.pop(0)
            if made >= count:
                return
        what = f"queries of the kind {kind} without an answer, beyond as many as have one"
        self.making.omissions[what] += len(waiting)

    def _of_kind(self, kind: Kind, pools: Sequence[QueryPool], count: int) -> Iterator[Query]:
        options, making = self.options, self.making
        if kind == "hops":
            tables = {source.table.name: source.table for source in self.sources}
            if not options.is_own:
                return hop_queries(tables["offices"], tables["games"], count, making)
            own = [source.table for source in self.sources]
            chain = make_chain(own, options.question, options.answer, options.unique)
            return user_hop_queries(chain, making)
        if kind == "current":
            return current_queries(pools, options.cardinalities, count, making)
        pools = [pool for pool in pools if pool.groups]
        if not pools:
            raise ConfigError(
                f"no group of rows has two answers, so kinds={kind} has nothing to ask; "
                "kinds=current needs only one"
            )
        if kind == "relation":
            relations, sizes = options.relations or RELATIONS, options.cardinalities
            return check_queries(list(draw_queries(pools, relations, sizes, count, making)), making)
        return special_queries(kind, pools, count, making, MAX_FAILURES if options.is_own else None)
