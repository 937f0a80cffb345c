"""Questions and prompts in words."""

from __future__ import annotations

from agent_env.families.traveler.configurations import (
    MANNERS,
    Configuration,
    events_text,
    now_text,
)
from agent_env.families.traveler.sample import Template, TravelerSample
from agent_env.families.traveler.vocabulary import Vocabulary
from agent_env.records.schema import Condition, MaterialTable

VAGUE_PHRASES = {"recently": "recently", "some time ago": "some time ago",
                 "long time ago": "a long time ago"}  # fmt: skip
"""At the end of a question; `just` precedes the verb."""

FORMS: dict[str, str] = {
    "who": "the name of everybody who did, separated by commas, or nobody",
    "did": "yes or no",
    "how-often": "a whole number in digits",
    "when": "the date as YYYY-MM-DD, or never if it did not happen",
}
NOTES = {
    "weekday": "Here the last one of a weekday is the latest one before today. ",
    "last-week": "Weeks run from Monday to Sunday. ",
}
LISTED = "These events happened before now:\n\n{events}\n\n"
ASK_TOOL = (
    "The events that happened before now, {size} of them, are not shown here; look them up with "
    "the tool query_events.\n\n"
)
IN_PYTHON = (
    "The events that happened before now, {size} of them, are not shown here; in the Python "
    "session the variable `events` is a list of dictionaries with the keys event, subject, "
    "location and time (a datetime with its zone), and `now` is the present moment.\n\n"
)
PROMPT = """\
It is now {now}. All dates and times are local in this zone.

{events}{manner}Question: {question}

{note}{form}"""
LAST_LINE = (
    "Finish with one last line that holds nothing but your answer: MY ANSWER: followed by {form}."
)


def question_text(
    vocabulary: Vocabulary,
    template: Template,
    event: str,
    location: str,
    subject: str | None,
    expression: str,
) -> str:
    """The question; `expression` is an adverbial, a period's text, or `none`."""
    what, where = vocabulary.event(event), vocabulary.location(location).where
    just = "just " if expression == "just" else ""
    late = VAGUE_PHRASES.get(expression, "" if expression in ("just", "none") else expression)
    end = f"{where} {late}".rstrip()
    if template == "who":
        return f"Who {just}{what.did} {end}?"
    if template == "did":
        return f"Did {subject} {just}{what.do} {end}?"
    if template == "how-often":
        return f"How often did {subject} {just}{what.do} {end}?"
    return f"When was the last time {subject} {what.did} {end}?"


def fields(
    sample: TravelerSample, condition: Condition, table: MaterialTable, configuration: Configuration
) -> dict[str, str]:
    """The prompt's placeholders: `now`, `events`, `manner`, `question`, `note`, `form`."""
    return {
        "now": now_text(sample.now, sample.zone, configuration),
        "events": _events(sample, condition, table, configuration),
        "manner": MANNERS[configuration.manner],
        "question": sample.question,
        "note": NOTES.get(sample.expression, ""),
        "form": LAST_LINE.format(form=FORMS[sample.template]),
    }


def _events(
    sample: TravelerSample, condition: Condition, table: MaterialTable, configuration: Configuration
) -> str:
    """The list itself, or, where tools hold it, how to get it."""
    hint = ASK_TOOL if "query_events" in condition.tools else ""
    hint += IN_PYTHON if "python" in condition.tools else ""
    if hint:
        return hint.format(size=sample.size)
    return LISTED.format(events=events_text(table, configuration))
