"""The twelve prompts, and where the events are under each condition."""

import json
import re

from agent_env.families.traveler.family import make_task, python_events, table_of
from agent_env.families.traveler.wording import CONFIGURATIONS
from agent_env.tasks.conditions import parse_condition
from tests.questions import questions

MADE, _ = questions("traveler", 6, sizes=(5,))
SAMPLE = MADE.samples[0]


def prompt(name, condition="base", sample=SAMPLE):
    (message,) = make_task(name, MADE.tables_by_digest).prompt(sample, parse_condition(condition))
    return message.content


def listed(name):
    """The events of a prompt in JSON."""
    text = prompt(name)
    return json.loads(text[text.index("[\n") : text.index("]\n") + 1])


def test_events_go_to_prompts_or_tools_and_gold_to_none():
    for name in CONFIGURATIONS:
        text = prompt(name)
        question = f"Question: {SAMPLE.question}\n"
        for part in ("It is now 2023-09-29 22:30", "(UTC)", question, "MY ANSWER:"):
            assert part in text
        assert len(re.findall(r"^(?:On [A-Z]|\{\"event\")", text, re.M)) == 5
    text = prompt("zero-shot+date-only+language")
    at, place = r"^On [A-Z]\w+ \d+, 2023 at \d\d:\d\d", r"in the (?:kitchen|living room)\.$"
    assert re.search(rf"{at}, (?:Mary|Tom|Robot) \w+ .+ {place}", text, re.M)
    (first, *_) = listed("zero-shot+date-only+json")
    assert first.keys() == {"event", "subject", "location", "date", "time"}
    now = "It is now 2023-09-29 22:30 (Friday, calendar week 39) (UTC)"
    assert now in prompt("zero-shot+date-extended+language")
    for event in listed("zero-shot+date-extended+json"):
        assert {"weekday", "calendar_week"} <= event.keys()
    for condition, where in (("events", "query_events"), ("python", "`events`")):
        text = prompt("default", condition)
        assert where in text
        assert "On September" not in text
        assert "5 of them" in text
    assert "On September" in prompt("default", "cal")
    found = {}
    exec(python_events(SAMPLE, table_of(SAMPLE, MADE.tables_by_digest)), found)
    events, now = found["events"], found["now"]
    assert len(events) == 5
    assert all(event["time"] < now for event in events)
    assert events[0].keys() == {"event", "subject", "location", "time"}
    vague = next(sample for sample in MADE.samples if sample.chances)
    for condition in ("base", "events", "python"):
        text = prompt("default", condition, vague)
        assert not [p for some in vague.chances.values() for p in some if str(p) in text]
