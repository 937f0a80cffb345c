"""What a query service is asked about events, and what its answers hold.

Items are listed first, page by page, and then asked about by name: so no page boundary parts the
statements of an item, and no query needs more than one kind's items sorted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from agent_env.temporal.facts.kept_pages import ImportQuery, Kind
from agent_env.temporal.facts.statements import Bound, Item, Statement

ENTITY = "http://www.wikidata.org/entity/"
TIMES: dict[Bound, str] = {"start": "P580", "end": "P582", "point": "P585"}

Solution = Mapping[str, Mapping[str, Any]]
"""One row of results: terms by variable."""


def list_query(query: ImportQuery, kind: Kind, after: str) -> str:
    """Asks for addresses only. Paged by the last address seen: unlike an offset, that skips and
    repeats nothing when items come or go in between."""
    return f"""\
PREFIX wd: <{ENTITY}>
PREFIX wdt: <http://www.wikidata.org/prop/direct/>
PREFIX wikibase: <http://wikiba.se/ontology#>
SELECT DISTINCT ?item WHERE {{
  ?item wdt:P31/wdt:P279* wd:{kind.item} ; wikibase:sitelinks ?sitelinks .
  FILTER(?sitelinks >= {query.sitelinks})
  FILTER(STR(?item) > "{after}")
}} ORDER BY STR(?item) LIMIT {query.page_size}"""


def detail_query(query: ImportQuery, ids: Sequence[str]) -> str:
    """Asks for names, descriptions and times. Each branch names the items itself, so that no
    engine has to look at all items there are."""
    items = f"VALUES ?item {{ {' '.join(f'wd:{name}' for name in ids)} }}"
    spoken = ", ".join(f'"{code}"' for code in query.languages)
    branches = [
        f"{{ {items} ?item {path} ?{what} . FILTER(LANG(?{what}) IN ({spoken})) }}"
        for what, path in (("name", "rdfs:label"), ("about", "schema:description"))
    ]
    branches += [
        f"{{ {items} ?item p:{path} ?claim . ?claim a wikibase:BestRank ; psv:{path} ?value . "
        "?value wikibase:timeValue ?time ; wikibase:timePrecision ?precision ; "
        f'wikibase:timeCalendarModel ?calendar . BIND("{bound}" AS ?bound) }}'
        for bound, path in TIMES.items()
    ]
    joined = "\n  UNION ".join(branches)
    return f"""\
PREFIX wd: <{ENTITY}>
PREFIX p: <http://www.wikidata.org/prop/>
PREFIX psv: <http://www.wikidata.org/prop/statement/value/>
PREFIX wikibase: <http://wikiba.se/ontology#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX schema: <http://schema.org/>
SELECT ?item ?name ?about ?bound ?time ?precision ?calendar WHERE {{
  {joined}
}}"""


def items_of(ids: Sequence[str], kind: str, solutions: Iterable[Solution]) -> Iterator[Item]:
    """The listed items with what the details say of them."""
    names: dict[str, dict[str, str]] = {name: {} for name in ids}
    abouts: dict[str, dict[str, str]] = {name: {} for name in ids}
    times: dict[str, list[Statement]] = {name: [] for name in ids}
    for row in solutions:
        item = value_of(row, "item").removeprefix(ENTITY)
        if item not in names:
            continue
        for variable, texts in (("name", names), ("about", abouts)):
            if variable in row:
                language = str(row[variable].get("xml:lang", "")).lower()
                texts[item][language] = value_of(row, variable)
        times[item].extend(_statements(row))
    for name in ids:
        stated = tuple(sorted(times[name], key=lambda s: (s.bound, s.time, s.precision)))
        yield Item(
            id=name, kind=kind, names=names[name], descriptions=abouts[name], statements=stated
        )


def _statements(row: Solution) -> Iterator[Statement]:
    """The one that the row holds, if it holds one."""
    precision = value_of(row, "precision")
    for bound in TIMES:
        if value_of(row, "bound") == bound:
            yield Statement(
                bound=bound,
                time=value_of(row, "time"),
                precision=int(precision) if precision in ("9", "10", "11") else 0,
                calendar=value_of(row, "calendar").removeprefix(ENTITY),
            )


def value_of(row: Solution, variable: str) -> str:
    """The value of a term; empty where the variable is not bound."""
    text = str(row.get(variable, {}).get("value", ""))
    return text.encode(errors="replace").decode()  # half a surrogate pair fits into no file
