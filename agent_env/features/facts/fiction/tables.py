"""Invented temporal tables of any size: offices, organisations, clubs, laws, stays, games.

Nobody can know them by heart. Dates fall on few days of the year on purpose (new terms, transfer
windows, admission days), so that several rows can begin or end on one day.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from random import Random

from agent_env.features.facts.fiction.names import Names, ordinal
from agent_env.features.facts.tables.temporal_table import TemporalRow, TemporalTable, coalesced
from agent_env.sdk.errors import ConfigError

LEAST, MOST = 20, 200_000
VERSION = 2
"""Raised whenever the same seed would give other tables."""
DOMAINS = ("offices", "organisations", "clubs", "laws", "stays", "games")
FIRST, LAST = 1951, 2024
ROLES = ("President", "Prime Minister", "Chancellor", "Speaker", "Chief Justice")
POSITIONS = ("goalkeeper", "defender", "midfielder", "forward")
MATTERS = """
night fishing, toll keeping, street gambling, home distilling, fox hunting, bonfire burning,
Sunday trading, river dredging, peat cutting, kite racing, honey selling, canal swimming
"""
STATUSES = ("forbidden", "licensed", "permitted", "taxed")
WARDS = ("Cardiology", "Surgery", "Neurology", "Oncology", "Paediatrics", "Orthopaedics")
BODIES = ("Institute", "Society", "League", "Council", "Union", "Foundation")


def make_tables(rows: int, seed: int, domains: Iterable[str] = DOMAINS) -> dict[str, TemporalTable]:
    """One table of about so many rows for each domain; the same size and seed give the same.

    `games` has a tenth as many, in the countries of `offices`.
    """
    if not LEAST <= rows <= MOST:
        raise ConfigError(f"an invented table has {LEAST} to {MOST} rows, not {rows}")
    return {name: _table(name, rows, seed) for name in domains}


def _table(name: str, rows: int, seed: int) -> TemporalTable:
    rng = Random(f"temporal tables/{VERSION}/{seed}/{rows}/{name}")
    if name == "games":
        return _games(rows, seed, rng)
    makers = {
        "offices": (("country", "role", "name"), _offices),
        "organisations": (("organisation", "post", "name"), _organisations),
        "clubs": (("player", "club", "position"), _clubs),
        "laws": (("country", "matter", "status"), _laws),
        "stays": (("patient", "ward", "doctor"), _stays),
    }
    if name not in makers:
        raise ConfigError(f"no invented table '{name}'; known: {', '.join(DOMAINS)}")
    columns, make = makers[name]
    made_rows: list[TemporalRow] = []
    for row in make(rows, Names(rng), rng):
        made_rows.append(row)
        if len(made_rows) >= rows:
            break
    return coalesced(TemporalTable(name, columns, tuple(made_rows), fictional=True))


def _offices(rows: int, names: Names, rng: Random) -> Iterator[TemporalRow]:
    while True:
        country, every = names.place(), rng.choice((3, 4, 5))
        month, day = rng.choice(((1, 20), (3, 1), (7, 1), (10, 1)))
        first = FIRST + rng.randrange(10)
        for role in rng.sample(ROLES, 3):
            yield from _terms((country, role), names, rng, range(first, LAST, every), month, day)


def _organisations(rows: int, names: Names, rng: Random) -> Iterator[TemporalRow]:
    while True:
        body = f"the {names.place()} {rng.choice(BODIES)}"
        first, every = 1970 + rng.randrange(12), rng.choice((2, 3, 4))
        for post in rng.sample(("Chair", "Treasurer", "Secretary", "Director", "Auditor"), 3):
            yield from _terms((body, post), names, rng, range(first, LAST, every), 1, 1)


def _terms(
    key: tuple[str, str], names: Names, rng: Random, years: Sequence[int], month: int, day: int
) -> Iterator[TemporalRow]:
    """Holders one after the other; some hold for several terms, leave early, or return."""
    former: list[str] = []
    holder = names.person()
    for year in years:
        start = date(year, month, day)
        end: date | None = start.replace(year=year + years[1] - years[0])
        assert end is not None
        if rng.random() < 0.12:
            end = start + timedelta(days=rng.randrange(200, (end - start).days))
        last = end.year >= LAST
        yield TemporalRow((*key, holder), start, None if last and rng.random() < 0.8 else end)
        if last:
            return
        if rng.random() < 0.6:
            former.append(holder)
            back = len(former) > 2 and rng.random() < 0.15
            holder = rng.choice(former[:-2]) if back else names.person()


def _clubs(rows: int, names: Names, rng: Random) -> Iterator[TemporalRow]:
    clubs = [names.club(names.place()) for _ in range(max(4, rows // 24))]
    while True:
        player, position = names.person(), rng.choice(POSITIONS)
        year = rng.randrange(1985, 2016)
        start = date(year, rng.choice((1, 7, 7)), 1)
        for _ in range(rng.randint(1, 5)):
            end = date(start.year + rng.choice((1, 1, 2, 3, 4)), rng.choice((1, 7, 7)), 1)
            club = rng.choice(clubs)
            lasts = end.year >= LAST
            yield TemporalRow((player, club, position), start, None if lasts else end)
            if lasts:
                break
            later = end.month == 1 or rng.random() < 0.8
            start = end if later else end.replace(year=end.year + 1)


def _laws(rows: int, names: Names, rng: Random) -> Iterator[TemporalRow]:
    matters = [" ".join(part.split()) for part in MATTERS.split(",")]
    while True:
        country = names.place()
        for matter in rng.sample(matters, 4):
            status = rng.choice(STATUSES)
            start = date(rng.randrange(1890, 1970), rng.choice((1, 7)), 1)
            for step in range(5):
                end = date(start.year + rng.randint(2, 24), *rng.choice(((1, 1), (7, 1), (4, 15))))
                lasts = end.year >= LAST or step == 4
                yield TemporalRow((country, matter, status), start, None if lasts else end)
                if lasts:
                    break
                status = rng.choice([other for other in STATUSES if other != status])
                start = end


def _stays(rows: int, names: Names, rng: Random) -> Iterator[TemporalRow]:
    doctors = {ward: [f"Dr {names.person()}" for _ in range(3)] for ward in WARDS}
    weeks = max(20, rows // 12)
    while True:
        patient = names.person()
        week = rng.randrange(weeks)
        for _ in range(rng.randint(1, 4)):
            start = date(2019, 1, 7) + timedelta(weeks=week, days=rng.choice((0, 0, 0, 1, 3)))
            end = start + timedelta(days=rng.choice((2, 4, 4, 7, 7, 11, 14, 18)))
            ward = rng.choice(WARDS)
            yield TemporalRow((patient, ward, rng.choice(doctors[ward])), start, end)
            week += 4 + rng.randrange(max(4, weeks // 3))


def _games(rows: int, seed: int, rng: Random) -> TemporalTable:
    """Games held in countries while somebody held an office there."""
    offices = _table("offices", rows, seed)
    names = Names(rng)
    countries = sorted({row.values[0] for row in offices.rows})
    series = names.place()
    games = []
    year = FIRST + 12
    for number in range(1, max(6, rows // 10) + 1):
        start = date(year, rng.choice((2, 6, 8)), rng.randint(1, 28))
        end = start + timedelta(days=rng.randint(9, 21))
        values = (
            f"{year} {series} Games",
            f"{ordinal(number)} {series}",
            names.place(),
            rng.choice(countries),
        )
        games.append(TemporalRow(values, start, end))
        year += 2
        if year > LAST:
            series, year = names.place(), FIRST + 12
    columns = ("games", "round", "city", "country")
    return TemporalTable("games", columns, tuple(games), fictional=True)
