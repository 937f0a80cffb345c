"""A second solver that shares nothing with the package: plain dates, one test per constraint.

It reads the facts as JSON and asks of each day whether it satisfies them; Chinese dates come from
lunar_python, event dates from the CSV tables read anew.
"""

import calendar
import csv
from datetime import date, timedelta
from functools import cache

from lunar_python import Solar

from tests import ROOT

TABLES = ROOT / "agent_env" / "features" / "facts" / "tables"
ANIMALS = "鼠牛虎兔龙蛇马羊猴鸡狗猪"
ENGLISH = "Rat Ox Tiger Rabbit Dragon Snake Horse Goat Monkey Rooster Dog Pig".split()
NAMES = list(calendar.day_name)
SEASON_OF = dict(zip(range(1, 13), ["winter"] * 2 + ["spring"] * 3 + ["summer"] * 3
                     + ["autumn"] * 3 + ["winter"], strict=True))  # fmt: skip
SIGN_STARTS = [
    (1, 20, "Aquarius"), (2, 19, "Pisces"), (3, 21, "Aries"), (4, 20, "Taurus"),
    (5, 21, "Gemini"), (6, 21, "Cancer"), (7, 23, "Leo"), (8, 23, "Virgo"), (9, 23, "Libra"),
    (10, 23, "Scorpio"), (11, 22, "Sagittarius"), (12, 22, "Capricorn"),
]  # fmt: skip
OLYMPIC_GAPS = {1916, 1940, 1944, 2020}
CUP_GAPS = {1942, 1946}


def solve(facts, first, last):
    """All days between two that satisfy every fact."""
    return list(solutions(facts, first, last))


def solutions(facts, first, last):
    """The same days, one after another."""
    ordered = sorted(facts, key=cost)
    for day in map(date.fromordinal, range(first.toordinal(), last.toordinal() + 1)):
        if all(holds(day, fact) for fact in ordered):
            yield day.isoformat()


def cost(fact):
    """Facts that rule out most at least cost come first, those on the moon last."""
    if fact["type"] in ("lunar_month", "chinese_zodiac"):
        return 3
    early = ("explicit_year", "decade", "year_range", "kb_event")
    return 0 if fact["type"] in early else 2 if "weekday_in" in fact["type"] else 1


def holds(day, fact):
    """Whether one day satisfies one fact."""
    return bool(TESTS[fact["type"]](day, fact))


@cache
def rows(name):
    with (TABLES / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@cache
def lunar(day):
    return Solar.fromYmd(day.year, day.month, day.day).getLunar()


@cache
def row_of(event):
    (row,) = [row for row in rows("events") if row["event"] == event]
    return row


@cache
def spans_of(name, person):
    ended = [row for row in rows(name) if row["person"] == person and row["end"]]
    return [(date.fromisoformat(row["start"]), date.fromisoformat(row["end"])) for row in ended]


def inside(day, name, person):
    return any(start < day < end for start, end in spans_of(name, person))


def sign(day):
    names = [name for month, start, name in SIGN_STARTS if (day.month, day.day) >= (month, start)]
    return names[-1] if names else "Capricorn"


def nth(day, unit, fact):
    step = timedelta(days=7 if fact["direction"] == "first" else -7)
    count, other = 0, day
    while getattr(other, unit) == getattr(day, unit) and other.year == day.year:
        count, other = count + 1, other - step
    return day.strftime("%A") == fact["weekday"] and count == fact["n"]


def event(day, fact):
    row = row_of(fact["event"])
    if fact["aspect"] == "multi_year" and not row["multi_year_spans"]:
        return row["start"][:4] <= str(day.year) <= row["end"][:4]
    if fact["aspect"] == "multi_year":
        spans = [part.split("~") for part in row["multi_year_spans"].split(";")]
        return any(int(span[0]) <= day.year <= int(span[-1]) for span in spans)
    part = row[fact["aspect"]].split("-")[["year", "month", "day"].index(fact["level"])]
    return int(getattr(day, fact["level"])) == int(part)


TESTS = {
    "explicit_year": lambda d, f: d.year == f["year"],
    "decade": lambda d, f: str(d.year)[:3] + "0" == str(f["decade"]),
    "year_range": lambda d, f: f["start"] <= d.year <= f["end"],
    "leap_year": lambda d, f: (date(d.year, 12, 31) - date(d.year, 1, 1)).days == 365,
    "chinese_zodiac": lambda d, f: (
        ENGLISH[ANIMALS.index(lunar(d).getYearShengXiao())] == f["animal"]
    ),
    "lunar_month": lambda d, f: abs(lunar(d).getMonth()) == f["month"],
    "person_alive": lambda d, f: inside(d, "people", f["person"]),
    "us_president": lambda d, f: inside(d, "presidents", f["person"]),
    "event": lambda d, f: (
        d.year == 2021
        or (d.year % 4 == 0 and 1896 <= d.year <= 2024 and d.year not in OLYMPIC_GAPS)
        if f["name"] == "summer_olympics"
        else d.year % 4 == 2 and 1930 <= d.year <= 2026 and d.year not in CUP_GAPS
    ),
    "month": lambda d, f: d.month == f["month"],
    "season": lambda d, f: SEASON_OF[d.month] == f["season"],
    "western_zodiac": lambda d, f: sign(d) == f["sign"],
    "weekday": lambda d, f: d.strftime("%A") == f["weekday"],
    "multi_weekday": lambda d, f: d.strftime("%A") in f["value"],
    "day_of_month_specific": lambda d, f: d.day == f["day"],
    "first_day_of_month": lambda d, f: (d - timedelta(days=1)).month != d.month,
    "last_day_of_month": lambda d, f: (d + timedelta(days=1)).month != d.month,
    "day_of_month": lambda d, f: d.day < f["value"] if f["operator"] == "<" else d.day > f["value"],
    "day_of_year": lambda d, f: int(d.strftime("%j")) == f["day"],
    "weekday_in_month": lambda d, f: nth(d, "month", f),
    "weekday_in_year": lambda d, f: nth(d, "year", f),
    "kb_event": event,
}
