"""The loop: what ends an episode, what the model is told, what runs at the same time."""

import asyncio
import threading

import pytest

from agent_env.errors import ModelError
from agent_env.families.time_puzzles.task import make_task
from agent_env.graph.loop import AgentLoop, EpisodeState, Outcome, near_end_notice
from agent_env.graph.strategies import ANSWER_NOW, make_strategy
from agent_env.protocols import Limits
from agent_env.records.schema import ToolResult, Usage
from agent_env.tasks.conditions import parse_condition
from agent_env.testing import FakeTool, ScriptedModel, answer, calls, puzzle
from agent_env.tools.toolbox import ToolSet

ECHO = FakeTool("web_search", lambda arguments: f"found {arguments['query']}")
SEARCH = ("web_search", '{"query": "a"}')
TOO_LONG = ModelError("the conversation is too long", status=400, kind="context_overflow")
SAID = "So far: MY ANSWER: 1982-04-02"


def cut(text, reason):
    return answer(text).model_copy(update={"finish_reason": reason})


def attempt(model, tools, limits, condition):
    strategy = make_strategy(parse_condition(condition), make_task().prompt)
    return EpisodeState(model=model, toolbox=ToolSet(tools), strategy=strategy, limits=limits)


def drive(*replies, tools=(ECHO,), condition="web", model=None, **limits):
    """The outcome, the state, and the model, of an episode with these replies."""
    model = model or ScriptedModel(replies)
    made = attempt(model, tools, Limits(**limits), condition)
    return asyncio.run(AgentLoop().run(puzzle(), made)), made, model


def outputs(made):
    return [message.content for message in made.messages if message.role == "tool"]


def notices(replies=9, **limits):
    """What is told of the replies that are left, each with the steps made before it."""
    _, made, _ = drive(*[calls(SEARCH)] * replies, answer("done"), **limits)
    roles = [message.role for message in made.messages]
    return [
        (roles[:at].count("assistant"), message.content.partition(":")[0].partition(",")[0])
        for at, message in enumerate(made.messages)
        if at and message.role == "user"
    ]


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        (5, [(3, "You have 2 replies left")]),
        (2, [(1, "This is your last reply")]),
        (1, []),
        (None, []),
    ],
)
def test_near_the_end_the_model_is_told_once_how_many_replies_are_left(steps, told):
    assert notices(steps=steps) == told
    assert notices(replies=2, steps=5) == []  # an answer before the end


def test_the_notice_stands_behind_the_results_where_the_next_call_reads_it():
    _, _, model = drive(calls(SEARCH), answer("done"), steps=3)
    sent, _ = model.requests[1]
    assert [message.role for message in sent[-3:]] == ["assistant", "tool", "user"]
    assert sent[-1] == near_end_notice(2)
    assert "the last of them must be your final answer" in sent[-1].content


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (answer("MY ANSWER: None"), Outcome("MY ANSWER: None", "answered", ())),
        (TOO_LONG, Outcome(None, "context", ())),
        (cut("MY ANS", "length"), Outcome("MY ANS", "truncated", ())),
        (cut("I cannot", "refused"), Outcome("I cannot", "refused", ())),
    ],
)
def test_a_reply_without_calls_ends_the_episode(reply, outcome):
    assert drive(reply)[0] == outcome


def test_a_paused_reply_goes_back_as_it_came_until_the_limits():
    paused = cut("I search.", "paused")
    outcome, made, model = drive(paused, cut("", "paused"), answer("MY ANSWER: 1"))
    assert outcome == Outcome("MY ANSWER: 1", "answered", ())
    assert [message.role for message in made.messages[-3:]] == ["assistant"] * 3
    assert [sent[-1] for sent, _ in model.requests[1:]] == made.messages[-3:-1]
    outcome, made, _ = drive(*[paused] * 9, steps=3)
    assert (outcome.stop_reason, made.meter.steps) == ("steps", 3)


def test_results_come_in_the_order_of_the_calls_and_unknown_tools_are_told():
    _, made, _ = drive(calls(SEARCH, ("web_search", '{"query": "b"}')), answer("done"))
    assert outputs(made) == ["found a", "found b"]
    _, made, _ = drive(calls(("browse", "{}")), answer("done"))
    told = "Error: there is no tool 'browse' here; tools you can call: web_search"
    assert outputs(made) == [told]


def test_calls_of_one_step_run_at_the_same_time():
    """Each waits until all ten have begun, which one after the other never could."""
    together = asyncio.Barrier(10)

    class Meeting(FakeTool):
        async def run(self, arguments):
            async with asyncio.timeout(60):
                await together.wait()
            return ToolResult(output="met")

    _, made, _ = drive(calls(*[SEARCH] * 10), answer("done"), tools=[Meeting("web_search", str)])
    assert outputs(made) == ["met"] * 10


@pytest.mark.parametrize("arguments", ["{", "[]", "null", '"x"', "[" * 100_000])
def test_arguments_that_are_no_object_are_answered_with_what_to_send(arguments):
    outcome, made, _ = drive(calls(("web_search", arguments)), answer("done"))
    assert outputs(made)[0].startswith("Error: the arguments ")
    assert outcome.stop_reason == "answered"


def test_the_last_text_that_stood_is_the_answer_at_the_end_of_steps_or_context():
    asking = calls(SEARCH)
    message = asking.message.model_copy(update={"content": SAID})
    saying = asking.model_copy(update={"message": message})
    outcome, made, _ = drive(*[saying] * 9, steps=3)
    assert (outcome, made.meter.steps) == (Outcome(SAID, "steps", ()), 3)
    assert drive(saying, TOO_LONG)[0] == Outcome(SAID, "context", ())


def test_the_limits_of_calls_and_tokens_end_an_episode():
    outcome, made, _ = drive(*[calls(*[SEARCH] * 3)] * 9, tool_calls=5)
    assert (outcome.stop_reason, made.meter.tool_calls) == ("tool_calls", 5)
    usage = Usage(input_tokens=60, output_tokens=50, source="provider")
    outcome, made, _ = drive(*[calls(SEARCH, usage=usage)] * 9, tokens=200)
    assert (outcome.stop_reason, made.meter.steps) == ("tokens", 2)
    ran = []
    tool = FakeTool("web_search", lambda arguments: str(ran.append(arguments)))
    outcome, made, _ = drive(*[calls(SEARCH)] * 9, tools=[tool], steps=3)
    assert (outcome.stop_reason, len(ran), made.meter.tool_calls) == ("steps", 2, 2)


def test_the_time_limit_ends_a_model_or_a_tool_that_does_not_return():
    async def stuck(*arguments):
        await asyncio.sleep(60)
        raise AssertionError

    silent, tool = ScriptedModel([]), FakeTool("web_search", str)
    silent.generate = tool.run = stuck
    assert drive(model=silent, time_s=0.1)[0] == Outcome(None, "time", ())
    assert drive(calls(SEARCH), tools=[tool], time_s=0.1)[0].stop_reason == "time"


def test_one_round_withdraws_the_web():
    search, other = calls(SEARCH), FakeTool("calendars", lambda arguments: "fine")
    replies = search, search, answer("MY ANSWER: None")
    outcome, made, model = drive(*replies, tools=[ECHO, other], condition="web-once+cal")
    offered = [tools for _, tools in model.requests]
    assert offered == [("web_search", "calendars"), ("calendars",), ("calendars",)]
    assert made.messages.count(ANSWER_NOW) == 1
    assert outcome.stop_reason == "answered"
    assert outputs(made)[-1].startswith("Error: there is no tool 'web_search' here")


def test_the_failure_of_one_call_is_raised():
    class Broken(FakeTool):
        async def run(self, arguments):
            raise ModelError("gone")

    with pytest.raises(ModelError, match="gone"):
        drive(calls(SEARCH, SEARCH), tools=[Broken("web_search", str)])


def test_no_step_goes_through_a_thread():
    """LangGraph runs a plain function of an edge in one, which costs more than the step."""
    before = threading.active_count()
    running = []

    def count(arguments):
        running.append(threading.active_count() - before)
        return "counted"

    again, later = calls(SEARCH), calls(SEARCH, first_id=2)
    drive(again, later, answer("done"), tools=[FakeTool("web_search", count)])
    assert running == [0, 0]
