"""Questions of pure arithmetic: clocks, rates, schedules, time zones, inclusive counts, dates."""

from __future__ import annotations

from calendar import isleap, monthrange
from collections.abc import Callable
from datetime import date, timedelta
from math import lcm
from random import Random

from agent_env.families.temp_answers.drafts import Draft, day, number, span, year
from agent_env.families.temp_answers.tables import full_months, full_years
from agent_env.temporal.months import add_months
from agent_env.temporal.written import MONTHS, WEEKDAYS

NAMES = ("Ilsa", "Tomas", "Wren", "Odo", "Mirela", "Joris", "Hanne", "Pavo")
ORDINALS = ("first", "second", "third", "fourth")


def random_day(rng: Random, first: int = 1900, last: int = 2020) -> date:
    """A day of these years, all equally likely."""
    start = date(first, 1, 1)
    return start + timedelta(days=rng.randrange((date(last, 12, 31) - start).days))


def _weeks_later(rng: Random) -> Draft:
    start, weeks = random_day(rng), rng.randrange(3, 120)
    text = f"What is the date {weeks} weeks after {start}?"
    return day("add_subtract", text, start + timedelta(weeks=weeks), "json")


def _days_earlier(rng: Random) -> Draft:
    end, days = random_day(rng), rng.randrange(20, 1500)
    text = f"A report due on {end} was ordered {days} days earlier. On what date was it ordered?"
    return day("add_subtract", text, end - timedelta(days=days), "json")


def _lease(rng: Random) -> Draft:
    start = random_day(rng)
    if rng.random() < 0.4:
        start = start.replace(day=monthrange(start.year, start.month)[1])
    months = rng.randrange(1, 60)
    text = (
        f"A lease begins on {start} and ends {months} months later, on the same day of the month, "
        "or on the last day of the month if that month is too short. On what date does it end?"
    )
    return day("add_subtract", text, add_months(start, months), "json")


def _reign(rng: Random) -> Draft:
    before, after = rng.randrange(1, 60), rng.randrange(1, 60)
    text = (
        f"A ruler came to power in {before} BC and died in AD {after}. How many years lie between "
        "the two? There is no year 0."
    )
    return number("duration", text, "years", before + after - 1, "json")


def _days_between(rng: Random) -> Draft:
    start = random_day(rng)
    end = start + timedelta(days=rng.randrange(30, 4000))
    text = f"How many days after {start} is {end}?"
    return number("duration", text, "days", (end - start).days, "json")


def _age(rng: Random) -> Draft:
    born = random_day(rng, 1900, 1980)
    then = random_day(rng, 1981, 2020)
    name = rng.choice(NAMES)
    text = f"{name} was born on {born}. How old, in full years, was {name} on {then}?"
    return number("duration", text, "years", full_years(born, then), "json")


def _full_months(rng: Random) -> Draft:
    start = random_day(rng)
    end = start + timedelta(days=rng.randrange(40, 3000))
    text = f"How many full months are there between {start} and {end}?"
    return number("duration", text, "months", full_months(start, end), "json")


def _meeting(rng: Random) -> Draft:
    this_year, month = rng.randrange(1950, 2030), rng.randrange(1, 13)
    nth, weekday = rng.randrange(4), rng.randrange(7)
    first = date(this_year, month, 1)
    when = first + timedelta(days=(weekday - first.weekday()) % 7 + 7 * nth)
    text = (
        f"A council meets on the {ORDINALS[nth]} {WEEKDAYS[weekday]} of every month. On what date "
        f"does it meet in {MONTHS[month - 1]} {this_year}?"
    )
    return day("schedule", text, when, "json")


def _both_bells(rng: Random) -> Draft:
    start, one, other = random_day(rng), rng.randrange(3, 20), rng.randrange(3, 20)
    text = (
        f"One bell rings every {one} days, another every {other} days. Both rang on {start}. On "
        "what date do they next ring together?"
    )
    return day("schedule", text, start + timedelta(days=lcm(one, other)), "json")


def _leap_birthday(rng: Random) -> Draft:
    born, nth = 4 * rng.randrange(476, 500), rng.randrange(4, 15)
    text = (
        f"{rng.choice(NAMES)} was born on {born}-02-29. In which year was the {nth}th 29 February "
        "after that day?"
    )
    leaps = [y for y in range(born + 1, born + 4 * nth + 12) if isleap(y)]
    return year("schedule", text, leaps[nth - 1], "json")


def _workdays(rng: Random) -> Draft:
    start = random_day(rng)
    end = start + timedelta(days=rng.randrange(5, 200))
    text = (
        f"An office is open from Monday to Friday, without holidays. On how many days is it open "
        f"from {start} to {end}, both dates included?"
    )
    weeks, rest = divmod((end - start).days + 1, 7)
    count = 5 * weeks + sum((start.weekday() + k) % 7 < 5 for k in range(rest))
    return number("trick", text, "days", count, "json")


def _leap_days(rng: Random) -> Draft:
    start = random_day(rng, 1880, 1990)
    end = random_day(rng, start.year + 5, start.year + 60)
    text = f"How often does 29 February occur from {start} to {end}, both dates included?"
    leaps = (y for y in range(start.year, end.year + 1) if isleap(y))
    count = sum(start <= date(y, 2, 29) <= end for y in leaps)
    return number("trick", text, "days", count, "json")


CALENDAR_MAKERS: tuple[Callable[[Random], Draft], ...] = (
    _weeks_later, _days_between, _meeting, _workdays, _days_earlier, _age, _both_bells, _leap_days,
    _lease, _full_months, _leap_birthday, _reign,
)  # fmt: skip


BREADS = ("loaves", "pies", "cakes", "tarts")


def make(rng: Random, number_of: int) -> Draft:
    """Question types in turn, so that a set has equally many of each."""
    return MAKERS[number_of % len(MAKERS)](rng)


def few_days(rng: Random) -> Draft:
    """Days within a month, one to nine."""
    start, days = random_day(rng).replace(day=rng.randrange(1, 20)), rng.randrange(1, 10)
    text = f"How many days after {start} is {start + timedelta(days=days)}?"
    return number("duration", text, "days", days, "json")


def _voyage(rng: Random) -> Draft:
    departure, days = random_day(rng), rng.randrange(5, 900)
    ship = rng.choice(("Heron", "Gannet", "Osprey", "Curlew", "Petrel", "Plover"))
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
        "How long did the journey take?"
    )
    return span("duration", text, length)


def _ages(rng: Random) -> Draft:
    elder, younger = rng.sample(NAMES, 2)
    first, apart, age = random_day(rng), rng.randrange(1, 4000), rng.randrange(100, 9000)
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
        f"{batch} {rng.choice(BREADS)}. At the same rate, how long do {ordered} take?"
    )
    return span("multi_op", text, each * ordered)


def _ferry(rng: Random) -> Draft:
    first, every = random_day(rng), rng.randrange(3, 40)
    today = first + timedelta(days=rng.randrange(1, 700))
    gone = (today - first).days // every
    text = (
        f"A ferry sails every {every} days; its first departure was on {first}. Today is {today}. "
        "On what date does it next sail after today?"
    )
    return day("schedule", text, first + timedelta(days=(gone + 1) * every), "json")


def _zones(rng: Random) -> Draft:
    start, length = rng.randrange(0, 86_400), rng.randrange(1800, 15 * 3600)
    here, there = rng.randrange(-10, 12), rng.randrange(-10, 12)
    local_seconds = start + length + 3600 * (there - here)
    days, rest = divmod(local_seconds, 86_400)
    text = (
        f"A plane takes off from Norvik (UTC{here:+d}) at {clock(start)} local time and flies for "
        f"{length // 3600} hours, {length // 60 % 60} minutes and {length % 60} seconds to Sudhavn "
        f"(UTC{there:+d}). What is the local time in Sudhavn when it lands, and how many days "
        "after the local day of departure is it (0 for the same day, -1 for the day before)?"
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
        f"in Sudhavn (UTC{there:+d}), and how many days after the day in Norvik is it there "
        "(0 for the same day, -1 for the day before)?"
    )
    return _local_time(text, seconds, *divmod(seconds, 86_400))


def _night(rng: Random) -> Draft:
    start, length = rng.randrange(17 * 3600, 86_000), rng.randrange(8 * 3600, 16 * 3600)
    text = (
        f"A watch begins at {clock(start)} and ends at {clock((start + length) % 86_400)} on the "
        "following day. How long is it?"
    )
    return span("duration", text, length)


def _train(rng: Random) -> Draft:
    speed = rng.choice((40, 50, 60, 72, 80, 90, 100, 120, 144))
    distance = rng.randrange(35, 900)
    text = (
        f"A train travels {distance} km at a steady {speed} km/h. How long does the journey take?"
    )
    return span("multi_op", text, distance * 3600 // speed)


def _shifts(rng: Random) -> Draft:
    start, length = 300 * rng.randrange(60, 120), 300 * rng.randrange(60, 110)
    pause, days = 5 * rng.randrange(3, 18), rng.randrange(3, 24)
    text = (
        f"{rng.choice(NAMES)} works from {clock(start)} to {clock(start + length)} with a break of "
        f"{pause} minutes, on {days} days. How long is that in total, not counting the breaks?"
    )
    return span("multi_op", text, (length - 60 * pause) * days)


def _bus(rng: Random) -> Draft:
    first, every = rng.randrange(5 * 60, 8 * 60), rng.randrange(7, 50)
    now = first + rng.randrange(20, 900)
    text = (
        f"Buses leave every {every} minutes, the first at {clock(60 * first)}. {rng.choice(NAMES)} "
        f"reaches the stop at {clock(60 * now)}. How many minutes is it until the next bus (0 if "
        "one leaves at that very minute)?"
    )
    return number("schedule", text, "minutes", -(now - first) % every, "json")


def _fair(rng: Random) -> Draft:
    first, length = random_day(rng), rng.randrange(2, 120)
    last = first + timedelta(days=length)
    if rng.random() < 0.5:
        text = (
            f"A fair is open from {first} to {last}, including the first and the last day. On how "
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
