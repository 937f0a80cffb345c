"""Questions of arithmetic on dates: later and earlier dates, ages, weekdays, appointments, eras."""

from __future__ import annotations

from calendar import isleap, monthrange
from collections.abc import Callable
from datetime import date, timedelta
from math import lcm
from random import Random

from agent_env.families.temp_answers.drafts import Draft, day, number, year
from agent_env.families.temp_answers.tables import full_months, full_years

NAMES = ("Ilsa", "Tomas", "Wren", "Odo", "Mirela", "Joris", "Hanne", "Pavo")
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
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
    return day("add_subtract", text, months_later(start, months), "json")


def months_later(start: date, months: int) -> date:
    """The same day of a later month, or that month's last day."""
    total = 12 * start.year + start.month - 1 + months
    this_year, month = total // 12, total % 12 + 1
    return date(this_year, month, min(start.day, monthrange(this_year, month)[1]))


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
    text = (
        f"{rng.choice(NAMES)} was born on {born}. How old, in full years, is that person on {then}?"
    )
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
        f"{rng.choice(NAMES)} was born on {born}-02-29. In which year does the {nth}th 29 February "
        "after that day fall?"
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
    text = f"How many days from {start} to {end}, both included, are a 29 February?"
    leaps = (y for y in range(start.year, end.year + 1) if isleap(y))
    count = sum(start <= date(y, 2, 29) <= end for y in leaps)
    return number("trick", text, "days", count, "json")


CALENDAR_MAKERS: tuple[Callable[[Random], Draft], ...] = (
    _weeks_later, _days_between, _meeting, _workdays, _days_earlier, _age, _both_bells, _leap_days,
    _lease, _full_months, _leap_birthday, _reign,
)  # fmt: skip
