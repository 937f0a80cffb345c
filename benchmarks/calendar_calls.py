"""Calls of `calendars` by a real model: 40 questions, each with the arguments that answer it.

    python benchmarks/calendar_calls.py http://127.0.0.1:8000/v1 [MODEL]

The model gets the tool and must call it once (tool_choice required, temperature 0). A call is valid
where the tool can run it, and right where the tool then says what the question asks for. Printed:
both counts with 95 % Wilson intervals and the letters of the specification; on standard error each
wrong call."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import httpx

from agent_env.analysis.intervals import wilson
from agent_env.errors import ToolError
from agent_env.tools.builtin.calendars import Calendars

Arguments = dict[str, Any]


def describe(date: str, **more: str) -> Arguments:
    return {"operation": "describe", "date": date, **more}


def to_gregorian(calendar: str, year: int, month: int, day: int, **more: Any) -> Arguments:
    when = {"calendar": calendar, "year": year, "month": month, "day": day}
    return {"operation": "to_gregorian", **when, **more}


def nth_weekday(n: int, weekday: str, year: int, **more: Any) -> Arguments:
    return {"operation": "nth_weekday", "year": year, "weekday": weekday, "n": n, **more}


def add(date: str, n: int, unit: str) -> Arguments:
    return {"operation": "add", "date": date, "n": n, "unit": unit}


def difference(date: str, other_date: str) -> Arguments:
    return {"operation": "difference", "date": date, "other_date": other_date}


def named_day(calendar: str, name: str, year: int) -> Arguments:
    return {"operation": "named_day", "calendar": calendar, "name": name, "year": year}


QUESTIONS: tuple[tuple[str, Arguments], ...] = (
    ("Which day of the week was 1969-07-20?", describe("1969-07-20")),
    ("Was 14 February 2003 a Friday?", describe("2003-02-14")),
    ("What is the Chinese zodiac animal of 1 January 1990?", describe("1990-01-01")),
    ("Which day of the year is 30 September 2011?", describe("2011-09-30")),
    ("What is the Chinese lunar date of 2008-08-08?", describe("2008-08-08")),
    ("On what weekday did 1999 end?", describe("1999-12-31")),
    ("What is 2015-03-21 in the Persian calendar?", describe("2015-03-21", calendar="persian")),
    ("Give the Hebrew date of 14 May 1948.", describe("1948-05-14", calendar="hebrew")),
    ("Which Islamic date was 2000-01-01?", describe("2000-01-01", calendar="islamic")),
    ("What is 11 September 2007 in the Ethiopic calendar?",
     describe("2007-09-11", calendar="ethiopic")),
    ("Convert 1989-01-08 to the Japanese calendar.", describe("1989-01-08", calendar="japanese")),
    ("What is 1957-03-22 in the Indian civil calendar?",
     describe("1957-03-22", calendar="indian-civil")),
    ("Which Gregorian date is day 1 of month 1 of the year 1400 in the Persian calendar?",
     to_gregorian("persian", 1400, 1, 1)),
    ("Which Gregorian date is the 10th of the 7th month of 5780 in the Hebrew calendar?",
     to_gregorian("hebrew", 5780, 7, 10)),
    ("When did month 9 of the Islamic year 1440 begin, as a Gregorian date?",
     to_gregorian("islamic", 1440, 9, 1)),
    ("Which Gregorian date is the 15th day of the 8th month of the Chinese lunar year 1995?",
     to_gregorian("chinese", 1995, 8, 15)),
    ("Which Gregorian date is day 5 of the leap month 4 of the Chinese lunar year 2020?",
     to_gregorian("chinese", 2020, 4, 5, leap_month=True)),
    ("Which Gregorian date is the 3rd day of the 3rd month of year 2 of the Japanese era Reiwa?",
     to_gregorian("japanese", 2, 3, 3, era="Reiwa")),
    ("Which Gregorian date is day 29 of month 4 of the Coptic year 1717?",
     to_gregorian("coptic", 1717, 4, 29)),
    ("What date is the third Monday of January 2006?", nth_weekday(3, "Monday", 2006, month=1)),
    ("What date is the last Friday of May 1998?", nth_weekday(-1, "Friday", 1998, month=5)),
    ("What date is the first Sunday of 2017?", nth_weekday(1, "Sunday", 2017)),
    ("What date is the 40th Thursday of the year 2010?", nth_weekday(40, "Thursday", 2010)),
    ("What date is the second to last Tuesday of November 2021?",
     nth_weekday(-2, "Tuesday", 2021, month=11)),
    ("What date is the fourth Thursday of November 1985?",
     nth_weekday(4, "Thursday", 1985, month=11)),
    ("What date is 100 days after 2001-09-11?", add("2001-09-11", 100, "days")),
    ("What date is 45 days before 1995-03-01?", add("1995-03-01", -45, "days")),
    ("What date is 18 months after 31 August 2004?", add("2004-08-31", 18, "months")),
    ("What date is 25 years after 1964-02-29?", add("1964-02-29", 25, "years")),
    ("What date is 14 months after 1987-10-19?", add("1987-10-19", 14, "months")),
    ("How many days are there from 1914-07-28 to 1918-11-11?",
     difference("1914-07-28", "1918-11-11")),
    ("How many days lie between 1 January 2000 and 1 January 2001?",
     difference("2000-01-01", "2001-01-01")),
    ("How many days after 1969-07-16 was 1969-07-24?", difference("1969-07-16", "1969-07-24")),
    ("How many days passed from 3 March 1992 to 5 May 1993?",
     difference("1992-03-03", "1993-05-05")),
    ("Count the days from 2012-02-28 to 2012-03-01.", difference("2012-02-28", "2012-03-01")),
    ("When was Easter Sunday in 1997?", named_day("easter", "Easter Sunday", 1997)),
    ("When was Good Friday in 2008?", named_day("easter", "Good Friday", 2008)),
    ("On which date did Pentecost fall in 1983?", named_day("easter", "Pentecost", 1983)),
    ("When was the solar term Dongzhi, the winter solstice, in 2010?",
     named_day("solar-terms", "Dongzhi", 2010)),
    ("When was the solar term Qingming in 2003?",
     named_day("solar-terms", "Qingming", 2003)),
)  # fmt: skip


ASK = "Answer by one call of the function calendars: "


async def call(client: httpx.AsyncClient, model: str, spec: Any, question: str) -> Arguments | str:
    """The arguments of the first call; a text where there is none that can be read."""
    tool = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    reply = await client.post(
        "chat/completions",
        json={
            "model": model,
            "messages": [{"role": "user", "content": f"{ASK}{question}"}],
            "tools": [{"type": "function", "function": tool}],
            "tool_choice": "required",
            "temperature": 0,
            "max_tokens": 200,
        },
    )
    message = reply.raise_for_status().json()["choices"][0]["message"]
    calls = message.get("tool_calls") or []
    text = calls[0]["function"]["arguments"] if calls else message.get("content") or ""
    try:
        arguments = json.loads(text)
    except ValueError:
        return str(text)
    return arguments if calls and isinstance(arguments, dict) else str(text)


async def main(url: str, model: str = "") -> None:
    tool = Calendars()
    valid, right = 0, 0
    async with httpx.AsyncClient(base_url=f"{url.rstrip('/')}/", timeout=600) as client:
        model = model or (await client.get("models")).json()["data"][0]["id"]
        for question, gold in QUESTIONS:
            arguments, output = await call(client, model, tool.spec, question), ""
            if isinstance(arguments, dict):
                try:
                    output = (await tool.run(arguments)).output
                    valid += 1
                except ToolError as exc:
                    output = f"Error: {exc}"
            # what was asked for: of a description with a calendar, the line on the calendar
            expected = (await tool.run(gold)).output.split("\n")
            is_right = expected["calendar" in gold and len(expected) > 1] in output
            right += is_right
            if not is_right:
                print(f"{question} {json.dumps(arguments)} -> {output[:120]}", file=sys.stderr)
    for name, count in (("valid", valid), ("right", right)):
        low, high = wilson(count / len(QUESTIONS), len(QUESTIONS))
        print(f"{model}: {count} of {len(QUESTIONS)} calls {name} [{low:.3f}, {high:.3f}]")
    print(f"specification: {len(json.dumps(tool.spec.model_dump()))} letters")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
