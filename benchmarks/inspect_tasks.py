"""CPU of a step in Inspect (`inspect eval agent_env/time_puzzles`) and in our own run, with a model
that replies at once: `python benchmarks/inspect_tasks.py [SAMPLES [STEPS]]`."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import inspect_ai
from inspect_ai import Task, task_with
from inspect_ai.model import ModelOutput, execute_tools, get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import Tool, tool

import agent_env as ae
from agent_env.features.interop.inspect_chat import to_inspect, to_usage
from agent_env.features.interop.inspect_tasks import TASKS
from agent_env.records.schema import Usage
from agent_env.testing.fakes import calls

CALL = '{"calendar": "hebrew", "date": "2024-01-01"}'
CONDITION = "explicit+cal"


def reply(messages: Any, tools: Any, options: Any) -> Any:
    usage = Usage(input_tokens=100, output_tokens=20)
    return calls(("calendars", CALL), usage=usage, first_id=len(messages))


def output(messages: Any, tools: Any, choice: Any, config: Any) -> ModelOutput:
    ours = reply(messages, tools, None)
    theirs = ModelOutput.from_message(to_inspect(ours.message, "instant"), "tool_calls")
    return theirs.model_copy(update={"usage": to_usage(ours.usage)})


def own_run(samples: int, steps: int, folder: Path) -> None:
    ae.run_sync(
        "time-puzzles", model=reply, conditions=CONDITION, limit=samples, steps=steps,
        tool_calls=1000, out=folder / f"run-{samples}-{steps}", progress=False,
    )  # fmt: skip


def in_inspect(samples: int, steps: int, folder: Path) -> None:
    _evaluate(TASKS["time-puzzles"](
        condition=CONDITION, count=samples, steps=steps, tool_calls=1000
    ), folder)  # fmt: skip


def inspect_alone(samples: int, steps: int, folder: Path) -> None:
    """As many model and tool calls of Inspect's own, without our loop, trace and scorer."""
    task = TASKS["time-puzzles"](condition=CONDITION, count=samples)

    @solver
    def plain() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            for _ in range(steps):
                state.output = await get_model().generate(state.messages, [calendars()])
                state.messages.append(state.output.message)
                state.messages += (await execute_tools(state.messages, [calendars()])).messages
            return state

        return solve

    _evaluate(task_with(task, solver=plain(), scorer=None), folder)


@tool
def calendars() -> Tool:
    async def execute(calendar: str, date: str) -> str:
        """Converts a date.

        Args:
            calendar: Such as hebrew.
            date: YYYY-MM-DD.
        """
        return "20 Tevet 5784, as the Hebrew calendar has it"

    return execute


def _evaluate(task: Task, folder: Path) -> None:
    model = get_model("mockllm/instant", custom_outputs=output, memoize=False)
    logs = inspect_ai.eval(task, model=model, log_dir=str(folder / "logs"), display="none")
    assert logs[0].status == "success"


def main() -> None:
    samples, steps = (int(text) for text in (*sys.argv[1:], *("40", "20")[len(sys.argv) - 1 :]))
    with tempfile.TemporaryDirectory() as name:
        for what in (own_run, inspect_alone, in_inspect):
            what(2, 2, Path(name))  # imports
            cpu = []
            for few in (2, steps):
                began = time.process_time()
                what(samples, few, Path(name))
                cpu.append(time.process_time() - began)
            per_step = (cpu[1] - cpu[0]) / (samples * (steps - 2))
            print(f"{what.__name__}: {per_step * 1000:.1f} ms of CPU a step, {cpu[1]:.1f} s in all")


if __name__ == "__main__":
    main()
