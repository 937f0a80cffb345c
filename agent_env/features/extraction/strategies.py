"""Strategies and their prompts: reasoning in several orders, and those that execute a model's
extraction or program. Pure.

Question (Q), context (C), reasoning (R) and answer (A) are in the orders of the paper (section
4.2); the wording is ours. A family's field `form` gives the form of its answers. An extraction is
data, parsed and solved here by the fixed solver, without a sandbox. A program is run by the
condition's interpreter (`python`), as a tool call of the strategy.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from agent_env.features.extraction.extraction import ExtractionError, read_extraction
from agent_env.features.extraction.solver import Ties, solve
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.family import StrategyParts, Task
from agent_env.sdk.models import Answer, CallTool, RunTools, Say, Strategy
from agent_env.sdk.records import Condition, Message, Sample, ToolCall, ToolResult

ONE_SHOT = "-1shot"
"""Ends the name of a strategy with one worked example."""
NO_EXTRACTION = "No extraction ("
"""Start of the answer where there is none; the error's kind follows."""
NO_PROGRAM = "No program ("
REPAIR = "That could not be used: "
"""Start of the only request to repair a reply."""
_BLOCK = re.compile(r"```(?:python|py)?[ \t]*\n(.*?)```", re.S)
_LONGEST_ERROR = 600
"""Characters of an error that the model is shown."""


@dataclass(frozen=True, slots=True)
class ExtractRun:
    """The reply is an extraction, which the fixed solver answers; one repair request."""

    prompt: Callable[[Sample, Condition], tuple[Message, ...]]
    condition: Condition
    ties: Ties = "all"

    def start(self, sample: Sample) -> tuple[Message, ...]:
        return self.prompt(sample, self.condition)

    def next(self, messages: Sequence[Message]) -> RunTools | CallTool | Say | Answer:
        reply = messages[-1]
        if reply.tool_calls:
            return RunTools()
        try:
            return Answer(_solved(reply.content, self.ties))
        except ExtractionError as exc:
            instruction = "Write the one JSON object in the form asked for, and nothing else."
            return _repair_request(messages, str(exc), instruction, f"{NO_EXTRACTION}{exc})")


def executed(reply: str, ties: Ties = "all") -> str:
    """The answer of a reply to `extract-run` without a request to repair it."""
    try:
        return _solved(reply, ties)
    except ExtractionError as exc:
        return f"{NO_EXTRACTION}{exc})"


def _solved(reply: str, ties: Ties) -> str:
    extraction = read_extraction(reply)
    solution = solve(extraction.facts, extraction.query, ties=ties)
    answers = json.dumps(solution.answers, ensure_ascii=False)
    return f"Answer: {answers}\nSolver: closed months\n{solution.explanation()}"


@dataclass(frozen=True, slots=True)
class CodeRun:
    """The reply is a program, as a code block or a call of `python`; its output is the answer. One
    repair request."""

    prompt: Callable[[Sample, Condition], tuple[Message, ...]]
    condition: Condition

    def start(self, sample: Sample) -> tuple[Message, ...]:
        return self.prompt(sample, self.condition)

    def next(self, messages: Sequence[Message]) -> RunTools | CallTool | Say | Answer:
        call = _program(messages)
        if call is not None:
            return CallTool(call, lambda result: _after(messages, result))
        if messages[-1].tool_calls:
            return RunTools()
        why = "prose: there is no ```python block"
        return _repair_request(messages, why, "Write one program.", f"{NO_PROGRAM}{why})")


def _program(messages: Sequence[Message]) -> ToolCall | None:
    """The program of the last reply as a call."""
    reply = messages[-1]
    if reply.tool_calls:
        only = reply.tool_calls[0]
        return only if len(reply.tool_calls) == 1 and only.name == "python" else None
    blocks = _BLOCK.findall(reply.content)
    if not blocks:
        return None
    number = sum(message.role == "assistant" for message in messages)
    code = json.dumps({"code": blocks[-1]})
    return ToolCall(id=f"harness_{number}", name="python", arguments=code)


def _after(messages: Sequence[Message], result: ToolResult) -> Say | Answer:
    """The program's output as the answer, or a repair request."""
    if result.error is not None:
        trouble = f"error: {result.output[-_LONGEST_ERROR:]}"
        return _repair_request(
            messages, trouble, "Mend it.", f"{NO_PROGRAM}error: {result.error[:_LONGEST_ERROR]})"
        )
    printed = result.output.strip()
    if printed in ("", "(no output)"):
        why = "empty: it printed nothing"
        return _repair_request(messages, why, "Print the answers.", f"{NO_PROGRAM}{why})")
    return Answer(f"Answer: {printed.splitlines()[-1]}\nSolver: the model's program")


def _repair_request(
    messages: Sequence[Message], why: str, instruction: str, failure: str
) -> Say | Answer:
    """The repair request; after a second failure the end of the episode without an answer."""
    if any(m.role == "user" and m.content.startswith(REPAIR) for m in messages):
        return Answer(failure)
    return Say(Message(role="user", content=f"{REPAIR}{why}\n{instruction}"))


def run_strategy(parts: StrategyParts, ties: Ties = "all") -> Strategy | None:
    """The strategy if it executes something; None for a strategy of wording only."""
    name, prompt, condition = parts.condition.strategy, parts.prompt, parts.condition
    plain = name.removesuffix(ONE_SHOT)
    if plain == "code-run":
        if "python" not in condition.tools:
            raise ConfigError(f"strategy {name} runs code: use a condition with python")
        return CodeRun(prompt, condition)
    return ExtractRun(prompt, condition, ties) if plain == "extract-run" else None


FORM = "Give the answer as the context writes it, and no other words."

_TEXTS = tomllib.loads(Path(__file__).with_name("prompts.toml").read_text(encoding="utf-8"))
_EXTRACT: str = _TEXTS["extract"]
_EXTRACT_SHIFT: str = _TEXTS["extract_shift"]


@dataclass(frozen=True, slots=True)
class PromptOrder:
    """The order and the instruction of a prompt."""

    first: str
    """`question` or `context`."""
    instruction: str
    """At the end of the prompt; placeholder {form}."""
    example_answer: str
    """The answer of a worked example; placeholders are the example's fields."""
    shift_instruction: str | None = None
    """In place of `instruction` for a question of L1, which has no facts; None for the same."""


def _simulated(extract: str, program: str) -> str:
    """The instruction to extract, then to answer without running anything."""
    first = extract.replace("Do not answer the question. Take", "First take")
    return (
        f"{first.replace(' and nothing else', '')}\n\n"
        f"Then work out in your head what a program would give that {program}; nothing is run. "
        "{form}\nThe last line: `Answer:` and the answer."
    )


_REASON_FIRST = (
    "{form}\nFirst write `Reasoning:` and your reasoning, step by step; then one last line: "
    "`Answer:` and the answer."
)
_ANSWER_FIRST = (
    "{form}\nFirst write one line: `Answer:` and the answer; then `Reasoning:` and your "
    "reasoning, step by step."
)
_RA, _AR = "Reasoning: {reasoning}\nAnswer: {answer}", "Answer: {answer}\nReasoning: {reasoning}"

ORDERS = {
    "standard": PromptOrder(
        "context", "{form}\nWrite one line: `Answer:` and the answer.", "Answer: {answer}"
    ),
    "cot-qcra": PromptOrder("question", _REASON_FIRST, _RA),
    "cot-cqra": PromptOrder("context", _REASON_FIRST, _RA),
    "cot-qcar": PromptOrder("question", _ANSWER_FIRST, _AR),
    "cot-cqar": PromptOrder("context", _ANSWER_FIRST, _AR),
    "extract-run": PromptOrder("question", _EXTRACT, "{extraction}", _EXTRACT_SHIFT),
    "extract-simulate": PromptOrder(
        "question",
        _simulated(_EXTRACT, "compares these months, both ends counted"),
        "{extraction}\n\nAnswer: {answer}",
        _simulated(_EXTRACT_SHIFT, "counts these months"),
    ),
    "code-run": PromptOrder("question", _TEXTS["program"], "{program}", _TEXTS["program_shift"]),
}
"""By strategy; a name with the suffix -1shot has one worked example first."""

STRATEGY_NAMES = tuple(f"{name}{shot}" for name in ORDERS for shot in ("", ONE_SHOT))


def with_orders(task: Task, ties: Ties = "all") -> Task:
    """The task with these strategies; its fields must include `question` and `context`."""
    plain, fields = task.prompt, task.fields
    assert fields is not None
    strategies = dict.fromkeys(STRATEGY_NAMES, partial(run_strategy, ties=ties))

    def prompt(sample: Sample, condition: Condition) -> tuple[Message, ...]:
        if condition.strategy not in STRATEGY_NAMES:
            return plain(sample, condition)
        order = ORDERS[condition.strategy.removesuffix(ONE_SHOT)]
        own = Message(role="user", content=prompt_text(order, fields(sample, condition)))
        if not condition.strategy.endswith(ONE_SHOT):
            return (own,)
        # the family's first worked example, prompted and answered in the same order
        assert task.examples is not None  # checked before the run
        example = task.examples(sample, condition)[0]
        answer = order.example_answer
        for name, text in {**example.fields, "answer": example.answer}.items():
            answer = answer.replace(f"{{{name}}}", text)
        prompt = Message(role="user", content=prompt_text(order, example.fields))
        return (*(prompt, Message(role="assistant", content=answer)), own)

    return replace(task, prompt=prompt, strategies=strategies)


def prompt_text(order: PromptOrder, fields: Mapping[str, str]) -> str:
    """The message: question and context in order, then the instruction."""
    question = f"Question: {fields['question']}"
    context = f"Context:\n{fields['context']}" if fields["context"] else ""
    parts = [question, context] if order.first == "question" else [context, question]
    instruction = order.instruction
    if "shift" in fields and order.shift_instruction is not None:
        instruction = order.shift_instruction
    tie = f" {fields.get('tie', '')}".rstrip()
    instruction = instruction.replace("{form}", fields.get("form", FORM)).replace("{tie}", tie)
    return "\n\n".join(part for part in (*parts, instruction) if part)
