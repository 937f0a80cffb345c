"""The twelve prompts, and where the events are under each condition."""

import json
import re

from agent_env.families.traveler.family import make_task, python_events, table_of
from agent_env.families.traveler.generator import Options, make_samples
from agent_env.families.traveler.wording import CONFIGURATIONS
from agent_env.tasks.conditions import parse_condition
from agent_env.tasks.family import by_digest
from tests.families.traveler.sets import traveler_sample

MADE = make_samples(6, 1, Options(sizes=(5,)))
SAMPLE = traveler_sample(MADE.samples[0])


def task(name):
    return make_task(name, by_digest(MADE.tables))


def prompt(name, condition="base"):
    (message,) = task(name).prompt(SAMPLE, parse_condition(condition))
    return message.content


def test_events_go_to_prompts_or_tools_and_gold_to_none():
    for name in CONFIGURATIONS:
        text = prompt(name)
        assert "It is now 2023-09-29 22:30" in text
        assert "(UTC)" in text
        assert f"Question: {SAMPLE.question}\n" in text
        assert len(re.findall(r"^(?:On [A-Z]|\{\"event\")", text, re.M)) == 5
        assert "MY ANSWER:" in text
    assert re.search(
        r"^On [A-Z]\w+ \d+, 2023 at \d\d:\d\d, (?:Mary|Tom|Robot) \w+ .+ in the (?:kitchen|living "
        r"room)\.$",
        prompt("zero-shot+date-only+language"),
        re.M,
    )
    text = prompt("zero-shot+date-only+json")
    listed = json.loads(text[text.index("[\n") : text.index("]\n") + 1])
    assert listed[0].keys() == {"event", "subject", "location", "date", "time"}
    assert "It is now 2023-09-29 22:30 (Friday, calendar week 39) (UTC)" in prompt(
        "zero-shot+date-extended+language"
    )
    text = prompt("zero-shot+date-extended+json")
    for event in json.loads(text[text.index("[\n") : text.index("]\n") + 1]):
        assert {"weekday", "calendar_week"} <= event.keys()
    for condition, where in (("events", "query_events"), ("python", "`events`")):
        text = prompt("default", condition)
        assert where in text
        assert "On September" not in text
        assert "5 of them" in text
    assert "On September" in prompt("default", "cal")
    found = {}
    exec(python_events(SAMPLE, table_of(SAMPLE, by_digest(MADE.tables))), found)
    events, now = found["events"], found["now"]
    assert len(events) == 5
    assert all(event["time"] < now for event in events)
    assert events[0].keys() == {"event", "subject", "location", "time"}
    vague = traveler_sample(next(s for s in MADE.samples if traveler_sample(s).chances))
    for condition in ("base", "events", "python"):
        (message,) = task("default").prompt(vague, parse_condition(condition))
        for chances in vague.chances.values():
            assert not any(str(p) in message.content for p in chances)
