"""Questions of pure arithmetic: clocks, rates, schedules, time zones, inclusive counts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from random import Random

from agent_env.families.temp_answers.calendar_questions import CALENDAR_MAKERS, NAMES
from agent_env.families.temp_answers.calendar_questions import random_day as _day
from agent_env.families.temp_answers.drafts import Draft, day, number, span, year

SHIPS = ("Heron", "Gannet", "Osprey", "Curlew", "Petrel", "Plover")
BREADS = ("loaves", "pies", "cakes", "tarts")


def make(rng: Random, number_of: int) -> Draft:
    """Question types in turn, so that a set has equally many of each."""
    return MAKERS[number_of % len(MAKERS)](rng)


def few_days(rng: Random) -> Draft:
    """Days within a month, one to nine."""
    start, days = _day(rng).replace(day=rng.randrange(1, 20)), rng.randrange(1, 10)
    text = f"How many days after {start} is {start + timedelta(days=days)}?"
    return number("duration", text, "days", days, "json")


def _voyage(rng: Random) -> Draft:
    departure, days = _day(rng), rng.randrange(5, 900)
    ship = rng.choice(SHIPS)
    text = f"The {ship} left port on {departure} and returned {days} days later. "
    text += "On what date did it return?"
    return day("add_subtract", text, departure + timedelta(days=days), "json")


def _temple(rng: Random) -> Draft:
    start, years = rng.randrange(5, 300), rng.randrange(2, 400)
    text = (
        f"The building of a temple began in {start} BC and took {years} years. In which year was "
        "it finished? There is no year 0."
    )
    return year("add_subtract", text, 1 - start + years, "json")


def _race(rng: Random) -> Draft:
    start, length = rng.randrange(4 * 3600, 12 * 3600), rng.randrange(600, 11 * 3600)
    name = rng.choice(NAMES)
    text = (
        f"{name} set out at {clock(start)} and arrived at {clock(start + length)} on the same day. "
        "How long did the journey take? It took X hours, Y minutes and Z seconds."
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
        f"A ferry sails every {every} days; its first departure was on {first}. Today is {today}. "
        "On what date after today does it sail next?"
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
        f"(UTC{there:+d}). What is the local time in Sudhavn when it lands, and how many days "
        "after the local day of departure is that (0 for the same day, -1 for the day before)?"
    )
    return _local_time(text, local_seconds, days, rest)


def _local_time(text: str, seconds: int, days: int, rest: int) -> Draft:
    keys = {"day": "day", "time": "time"}
    return Draft(
        "timezone", text, "the number of days and a time as HH:MM:SS", "duration", "seconds",
        seconds, str({"day": days, "time": clock(rest)}), "day, time", "seconds", keys=keys,
    )  # fmt: skip


def _call(rng: Random) -> Draft:
    start, here, there = 300 * rng.randrange(288), rng.randrange(-11, 13), rng.randrange(-11, 13)
    seconds = start + 3600 * (there - here)
    text = (
        f"A call takes place at {clock(start)} in Norvik (UTC{here:+d}). What is the local time "
        f"then in Sudhavn (UTC{there:+d}), and how many days after the day in Norvik is it there "
        "(0 for the same day, -1 for the day before)?"
    )
    return _local_time(text, seconds, *divmod(seconds, 86_400))


def _night(rng: Random) -> Draft:
    start, length = rng.randrange(17 * 3600, 86_000), rng.randrange(8 * 3600, 16 * 3600)
    text = (
        f"A watch begins at {clock(start)} and ends at {clock((start + length) % 86_400)} on the "
        "following day. How long is it? It is X hours, Y minutes and Z seconds long."
    )
    return span("duration", text, length)


def _train(rng: Random) -> Draft:
    speed = rng.choice((40, 50, 60, 72, 80, 90, 100, 120, 144))
    distance = rng.randrange(35, 900)
    text = (
        f"A train travels {distance} km at a steady {speed} km/h. How long does it travel? It "
        "travels X hours, Y minutes and Z seconds."
    )
    return span("multi_op", text, distance * 3600 // speed)


def _shifts(rng: Random) -> Draft:
    start, length = 300 * rng.randrange(60, 120), 300 * rng.randrange(60, 110)
    pause, days = 5 * rng.randrange(3, 18), rng.randrange(3, 24)
    text = (
        f"{rng.choice(NAMES)} works from {clock(start)} to {clock(start + length)} with a break of "
        f"{pause} minutes, on {days} days. How long is that altogether without the breaks? It is X "
        "hours, Y minutes and Z seconds."
    )
    return span("multi_op", text, (length - 60 * pause) * days)


def _bus(rng: Random) -> Draft:
    first, every = rng.randrange(5 * 60, 8 * 60), rng.randrange(7, 50)
    now = first + rng.randrange(20, 900)
    text = (
        f"Buses leave every {every} minutes, the first at {clock(60 * first)}. {rng.choice(NAMES)} "
        f"comes to the stop at {clock(60 * now)}. How many minutes is it until the next bus (0 if "
        "one is leaving right then)?"
    )
    return number("schedule", text, "minutes", -(now - first) % every, "json")


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
    _voyage, _race, _ferry, _fair, _temple, _zones, _ages, _oven, _call, _night, _train, _shifts,
    _bus, *CALENDAR_MAKERS,
)  # fmt: skip


def clock(seconds: int) -> str:
    """HH:MM:SS."""
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
