"""Recognises a question on timed facts by the words of its prompt; knows nothing of the family."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent_env.records.schema import Message

_QUESTION = re.compile(r"(?:^|\n)Question: (.+)")
_CONTEXT = re.compile(r"(?:^|\n)Context:\n(.*?)(?:\n\n|\Z)", re.S)
_ANSWER = "`Answer:`"
PROGRAM = "Write one Python program"
EXTRACTION = '{"facts": [{"object"'


@dataclass(frozen=True, slots=True)
class Asked:
    """The question as the last message that holds one puts it."""

    prompt: str
    question: str
    context: str


def read_asked(messages: Sequence[Message]) -> Asked | None:
    """The question on timed facts; None where the prompt is about something else."""
    for message in reversed(messages):
        if message.role != "user" or (found := _QUESTION.search(message.content)) is None:
            continue
        text = message.content
        if not any(mark in text for mark in (_ANSWER, PROGRAM, EXTRACTION)):
            return None
        context = _CONTEXT.search(text)
        return Asked(text, found[1].strip(), context[1] if context else "")
    return None
