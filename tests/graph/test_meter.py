"""What an episode has used: how it is counted, where a limit begins, whose waits do not count."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

import pytest

from agent_env.graph.meter import Meter, estimated_tokens, known_or_estimated
from agent_env.protocols import Limits
from agent_env.records.schema import Message, ModelFacts, ProviderFields, ToolCall, ToolSpec, Usage
from agent_env.testing import answer

PRICES = ModelFacts(
    input_per_million=1.0, output_per_million=10.0, date="2026-01-01", source="made up"
)
QUESTION = Message(role="user", content="x" * 40)
SHORT = Message(role="assistant", content="y" * 8)
TOOL = ToolSpec(name="f", description="d" * 8, parameters={"a": "b"})


@dataclass
class Clock:
    now: float = 100.0

    def __call__(self):
        return self.now


def usage(given, got):
    return Usage(input_tokens=given, output_tokens=got, source="provider")


def used():
    """3 steps, 700 input and 50 output tokens, 0.0012 USD, 6 s."""
    meter = Meter(PRICES, Clock(), steps=1, started_s=94.0)
    for given, got in ((300, 20), (400, 30)):
        meter.count_reply([QUESTION], [], answer("Friday", usage(given, got)))
    return meter


def test_replies_are_counted_with_their_tokens_and_their_price():
    meter = used()
    assert (meter.steps, meter.tokens, meter.cost_usd) == (3, 750, pytest.approx(0.0012))
    cached = answer("Friday", usage(300, 20)).model_copy(update={"cached_at": "2026-01-01"})
    meter.count_reply([QUESTION], [], cached)  # a step that costs nothing
    meter.count(Usage())  # a call that tells no usage
    assert (meter.steps, meter.tokens, meter.cost_usd) == (4, 750, pytest.approx(0.0012))


@pytest.mark.parametrize(
    ("reason", "at", "below"),
    [
        ("steps", Limits(steps=3), Limits(steps=4)),
        ("tokens", Limits(tokens=750), Limits(tokens=751)),
        ("cost", Limits(cost_usd=0.0011), Limits(cost_usd=0.0013)),
        ("time", Limits(time_s=6.0), Limits(time_s=6.1)),
    ],
)
def test_a_limit_is_reached_by_the_amount_itself(reason, at, below):
    assert used().reached(at) == reason
    assert used().reached(below) is None


def test_of_several_limits_the_first_of_the_table_is_named_and_no_limit_is_never_reached():
    limits = Limits(steps=1, tokens=1, cost_usd=0.0, time_s=0.0)
    reasons = []
    for name in ("steps", "tokens", "cost_usd", "time_s"):
        reasons.append(used().reached(limits))
        limits = replace(limits, **{name: None})
    assert reasons == ["steps", "tokens", "cost", "time"]
    assert used().reached(replace(limits, tool_calls=None)) is None
    assert Meter().reached(replace(limits, steps=0)) == "steps"


def test_the_episodes_time_stands_still_in_waits_that_are_ours():
    clock = Clock()
    meter = Meter(clock=clock, started_s=90.0)
    for wait_s in (5.0, 2.0):
        with meter.unclocked():
            clock.now += wait_s
    clock.now += 1.0
    assert (meter.waited_s, meter.elapsed_s()) == (7.0, 11.0)


@pytest.mark.parametrize("limit_s", [1000, None])
async def test_a_wait_that_is_ours_moves_the_deadline_of_the_call_even_where_it_fails(limit_s):
    clock = Clock()
    meter = Meter(clock=clock)

    async def fails(timer):
        with meter.unclocked():
            assert timer.when() is None
            clock.now += 30.0
            raise KeyError

    async with asyncio.timeout(limit_s) as timer:
        before = timer.when()
        with meter.timed(timer), pytest.raises(KeyError):
            await fails(timer)
        during = timer.when()
        with meter.unclocked():  # after the timed call: its timer is left alone
            clock.now += 30.0
        assert during == timer.when() == (before and before + 30.0)


async def test_a_timer_that_has_run_out_stays_so_and_the_wait_still_counts():
    clock = Clock()
    meter = Meter(clock=clock)

    async def waits():
        async with asyncio.timeout(0) as timer:
            with meter.timed(timer):
                try:
                    await asyncio.sleep(60)
                finally:
                    with meter.unclocked():
                        clock.now += 3.0

    with pytest.raises(TimeoutError):
        await waits()
    assert meter.waited_s == 3.0


@pytest.mark.parametrize(
    ("told", "filled"), [((None, 2), (18, 2)), ((1, None), (1, 6)), ((None, None), (18, 6))]
)
def test_only_what_the_server_does_not_tell_is_estimated(told, filled):
    counted = known_or_estimated(usage(*told), [QUESTION], [TOOL], SHORT)
    assert (counted.input_tokens, counted.output_tokens) == filled
    assert counted.source == "estimate"
    known = usage(1, 2)
    assert known_or_estimated(known, [QUESTION], [TOOL], QUESTION) is known


def test_an_estimate_takes_four_letters_for_a_token_and_reasoning_that_goes_back():
    call = ToolCall(id="c", name="ffff", arguments="{} {} {}")
    messages = [QUESTION, Message(role="assistant", content="yy", tool_calls=(call, call))]
    assert estimated_tokens(messages) == (40 + 2 + 2 * (4 + 8)) // 4 + 2 * 4
    assert estimated_tokens(messages, [TOOL, TOOL]) == (66 + 2 * (8 + 10)) // 4 + 2 * 4
    thought = Message(role="assistant", content="", reasoning="r" * 20)
    fields = ProviderFields(origin="http://127.0.0.1")
    assert estimated_tokens([thought]) == 4
    assert estimated_tokens([thought.model_copy(update={"provider_fields": fields})]) == 4 + 5
    unsaid = Message(role="assistant", content="", provider_fields=fields)
    assert estimated_tokens([unsaid]) == 4
