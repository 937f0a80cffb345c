"""Calls of a strategy's own: run like any other, counted, traced, and followed by what it says."""

import asyncio
import json

from agent_env.families.timed_facts.generating import TimedOptions
from agent_env.families.timed_facts.task import make_task
from agent_env.features.extraction.strategies import REPAIR
from agent_env.graph.loop import AgentLoop, EpisodeState
from agent_env.graph.strategies import make_strategy
from agent_env.protocols import Limits
from agent_env.records.schema import Condition, Message
from agent_env.testing import FakeTool, ScriptedModel, answer, calls
from agent_env.tools.toolbox import ToolSet
from tests.families.timed_facts.test_score import ASKED

PROGRAM = "Here:\n```python\nprint(1)\n```"


def drive(replies, outputs, strategy="code-run", **limits):
    ran, outputs = [], iter(outputs)

    def run(arguments):
        ran.append(str(arguments["code"]))
        return next(outputs)

    condition = Condition(name="python", tools=("python",), strategy=strategy)
    task = make_task("tempreason", "default", TimedOptions())
    made = EpisodeState(
        model=ScriptedModel(replies),
        toolbox=ToolSet([FakeTool("python", run)]),
        strategy=make_strategy(condition, task.prompt, of_task=task.strategies),
        limits=Limits(**limits),
    )
    return asyncio.run(AgentLoop().run(ASKED, made)), made, ran


def test_the_program_of_a_reply_or_a_call_is_run_and_what_it_prints_is_the_answer():
    outcome, made, ran = drive([answer(PROGRAM)], ['["A"]'])
    assert ran == ["print(1)\n"]
    assert outcome.answer == 'Answer: ["A"]\nSolver: the model\'s program'
    assert (outcome.stop_reason, made.meter.by_tool) == ("answered", {"python": 1})
    outcome, made, ran = drive([calls(("python", '{"code": "print(2)"}'))], ["none"])
    assert ran == ["print(2)"]
    assert outcome.answer == "Answer: none\nSolver: the model's program"
    assert made.messages[-1].role == "tool"


def test_a_missing_or_silent_program_may_be_mended_once_within_the_limits():
    outcome, made, _ = drive([answer(PROGRAM), answer(PROGRAM)], ["", ""])
    asked = [m.content.startswith(REPAIR) for m in made.messages if m.role == "user"]
    assert asked == [False, True]
    assert outcome.answer == "No program (empty: it printed nothing)"
    outcome, _, ran = drive([answer("A was it."), answer(PROGRAM)], ["A"])
    assert (outcome.answer, len(ran)) == ("Answer: A\nSolver: the model's program", 1)
    outcome, _, ran = drive([answer(PROGRAM)], [], tool_calls=0)
    assert (outcome.stop_reason, ran) == ("tool_calls", [])


def test_an_extraction_is_solved_and_a_bad_one_may_be_mended_once():
    rows = [{"object": name, "start": "2000", "end": "2002"} for name in "AAB"]
    good = json.dumps({"facts": rows, "relation": "in", "reference": "2001-01"})
    outcome, _, ran = drive([answer("It is A."), answer(good)], [], "extract-run")
    assert ran == []
    a, b = (f"{name} (January 2000 to December 2002)" for name in "AB")
    assert outcome.answer == (
        f'Answer: ["A", "B"]\nSolver: closed months\nMatched: {a}; {a}; {b}\nJust outside: nothing'
    )
    outcome, made, _ = drive([answer("It is A."), answer("def f(): 1")], [], "extract-run")
    assert outcome.answer.startswith("No extraction (code: ")
    assert isinstance(made.messages[-1], Message)
