"""Answers by reading the event list as a person would; shares nothing with the package.

Time is compared as text and by `datetime` alone; what the question means is read from its words.
"""

import itertools
import json
import math
import re
from datetime import date, datetime, timedelta

Row = dict[str, str]
HOLIDAYS = {
    "New Year's Day": "01-01", "Valentine's Day": "02-14", "Saint Patrick's Day": "03-17",
    "Easter Sunday": "04-09", "May Day": "05-01",
    "Independence Day in the United States": "07-04", "Halloween": "10-31",
    "Christmas Day": "12-25",
}  # fmt: skip
"""Month and day in 2023."""
NAMES = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
VERBS = {
    "watch film": ("watch a film", "watched a film"),
    "eat risotto": ("eat risotto", "ate risotto"),
    "read book": ("read a book", "read a book"),
    "dance lively salsa": ("dance a lively salsa", "danced a lively salsa"),
    "store wine bottle": ("store a wine bottle", "stored a wine bottle"),
    "drink juice": ("drink juice", "drank juice"),
    "chat with friend": ("chat with a friend", "chatted with a friend"),
}
SURVEY = {"just": (-2.73, 2.21), "recently": (-1.30, 3.04), "some time ago": (0.87, 2.65),
          "a long time ago": (2.80, 3.97)}  # fmt: skip
SHIFT = {"chat with friend": 0.31, "dance lively salsa": 0.11, "drink juice": -0.58,
         "eat risotto": -0.38, "read book": 0.27, "store wine bottle": 0.03,
         "watch film": 0.25}  # fmt: skip


def crisp(question, rows, now):
    """The answer to an explicit or implicit question."""
    hits = [row for row in rows if says(question, row) and in_time(question, row, now)]
    if question.startswith("Who"):
        return tuple(sorted({row["subject"] for row in hits}))
    if question.startswith("Did"):
        return ("yes",) if len(hits) > 0 else ("no",)
    if question.startswith("How often"):
        return (str(len(hits)),)
    return (max(row["time"][:10] for row in hits),) if hits else ()


def says(question, row):
    """Whether the words of the question fit the event, time aside."""
    do, did = VERBS[row["event"]]
    place = f"in the {row['location']}"
    words = question.replace(" just ", " ")
    if words.startswith("Who"):
        return words.startswith(f"Who {did} {place}")
    if words.startswith("When"):
        return words == f"When was the last time {row['subject']} {did} {place}?"
    start = "Did" if words.startswith("Did") else "How often did"
    return words.startswith(f"{start} {row['subject']} {do} {place}")


def in_time(question, row, now):
    """Whether the event lies in the question's period."""
    day, today = date.fromisoformat(row["time"][:10]), date.fromisoformat(now[:10])
    if question.startswith("When"):
        return True
    if found := re.search(r" (?:on|in) ((?:\d+ )?(?:[A-Z]\w+ )?\d{4})\?", question):
        return f" {day.day} {day:%B %Y}".endswith(f" {found[1]}")
    if found := re.search(r" (\d+) days ago\?", question):
        return day + timedelta(days=int(found[1])) == today
    if found := re.search(r"two days before (.+) 2023\?", question):
        return day + timedelta(days=2) == date.fromisoformat(f"2023-{HOLIDAYS[found[1]]}")
    if found := re.search(r" last (\w+day)\?", question):
        back = today - timedelta(days=1)
        while NAMES[back.weekday()] != found[1]:
            back -= timedelta(days=1)
        return day == back
    tail = " ".join(question.rstrip("?").split()[-2:])
    if tail == "last week":
        before = date.fromisocalendar(*(today - timedelta(days=7)).isocalendar()[:2], 1)
        return before <= day < before + timedelta(days=7)
    if tail in ("this month", "last month"):
        months = (today.year * 12 + today.month) - (day.year * 12 + day.month)
        return months == (tail == "last month")
    if tail == "this year":
        return day.year == today.year
    return (today - day).days == {"today": 0, "yesterday": 1}[tail.split()[-1]]


def vague_table(question, rows, now):
    """By subject that did it at all, the probability of each event."""
    adverbial = "just" if " just " in question else next(a for a in SURVEY if f" {a}?" in question)
    k, m = SURVEY[adverbial]
    found = {}
    for row in rows:
        if says(question, row):
            gone = datetime.fromisoformat(now) - datetime.fromisoformat(row["time"])
            x = math.log10(gone.total_seconds() / 60) - m - SHIFT[row["event"]]
            found.setdefault(row["subject"], []).append(1 / (1 + math.exp(-k * x)))
    return found


def vague_share(question, table, answer):
    """The probability of the answer: the sum over all ways in which each event bears the adverbial
    or does not."""
    events = [(name, p) for name, found in table.items() for p in found]
    total = 0.0
    for ways in itertools.product((True, False), repeat=len(events)):
        chance = 1.0
        for (_, p), borne in zip(events, ways, strict=True):
            chance *= p if borne else 1 - p
        bearers = [name for (name, _), borne in zip(events, ways, strict=True) if borne]
        if question.startswith("Who"):
            truth = tuple(sorted(set(bearers)))
        elif question.startswith("Did"):
            truth = ("yes",) if bearers else ("no",)
        else:
            truth = (str(len(bearers)),)
        total += chance if truth == answer else 0.0
    return total


def rows_of(table):
    """The events of a table's JSON line."""
    told = json.loads(table)
    return [dict(zip(told["columns"], row, strict=True)) for row in told["rows"]]
