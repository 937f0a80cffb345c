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


TOO_LONG = ModelError("the conversation is too long", status=400, kind="context_overflow")


def cut(text, reason):
    return answer(text).model_copy(update={"finish_reason": reason})


def attempt(model, tools, limits, condition):
    strategy = make_strategy(parse_condition(condition), make_task().prompt)
    return EpisodeState(model=model, toolbox=ToolSet(tools), strategy=strategy, limits=limits)


def drive(model, tools=None, limits=None, condition="web"):
    made = attempt(model, [ECHO] if tools is None else tools, limits or Limits(), condition)
    return asyncio.run(AgentLoop().run(puzzle(), made)), made


def notices(limits, replies=9):
    """What is told of the replies that are left, each with the steps made before it."""
    asking = calls(("web_search", '{"query": "a"}'))
    _, made = drive(ScriptedModel([asking] * replies + [answer("done")]), limits=limits)
    roles = [message.role for message in made.messages]
    return [
        (roles[:at].count("assistant"), message.content.partition(":")[0].partition(",")[0])
        for at, message in enumerate(made.messages)
        if at and message.role == "user"
    ]


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        (Limits(steps=5), [(3, "You have 2 replies left")]),
        (Limits(steps=2), [(1, "This is your last reply")]),
        (Limits(steps=1), []),
        (Limits(steps=None), []),
    ],
)
def test_near_the_end_the_model_is_told_once_how_many_replies_are_left(limits, told):
    assert notices(limits) == told
    assert notices(Limits(steps=5), replies=2) == []  # an answer before the end


def test_the_notice_stands_behind_the_results_where_the_next_call_reads_it():
    asking = calls(("web_search", '{"query": "a"}'))
    model = ScriptedModel([asking, answer("done")])
    drive(model, limits=Limits(steps=3))
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
    assert drive(ScriptedModel([reply]))[0] == outcome


def test_a_paused_reply_goes_back_as_it_came_until_the_limits():
    model = ScriptedModel([cut("I search.", "paused"), cut("", "paused"), answer("MY ANSWER: 1")])
    outcome, made = drive(model)
    assert outcome == Outcome("MY ANSWER: 1", "answered", ())
    assert [message.role for message in made.messages[-3:]] == ["assistant"] * 3
    assert [sent[-1] for sent, _ in model.requests[1:]] == made.messages[-3:-1]
    model = ScriptedModel([cut("I search.", "paused")] * 9)
    outcome, made = drive(model, limits=Limits(steps=3))
    assert (outcome.stop_reason, made.meter.steps) == ("steps", 3)


def test_results_come_in_the_order_of_the_calls_and_unknown_tools_are_told():
    first = calls(("web_search", '{"query": "a"}'), ("web_search", '{"query": "b"}'))
    _, made = drive(ScriptedModel([first, answer("done")]))
    assert [m.content for m in made.messages if m.role == "tool"] == ["found a", "found b"]
    _, made = drive(ScriptedModel([calls(("browse", "{}")), answer("done")]))
    assert made.messages[-2].content == (
        "Error: there is no tool 'browse' here; tools you can call: web_search"
    )


def test_calls_of_one_step_run_at_the_same_time():
    """Each waits until all ten have begun, which one after the other never could."""
    together = asyncio.Barrier(10)

    class Meeting(FakeTool):
        async def run(self, arguments):
            async with asyncio.timeout(60):
                await together.wait()
            return ToolResult(output="met")

    meeting = Meeting("web_search", str)
    ten = calls(*[("web_search", "{}")] * 10)
    _, made = drive(ScriptedModel([ten, answer("done")]), [meeting])
    assert [m.content for m in made.messages if m.role == "tool"] == ["met"] * 10


@pytest.mark.parametrize("arguments", ["{", "[]", "null", '"x"', "[" * 100_000])
def test_arguments_that_are_no_object_are_answered_with_what_to_send(arguments):
    outcome, made = drive(ScriptedModel([calls(("web_search", arguments)), answer("done")]))
    assert made.messages[-2].content.startswith("Error: the arguments ")
    assert outcome.stop_reason == "answered"


def test_the_last_text_that_stood_is_the_answer_at_the_end_of_steps_or_context():
    thinking = calls(("web_search", '{"query": "a"}'))
    said = thinking.message.model_copy(update={"content": "So far: MY ANSWER: 1982-04-02"})
    model = ScriptedModel([thinking.model_copy(update={"message": said})] * 9)
    outcome, made = drive(model, limits=Limits(steps=3))
    assert outcome == Outcome("So far: MY ANSWER: 1982-04-02", "steps", ())
    assert made.meter.steps == 3
    asking = calls(("web_search", '{"query": "a"}'))
    said = asking.message.model_copy(update={"content": "So far: MY ANSWER: 1982-04-02"})
    outcome, _ = drive(ScriptedModel([asking.model_copy(update={"message": said}), TOO_LONG]))
    assert outcome == Outcome("So far: MY ANSWER: 1982-04-02", "context", ())


def test_the_limits_of_calls_and_tokens_end_an_episode():
    three = calls(*[("web_search", '{"query": "a"}')] * 3)
    outcome, made = drive(ScriptedModel([three] * 9), limits=Limits(tool_calls=5))
    assert (outcome.stop_reason, made.meter.tool_calls) == ("tool_calls", 5)
    usage = Usage(input_tokens=60, output_tokens=50, source="provider")
    model = ScriptedModel([calls(("web_search", '{"query": "a"}'), usage=usage)] * 9)
    outcome, made = drive(model, limits=Limits(tokens=200))
    assert (outcome.stop_reason, made.meter.steps) == ("tokens", 2)
    ran = []
    tool = FakeTool("web_search", lambda arguments: str(ran.append(arguments)))
    asking = calls(("web_search", '{"query": "a"}'))
    outcome, made = drive(ScriptedModel([asking] * 9), [tool], Limits(steps=3))
    assert (outcome.stop_reason, len(ran), made.meter.tool_calls) == ("steps", 2, 2)


def test_the_time_limit_ends_a_model_or_a_tool_that_does_not_return():
    class Silent(ScriptedModel):
        async def generate(self, messages, tools, options=0):
            await asyncio.sleep(60)
            raise AssertionError

    outcome, _ = drive(Silent([]), limits=Limits(time_s=0.1))
    assert outcome == Outcome(None, "time", ())

    class Stuck(FakeTool):
        async def run(self, arguments):
            await asyncio.sleep(60)
            raise AssertionError

    stuck = Stuck("web_search", str)
    model = ScriptedModel([calls(("web_search", "{}"))])
    outcome, _ = drive(model, [stuck], Limits(time_s=0.1))
    assert outcome.stop_reason == "time"


def test_one_round_withdraws_the_web_and_the_failure_of_one_call_is_raised():
    search = calls(("web_search", '{"query": "a"}'))
    model = ScriptedModel([search, search, answer("MY ANSWER: None")])
    other = FakeTool("calendars", lambda arguments: "fine")
    outcome, made = drive(model, [ECHO, other], condition="web-once+cal")
    assert [tools for _, tools in model.requests] == [
        ("web_search", "calendars"),
        ("calendars",),
        ("calendars",),
    ]
    assert made.messages.count(ANSWER_NOW) == 1
    assert outcome.stop_reason == "answered"
    assert made.messages[-2].content.startswith("Error: there is no tool 'web_search' here")

    class Broken(FakeTool):
        async def run(self, arguments):
            raise ModelError("gone")

    broken = Broken("web_search", str)
    with pytest.raises(ModelError, match="gone"):
        drive(ScriptedModel([calls(*[("web_search", "{}")] * 2)]), [broken])


def test_no_step_goes_through_a_thread():
    """LangGraph runs a plain function of an edge in one, which costs more than the step."""
    before = threading.active_count()
    running = []

    def count(arguments):
        running.append(threading.active_count() - before)
        return "counted"

    again = calls(("web_search", "{}"))
    later = calls(("web_search", "{}"), first_id=2)
    drive(ScriptedModel([again, later, answer("done")]), [FakeTool("web_search", count)])
    assert running == [0, 0]
