"""Makes samples from tables: the same options, seed and now give the same bytes on any day."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from random import Random

from agent_env.errors import ConfigError
from agent_env.families.tdbench.engines import Engines
from agent_env.families.tdbench.groups import Field, make_field
from agent_env.families.tdbench.hops import hop_queries
from agent_env.families.tdbench.options import TdbenchOptions
from agent_env.families.tdbench.proving import proofs_of
from agent_env.families.tdbench.query import Query, make_samples
from agent_env.families.tdbench.relations import checked, drawn
from agent_env.families.tdbench.sample import Kind, TdbenchSample
from agent_env.families.tdbench.sources import Source, read_now, sources
from agent_env.families.tdbench.specials import specials
from agent_env.families.tdbench.user_hops import make_chain, user_hop_queries
from agent_env.tasks.family import Made
from agent_env.temporal.allen import RELATIONS
from agent_env.temporal.facts.table_pages import TablePages

VERSION = 2
"""Raised whenever the same seed would give other questions."""


def make(count: int, seed: int, options: TdbenchOptions) -> Made:
    """At most so many samples, all phrasings of a query beside each other, with their tables."""
    found, now = sources(options, seed), read_now(options)
    materials = {source.table.name: source.table.material() for source in found}
    digests = {name: material.digest for name, material in materials.items()}
    pages = {name: TablePages(material) for name, material in materials.items()}
    rng = Random(f"tdbench/{VERSION}/{seed}/{count}")
    samples: list[TdbenchSample] = []
    left_out: Counter[str] = Counter()
    for source in found:
        left_out.update(source.left_out)
    with Engines(materials.values()) as engines:
        wanted = -(-count // options.phrasings)
        maker = _Maker(found, now, options, engines, rng, left_out)
        for number, query in enumerate(maker.queries(wanted)):
            name = f"td-{seed}-{number:05d}"
            samples += make_samples(
                query, name, now.isoformat(), digests, rng, VERSION, proofs_of(query, pages)
            )
    if not samples:
        why = "; ".join(f"{number} {what}" for what, number in left_out.items() if number)
        raise ConfigError(f"no question can be made: {why or 'the tables have no fitting rows'}")
    del samples[count:]
    named = {digest for sample in samples for digest in sample.materials}
    tables = tuple(m for m in materials.values() if m.digest in named)
    return Made(tuple(samples), tables, {what: n for what, n in left_out.items() if n})


@dataclass(frozen=True, slots=True)
class _Maker:
    found: Sequence[Source]
    now: date
    options: TdbenchOptions
    engines: Engines
    rng: Random
    left_out: Counter[str]
    """Filled while the queries are made."""

    def queries(self, count: int) -> Iterator[Query]:
        """The kinds share the count as equally as can be."""
        kinds = tuple(dict.fromkeys(self.options.kinds))
        if not kinds:
            raise ConfigError("no kind of question is chosen")
        fields = self._fields()
        made = 0
        for number, kind in enumerate(kinds):
            share, before = (count - made) // (len(kinds) - number), made
            for query in self._of_kind(kind, fields, share):
                made += 1
                yield query
            self.left_out[f"queries of the kind {kind} for which no rows were found"] += share - (
                made - before
            )

    def _of_kind(self, kind: Kind, fields: Sequence[Field], count: int) -> Iterator[Query]:
        options, rng = self.options, self.rng
        if kind == "hops":
            yield from self._hops(count)
        elif not fields:
            raise ConfigError("no group of rows has two answers, so there is nothing to ask")
        elif kind == "relation":
            relations = options.relations or RELATIONS
            some = list(drawn(fields, relations, options.cardinalities, count, rng, self.left_out))
            yield from checked(some, self.engines, options.phrasings)
        else:
            yield from specials(kind, fields, count, rng, self.engines, options.phrasings)

    def _hops(self, count: int) -> Iterator[Query]:
        options, rng = self.options, self.rng
        tables = {source.table.name: source.table for source in self.found}
        if options.tables in ("fictional", "shipped"):
            pair = (tables["offices"], tables["games"])
            yield from hop_queries(*pair, count, rng, self.engines, options.phrasings)
            return
        asked = (options.question, options.answer, options.unique)
        chain = make_chain([source.table for source in self.found], *asked)
        more = (count, rng, self.engines, options.phrasings, self.left_out)
        yield from user_hop_queries(chain, *more)

    def _fields(self) -> list[Field]:
        """Every way of asking about every table that has groups for it."""
        fields = [
            make_field(source.domain, ask, source.table, self.now)
            for source in self.found
            for ask in source.domain.asks
            if not (ask.listed and self.options.asks == "dependent")
        ]
        for field in fields:
            self.left_out.update(field.left_out)
        return [field for field in fields if field.groups]
