"""Questions of pure arithmetic: dates, clocks, rates, schedules, inclusive and exclusive counts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from random import Random

from agent_env.families.temp_answers.drafts import Draft, day, number, span, year

SHIPS = ("Heron", "Gannet", "Osprey", "Curlew", "Petrel", "Plover")
NAMES = ("Ilsa", "Tomas", "Wren", "Odo", "Mirela", "Joris", "Hanne", "Pavo")
BREADS = ("loaves", "pies", "cakes", "tarts")


def make(rng: Random, number_of: int) -> Draft:
    """Question types in turn, so that a set has equally many of each."""
    return MAKERS[number_of % len(MAKERS)](rng)


def _day(rng: Random, first: int = 1900, last: int = 2020) -> date:
    start = date(first, 1, 1)
    return start + timedelta(days=rng.randrange((date(last, 12, 31) - start).days))


def _voyage(rng: Random) -> Draft:
    departure, days = _day(rng), rng.randrange(5, 900)
    ship = rng.choice(SHIPS)
    text = f"The {ship} left port on {departure} and came home {days} days later. "
    text += "On what date was that?"
    return day("add_subtract", text, departure + timedelta(days=days), "json")


def _temple(rng: Random) -> Draft:
    start, years = rng.randrange(5, 300), rng.randrange(2, 400)
    text = (
        f"A temple was begun in {start} BC and finished {years} years later. In which year was it "
        "finished? There is no year 0."
    )
    return year("add_subtract", text, 1 - start + years, "json")


def _race(rng: Random) -> Draft:
    start, length = rng.randrange(4 * 3600, 12 * 3600), rng.randrange(600, 11 * 3600)
    name = rng.choice(NAMES)
    text = (
        f"{name} set out at {clock(start)} and arrived at {clock(start + length)} on the same day. "
        "How long was the way? It took X hours, Y minutes and Z seconds."
    )
    return span("duration", text, length)


def _ages(rng: Random) -> Draft:
    elder, younger = rng.sample(NAMES, 2)
    first, apart, age = _day(rng), rng.randrange(1, 4000), rng.randrange(100, 9000)
    text = (
        f"{elder} was born on {first} and {younger} on {first + timedelta(days=apart)}. When "
        f"{younger} was {age} days old, how many days old was {elder}?"
    )
    return number("duration", text, "days", age + apart, "json")


def _oven(rng: Random) -> Draft:
    batch, ordered = rng.choice((2, 3, 4, 5)), rng.randrange(6, 60)
    each = rng.randrange(60, 900)
    whole = each * batch
    text = (
        f"It takes {rng.choice(NAMES)} {whole // 60} minutes and {whole % 60} seconds to bake "
        f"{batch} {rng.choice(BREADS)}. At the same rate, how long do {ordered} take? They take X "
        "hours, Y minutes and Z seconds."
    )
    return span("multi_op", text, each * ordered)


def _ferry(rng: Random) -> Draft:
    first, every = _day(rng), rng.randrange(3, 40)
    today = first + timedelta(days=rng.randrange(1, 700))
    gone = (today - first).days // every
    text = (
        f"A ferry sails every {every} days, for the first time on {first}. Today is {today}. On "
        "what date does it sail next, today not counted?"
    )
    return day("schedule", text, first + timedelta(days=(gone + 1) * every), "json")


def _zones(rng: Random) -> Draft:
    start, length = rng.randrange(0, 86_400), rng.randrange(1800, 15 * 3600)
    here, there = rng.randrange(-10, 12), rng.randrange(-10, 12)
    local_seconds = start + length + 3600 * (there - here)
    days, rest = divmod(local_seconds, 86_400)
    text = (
        f"A plane takes off at {clock(start)} by the clock of Norvik (UTC{here:+d}) and flies for "
        f"{length // 3600} hours, {length // 60 % 60} minutes and {length % 60} seconds to Sudhavn "
        f"(UTC{there:+d}). What does the clock of Sudhavn show when it lands, and how many days "
        "after the day of the start by the clock of Norvik is it there (-1 for the day before)?"
    )
    keys = {"day": "day", "time": "time"}
    return Draft(
        "timezone", text, "the number of days and a time as HH:MM:SS", "duration", "seconds",
        local_seconds, str({"day": days, "time": clock(rest)}), "day, time", "seconds", keys=keys,
    )  # fmt: skip


def _fair(rng: Random) -> Draft:
    first, length = _day(rng), rng.randrange(2, 120)
    last = first + timedelta(days=length)
    if rng.random() < 0.5:
        text = (
            f"A fair is open from {first} to {last}, the first and the last day included. On how "
            "many days is it open?"
        )
        return number("trick", text, "days", length + 1, "json")
    text = (
        f"A bridge was closed after the evening of {first} and opened again on the morning of "
        f"{last}. On how many whole days was it closed?"
    )
    return number("trick", text, "days", length - 1, "json")


MAKERS: tuple[Callable[[Random], Draft], ...] = (
    _voyage, _race, _ferry, _fair, _temple, _zones, _ages, _oven,
)  # fmt: skip


def clock(seconds: int) -> str:
    """HH:MM:SS."""
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
