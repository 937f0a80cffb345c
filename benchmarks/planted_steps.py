"""A scripted model whose steps are known: it makes so many calls, may go wrong at one of them, and
answers right with known chances. With one episode at a time its draws are the same in each run."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import agent_env as ae

GOOD, BAD = "2000-01-01", "1999-01-01"
"""Dates that it looks up before and after it went wrong."""


@dataclass(frozen=True)
class PlantedSteps:
    """Calls `calendars` in each of its steps but the last, which is the answer."""

    golds: Mapping[str, Sequence[str]]
    """By a text that stands in the question."""
    steps: int = 6
    culprit: int | None = None
    """The step at which it may go wrong."""
    slip: float = 0.5
    """Chance of that."""
    right: float = 0.9
    """Chance of a right answer where it did not."""
    right_after_slip: float = 0.05
    settled_at: int = 1
    """The step before which it cannot know the answer."""
    rng: random.Random = field(default_factory=lambda: random.Random(1))

    def __call__(
        self, messages: Sequence[ae.Message], tools: Sequence[ae.ToolSpec], options: object
    ) -> ae.Reply | str:
        step, is_bad = sum(len(m.tool_calls) for m in messages) + 1, self.slipped(messages)
        if not tools or step >= self.steps:
            return self._answer(messages, is_bad, step)
        is_bad = is_bad or (step == self.culprit and self.rng.random() < self.slip)
        arguments = json.dumps({"operation": "describe", "date": BAD if is_bad else GOOD})
        call = ae.ToolCall(id=f"call_{step}", name="calendars", arguments=arguments)
        message = ae.Message(role="assistant", content="I look.", tool_calls=(call,))
        usage = ae.Usage(input_tokens=100 * step, output_tokens=10, source="estimate")
        return ae.Reply(message=message, finish_reason="tool_calls", usage=usage)

    def slipped(self, messages: Sequence[ae.Message]) -> bool:
        """Whether it went wrong."""
        return any(BAD in call.arguments for m in messages for call in m.tool_calls)

    def _answer(self, messages: Sequence[ae.Message], is_bad: bool, step: int) -> ae.Reply:
        question = "\n".join(m.content for m in messages if m.role == "user")
        gold = next((dates for text, dates in self.golds.items() if text in question), ())
        chance = self.right_after_slip if is_bad else self.right
        is_right = step >= self.settled_at and self.rng.random() < chance
        text = f"MY ANSWER: {', '.join(gold) if is_right else '1801-01-01'}"
        usage = ae.Usage(input_tokens=100 * step, output_tokens=10, source="estimate")
        return ae.Reply(
            message=ae.Message(role="assistant", content=text), finish_reason="stop", usage=usage
        )
