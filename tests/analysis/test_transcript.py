"""An episode in readable lines, with what its calls cost."""

from agent_env.analysis.transcript import transcript, verdict_lines
from agent_env.records.schema import (
    Condition,
    Message,
    ModelFacts,
    Score,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
)
from agent_env.records.trace_events import EpisodeStarted, ModelCalled, ToolCalled
from agent_env.testing import answer, calls, puzzle

COMMON = {"episode": "web/a.1", "seq": 0, "at": "2026-01-01T00:00:00Z"}


def started(first_step="required"):
    return EpisodeStarted(
        **COMMON, sample="a", repeat=1, model="compatible/x",
        condition=Condition(name="web", tools=("web_search",), first_step=first_step),
        messages=(Message(role="user", content="When?"),),
        tools=(ToolSpec(name="web_search", description="Finds.", parameters={}),),
    )  # fmt: skip


def said(**fields):
    return ModelCalled(**COMMON | {"request": "x", "latency_s": 0.0} | fields)


def called(arguments, output):
    call = ToolCall(id="call_1", name="web_search", arguments=arguments)
    done = {"call": call, "result": ToolResult(output=output), "duration_s": 0.0}
    return [said(reply=calls(("web_search", arguments))), ToolCalled(**COMMON | done)]


def shown(events, **how):
    return "\n".join(transcript(events, **how))


def test_it_begins_with_what_was_set_and_ends_with_the_score():
    parameters = {"temperature": 0.7, "seed": 3, "base_url": "http://127.0.0.1:1/v1"}
    assert shown([started()], parameters=parameters).split("\n")[:2] == [
        "== web/a.1 · compatible/x · tools: web_search",
        "== first step: required · tool protocol: native · sampling: temperature 0.7, seed 3",
    ]
    assert "== first step: auto · tool protocol: native · sampling: the server's defaults" in shown(
        [started("auto")], parameters={}
    )
    assert "tool protocol and sampling: not known without run.json" in shown([started()])
    score = Score(
        sample="a", condition="web", repeat=1, outcome="read", answer=("1982-04-02", "1982-04-09"),
        rule="dates after MY ANSWER:", metrics={"exact_match": 0.0, "f1": 2 / 3},
    )  # fmt: skip
    assert list(verdict_lines(puzzle(), score, None, None)) == [
        "== answer read: 1982-04-02, 1982-04-09 · rule: dates after MY ANSWER:",
        "== gold: 1982-04-02",
        "== score: exact_match 0 · f1 0.6667",
    ]
    score = Score(sample="a", condition="web", repeat=1, outcome="failed")
    assert list(verdict_lines(None, score, None, "run.json has no condition \x1b[1m")) == [
        "== answer read: nothing (failed) · rule: none",
        "== score: failed",
        "== no provenance: run.json has no condition \\u001b[1m",
    ]
    assert list(verdict_lines(None, None, None, "there is none")) == ["== no score: there is none"]


def test_arguments_and_tool_texts_stand_as_they_were():
    told = shown(called('{"code": "a = 1\\nprint(a)", "limit": 3}', ""))
    assert '  calls web_search {"limit": 3}\n  code:\na = 1\nprint(a)' in told
    assert "  calls web_search {'year': 1915" in shown(called("{'year': 1915", ""))
    events = [started(), *called('{"q": "x"}', "```py```"), said(reply=answer("1915"))]
    told = shown(events, parameters={"tool_protocol": "text"}, full=True)
    assert "[system] There are tools that you can use." in told
    assert '{"name": "web_search", "description": "Finds.", "parameters": {}}' in told
    assert "Your next message must hold at least one tool_call block." in told
    assert "````tool_result 1 web_search\n```py```\n````" in told
    assert "tool_result" not in shown(events, parameters={}, full=True)


SOME = Usage(input_tokens=1000, output_tokens=100, source="provider")


def line(**fields):
    rates = {"input_per_million": 1.0, "output_per_million": 10.0}
    facts = ModelFacts(**rates, date="2026-01-01", source="made up")
    return next(iter(transcript([said(latency_s=0.5, **fields)], facts=facts)))


def test_replies_have_their_cost_tokens_and_waits():
    assert line(reply=answer("x", SOME)) == (
        "-- model: 0.500 s, 1000 in, 100 out tokens (provider), 0.00200 USD"
    )
    assert line(error="busy", usage=SOME, wait_s=1.25) == (
        "-- model: 0.500 s, 1000 in, 100 out tokens (provider), 0.00200 USD"
        " · failed: busy · tried again after 1.2 s"
    )
    kept = answer("x", SOME).model_copy(update={"cached_at": "2026-01-01T00:00:00Z"})
    assert line(reply=kept) == (
        "-- model: 0.500 s, 1000 in, 100 out tokens (provider)"
        " · from the reply cache, first given 2026-01-01T00:00:00Z"
    )
