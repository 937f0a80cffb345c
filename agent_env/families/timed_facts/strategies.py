"""Extraction, then execution: what follows a model's extraction or program. Pure.

The fixed solver needs no sandbox: the extraction is data, read and solved here. A program of the
model's is run by the interpreter of the condition (`ci`), as a call of the strategy's own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent_env.errors import ConfigError
from agent_env.families.timed_facts.extraction import Unextracted, read_extraction
from agent_env.families.timed_facts.solver import solve
from agent_env.protocols import Answer, CallTool, RunTools, Say, Strategy
from agent_env.records.schema import Condition, Message, Sample, ToolCall, ToolResult
from agent_env.tasks.task import Prompt, StrategyParts

ONE_SHOT = "-1shot"
"""Ends the name of a strategy with one worked example."""
NO_EXTRACTION = "No extraction ("
"""How the answer begins where none could be read; the trouble's name follows."""
NO_PROGRAM = "No program ("
REPAIR = "That could not be used: "
"""How the one request to mend a reply begins."""
_BLOCK = re.compile(r"```(?:python|py)?[ \t]*\n(.*?)```", re.S)
_TOLD = 600
"""Characters of an error that are told to the model."""


@dataclass(frozen=True, slots=True)
class ExtractRun:
    """The reply is an extraction; the fixed solver answers. One request to mend it."""

    prompt: Prompt
    condition: Condition

    def start(self, sample: Sample) -> tuple[Message, ...]:
        return self.prompt(sample, self.condition)

    def next(self, messages: Sequence[Message]) -> RunTools | CallTool | Say | Answer:
        reply = messages[-1]
        if reply.tool_calls:
            return RunTools()
        try:
            found = read_extraction(reply.content)
        except Unextracted as exc:
            wish = "Write the one JSON object in the form asked for, and nothing else."
            return _mend(messages, str(exc), wish, f"{NO_EXTRACTION}{exc})")
        solved = solve(found.facts, found.query)
        answers = json.dumps(solved.answers, ensure_ascii=False)
        return Answer(f"Answer: {answers}\nSolver: closed months\n{solved.explained()}")


@dataclass(frozen=True, slots=True)
class CodeRun:
    """The reply is a program, in a block or as a call of `python`; what it prints is the answer.
    One request to mend it."""

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
        return _mend(messages, why, "Write one program.", f"{NO_PROGRAM}{why})")


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
    """The answer that the program printed, or a request to mend it."""
    if result.error is not None:
        trouble = f"error: {result.output[-_TOLD:]}"
        return _mend(messages, trouble, "Mend it.", f"{NO_PROGRAM}error: {result.error[:_TOLD]})")
    printed = result.output.strip()
    if printed in ("", "(no output)"):
        why = "empty: it printed nothing"
        return _mend(messages, why, "Print the answers.", f"{NO_PROGRAM}{why})")
    return Answer(f"Answer: {printed.splitlines()[-1]}\nSolver: the model's program")


def _mend(messages: Sequence[Message], why: str, wish: str, given_up: str) -> Say | Answer:
    """Ask once; the second time the episode ends without an answer."""
    if any(m.role == "user" and m.content.startswith(REPAIR) for m in messages):
        return Answer(given_up)
    return Say(Message(role="user", content=f"{REPAIR}{why}\n{wish}"))


def run_strategy(parts: StrategyParts) -> Strategy | None:
    """The strategy where it executes something; None for those that only word the question."""
    name, prompt, condition = parts.condition.strategy, parts.prompt, parts.condition
    plain = name.removesuffix(ONE_SHOT)
    if plain == "code-run":
        if "python" not in condition.tools:
            raise ConfigError(f"strategy {name} runs code: use a condition with ci")
        return CodeRun(prompt, condition)
    return ExtractRun(prompt, condition) if plain == "extract-run" else None
