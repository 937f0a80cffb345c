"""Strategies: what is sent first, and what follows each reply.

A new one is a function from StrategyParts to a Strategy and its line in STRATEGIES, or a plug-in;
one that only some questions can be asked by is in `strategies` of their Task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent_env.errors import ConfigError, suggestion
from agent_env.protocols import Answer, CallTool, RunTools, Say, Strategy
from agent_env.records.schema import Condition, Message, Sample
from agent_env.registry import NO_PLUGINS, Plugins, Registry, callable_only
from agent_env.tasks.answer_forms import LAST, AnswerForm
from agent_env.tasks.task import Prompt, StrategyMaker, StrategyParts
from agent_env.tasks.tool_registry import web_tools

ANSWER_NOW = Message(
    role="user",
    content="The web is closed now. Work with what you have found and give your final answer.",
)
PLEASE_ANSWER = Message(
    role="user",
    content="Your last message was empty. Please go on, or give your final answer.",
)
THINK = """

Think aloud before you answer. Take the conditions one at a time and write, in words of your own, \
what each leaves over; say where you are unsure. Check what remains against every condition once \
more. Only then give the answer, in the form that was asked for."""


@dataclass(frozen=True, slots=True)
class ToolLoop:
    """Tools for as long as the model asks for them; a reply without a call is the answer.
    An empty reply is asked about once; a second one stands."""

    prompt: Prompt
    condition: Condition

    def start(self, sample: Sample) -> tuple[Message, ...]:
        return self.prompt(sample, self.condition)

    def next(self, messages: Sequence[Message]) -> RunTools | Say | Answer:
        return RunTools() if messages[-1].tool_calls else _after_text(messages)


@dataclass(frozen=True, slots=True)
class OneRound:
    """One round of web calls, then the web is withdrawn: the one-off retrieval of the
    Time Puzzles paper (section 3.3), for any model. Other tools stay."""

    prompt: Prompt
    condition: Condition
    web: frozenset[str]

    def start(self, sample: Sample) -> tuple[Message, ...]:
        return self.prompt(sample, self.condition)

    def next(self, messages: Sequence[Message]) -> RunTools | Say | Answer:
        reply = messages[-1]
        if not reply.tool_calls:
            return _after_text(messages)
        if not any(call.name in self.web for call in reply.tool_calls):
            return RunTools()
        first = not any(m == ANSWER_NOW for m in messages)
        return RunTools(note=ANSWER_NOW if first else None, withdraw=self.web)


@dataclass(frozen=True, slots=True)
class SchemaAnswer:
    """A strategy whose answer comes in a form that the server enforces."""

    inner: Strategy
    form: AnswerForm
    is_asked: bool
    """Whether the answer is a reply of its own, which `LAST` asks for."""

    def start(self, sample: Sample) -> tuple[Message, ...]:
        messages = list(self.inner.start(sample))
        at = max(n for n, message in enumerate(messages) if message.role == "user")
        content = messages[at].content + self.form.note
        messages[at] = messages[at].model_copy(update={"content": content})
        return tuple(messages)

    def next(self, messages: Sequence[Message]) -> RunTools | CallTool | Say | Answer:
        turn = self.inner.next(messages)
        if not isinstance(turn, Answer):
            return turn
        if self.is_asked and LAST not in messages:
            return Say(LAST)
        text = self.form.read(turn.text)
        return turn if text is None else Answer(text)


def _after_text(messages: Sequence[Message]) -> Say | Answer:
    text = messages[-1].content
    return Answer(text) if text.strip() or PLEASE_ANSWER in messages else Say(PLEASE_ANSWER)


def _tool_loop(parts: StrategyParts) -> Strategy:
    """Tools for as long as the model asks for them; a reply without a call is the answer."""
    return ToolLoop(parts.prompt, parts.condition)


def _one_round(parts: StrategyParts) -> Strategy:
    """One round of web calls, then the web is withdrawn."""
    return OneRound(parts.prompt, parts.condition, web_tools(parts.condition))


def _cot(parts: StrategyParts) -> Strategy:
    """The tool loop, with the wish to think aloud at the end of the question."""

    def prompt(sample: Sample, condition: Condition) -> tuple[Message, ...]:
        *before, last = parts.prompt(sample, condition)
        return (*before, last.model_copy(update={"content": last.content + THINK}))

    return ToolLoop(prompt, parts.condition)


def _few_shot(parts: StrategyParts) -> Strategy:
    """The tool loop, with worked examples as turns between the system text and the question."""
    examples = parts.examples
    if examples is None:
        raise ConfigError("strategy few-shot: this task has no worked examples")

    def prompt(sample: Sample, condition: Condition) -> tuple[Message, ...]:
        messages = parts.prompt(sample, condition)
        system = tuple(message for message in messages if message.role == "system")
        question = tuple(message for message in messages if message.role != "system")
        return (*system, *examples(sample, condition), *question)

    return ToolLoop(prompt, parts.condition)


STRATEGIES: Registry[StrategyMaker] = Registry(
    "strategy",
    "strategies",
    "a function of StrategyParts",
    callable_only,
    lambda: {
        "tool-loop": f"{__name__}:_tool_loop",
        "one-round": f"{__name__}:_one_round",
        "cot": f"{__name__}:_cot",
        "few-shot": f"{__name__}:_few_shot",
    },
)


def make_strategy(
    condition: Condition,
    prompt: Prompt,
    examples: Prompt | None = None,
    of_task: Mapping[str, StrategyMaker] | None = None,
    plugins: Plugins = NO_PLUGINS,
) -> Strategy:
    """The strategy that the condition names: one of every task, or of this one alone, or a
    plug-in."""
    name, makers = condition.strategy, of_task or {}
    if name not in makers and ":" not in name and name not in STRATEGIES.built_in():
        known = dict.fromkeys([*STRATEGIES.names(), *makers])
        if name not in known:
            raise ConfigError(f"unknown strategy '{name}'; {suggestion(name, known)}")
    maker = makers[name] if name in makers else plugins.find(STRATEGIES, name)
    return maker(StrategyParts(prompt, condition, examples)) or ToolLoop(prompt, condition)
