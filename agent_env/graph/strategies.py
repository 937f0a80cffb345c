"""Strategies: what is sent first, and what follows each reply."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent_env.errors import ConfigError
from agent_env.protocols import Answer, RunTools, Say, Strategy
from agent_env.schema import Condition, Message, Sample

Prompt = Callable[[Sample, Condition], tuple[Message, ...]]

ANSWER_NOW = Message(
    role="user",
    content="The web is closed now. Work with what you have found and give your final answer.",
)


@dataclass(frozen=True, slots=True)
class ToolLoop:
    """Tools for as long as the model asks for them; a reply without a call is the answer."""

    prompt: Prompt
    condition: Condition

    def start(self, sample: Sample) -> tuple[Message, ...]:
        return self.prompt(sample, self.condition)

    def next(self, messages: Sequence[Message]) -> RunTools | Say | Answer:
        reply = messages[-1]
        return RunTools() if reply.tool_calls else Answer(reply.content)


@dataclass(frozen=True, slots=True)
class OneRound:
    """One round of web calls, then the web is withdrawn: the one-off retrieval of the
    Time Puzzles paper (section 3.3), for any model. Other tools stay."""

    prompt: Prompt
    condition: Condition
    web: frozenset[str] = frozenset({"web_search", "open_page"})

    def start(self, sample: Sample) -> tuple[Message, ...]:
        return self.prompt(sample, self.condition)

    def next(self, messages: Sequence[Message]) -> RunTools | Say | Answer:
        reply = messages[-1]
        if not reply.tool_calls:
            return Answer(reply.content)
        if not any(call.name in self.web for call in reply.tool_calls):
            return RunTools()
        first = not any(m == ANSWER_NOW for m in messages)
        return RunTools(note=ANSWER_NOW if first else None, withdraw=self.web)


STRATEGIES: dict[str, type[ToolLoop] | type[OneRound]] = {
    "tool-loop": ToolLoop,
    "one-round": OneRound,
}


def make_strategy(condition: Condition, prompt: Prompt) -> Strategy:
    """The strategy that the condition names."""
    try:
        return STRATEGIES[condition.strategy](prompt, condition)
    except KeyError:
        known = ", ".join(STRATEGIES)
        raise ConfigError(f"unknown strategy '{condition.strategy}'; known: {known}") from None
