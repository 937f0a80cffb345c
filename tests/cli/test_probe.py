"""Probing a server over a real socket, and the page of those that were probed."""

import asyncio

import pytest

from agent_env.episodes.calls import preflight, server_features
from agent_env.errors import ModelError
from agent_env.runs.servers.probe import ProbeOptions, probe_server
from tests.fake_server import FakeServer, ScriptedAnswer, tool_call
from tests.fake_server.conversation import Tokens
from tests.fake_server.modes import MODES
from tests.loops import in_loop
from tests.tables import tables


async def calling(turns, offers):
    """Calls every tool that it is offered."""
    calls = tuple(tool_call(offer.name, '{"city": "Oslo"}') for offer in offers)
    said = {"calls": calls} if offers else {"text": "seven"}
    return ScriptedAnswer(**said, usage=Tokens(input=30 + 100 * len(offers), output=5))


@in_loop
async def probed(server, **options):
    async with server:
        given = ProbeOptions(server.url, **options)
        return (await probe_server(given, print))[1]


def seen(record):
    return {feature.name: feature.is_seen for feature in record.features}


def test_a_server_that_calls_tools_and_whose_address_is_not_recorded():
    record = probed(FakeServer(calling), note="flags")
    assert "127.0.0.1" not in record.model_dump_json()
    assert seen(record) == {
        "usage": True, "ends by itself": True, "tools": True, "calls parsed": True,
        "required": True, "parallel calls": True, "streaming": True, "usage in streams": True,
        "calls in streams": True, "reasoning": None, "JSON schema": True, "logprobs": False,
        "seed": None, "stop sequences": True, "max_tokens": True, "cache writes told": None,
        "unknown fields": True, "schema beside tools": True, "user behind tool": True,
        "reasoning back": None, "other call ids": True,
    }  # fmt: skip
    assert (record.model, record.calls, record.api) == ("fake", 1 + 4 + 14, "chat")
    assert record.note == "flags"


async def shy(turns, offers):
    """Calls a tool that is offered alone, once; of two it calls none by itself."""
    if len(offers) == 1 and not any(turn.role == "tool" for turn in turns):
        return ScriptedAnswer(calls=(tool_call(offers[0].name, '{"city": "Oslo"}'),))
    return ScriptedAnswer(text="seven")


RULES = tables(__file__)["rules"]
BY_THE_WAY = ("calls in streams", "calls parsed", "seed", "logprobs", "parallel calls")
"""What follows from another rule, or from what the fake model says."""


@pytest.fixture(scope="module")
def lenient():
    return details(probed(FakeServer(shy, mode="lenient"), model="fake"))


def details(record):
    return {feature.name: [feature.is_seen, feature.detail] for feature in record.features}


def test_every_mode_has_its_rules_here():
    assert list(RULES) == list(MODES)


@pytest.mark.parametrize("mode", RULES)
def test_the_rules_of_each_mode_are_found_by_a_probe(mode, lenient):
    told = details(probed(FakeServer(shy, mode=mode), model="fake"))
    checked = {*RULES[mode], *(lenient.keys() - BY_THE_WAY)}
    found = {name: each for name, each in told.items() if each != lenient[name]}
    assert {name: found[name] for name in found if name in checked} == RULES[mode]


def test_the_responses_api_and_a_server_that_tells_no_usage():
    record = probed(FakeServer(calling, tells_usage=False), api="responses")
    assert (seen(record)["usage"], seen(record)["tools"]) == (False, True)
    assert "seed" not in seen(record)


def test_a_server_that_answers_nothing_has_no_record():
    with pytest.raises(ModelError, match="429"):
        probed(FakeServer(calling, errors={"429": 0.999999}), model="fake")


def test_a_server_that_hangs_is_asked_no_further(monkeypatch):
    monkeypatch.setattr(preflight, "CALL_S", 0.3)

    async def hangs_at_two(turns, offers):
        if "both tools" in turns[-1].content:
            await asyncio.sleep(1)
        return await calling(turns, offers)

    record = probed(FakeServer(hangs_at_two))
    assert record.calls == 1 + 4 + 1
    assert {f.detail for f in record.features if f.name in ("streaming", "seed")} == {"timeout"}
    assert seen(record)["streaming"] is None


def test_what_there_is_no_time_for_is_said_to_be_not_asked(monkeypatch):
    monkeypatch.setattr(server_features, "CHECK_S", -1.0)
    record = probed(FakeServer(calling))
    assert record.calls == 4
    told = {f.detail for f in record.features if f.name in ("streaming", "seed")}
    assert told == {"not asked: no time left"}


@pytest.mark.parametrize(("speed", "tokens"), [(None, 256), (3.0, 40), (20.0, 46), (500.0, 256)])
def test_a_slow_server_is_asked_for_short_replies(speed, tokens):
    calls = server_features.ServerCalls(None, has_seed=True, speed=speed)
    assert calls.most_output(server_features.CALL_S) == tokens
