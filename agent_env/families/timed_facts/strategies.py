"""Strategies that execute a model's extraction or program. Pure.

An extraction is data, parsed and solved here by the fixed solver, without a sandbox. A program is
run by the condition's interpreter (`ci`), as a tool call of the strategy.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent_env.errors import ConfigError
from agent_env.families.timed_facts.extraction import ExtractionError, read_extraction
from agent_env.families.timed_facts.solver import Ties, solve
from agent_env.protocols import Answer, CallTool, RunTools, Say, Strategy
from agent_env.records.schema import Condition, Message, Sample, ToolCall, ToolResult
from agent_env.tasks.task import Prompt, StrategyParts

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

    prompt: Prompt
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

    prompt: Prompt
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
            raise ConfigError(f"strategy {name} runs code: use a condition with ci")
        return CodeRun(prompt, condition)
    return ExtractRun(prompt, condition, ties) if plain == "extract-run" else None
