"""Places, tokens and money of a run's calls, and what a trace says was charged."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_env.analysis.totals import totals
from agent_env.episodes.calls.budget import FIRST_OUTPUT, ConcurrencyLimit, RunBudget, RunLimits
from agent_env.episodes.calls.caller import Calls
from agent_env.episodes.calls.retries import Breaker
from agent_env.episodes.results import episodes_of
from agent_env.episodes.run_folder import RunFolder
from agent_env.episodes.trace.fold import charges
from agent_env.errors import ModelError, RunStopped
from agent_env.records.schema import Message, ModelFacts, Usage
from agent_env.testing import ScriptedModel, answer
from tests.episodes.calls.test_caller import FAST, SOME, Shaky, error, model_calls, run, runner

RATES = {"input_per_million": 1.0, "output_per_million": 10.0}
PRICED = ModelFacts(**RATES, date="2026-01-01", source="made up")
ASKED = [Message(role="user", content="x" * 384)]
NEED = 384 // 4 + 4 + FIRST_OUTPUT
"""What is reserved for it at first."""


async def no_room(budget):
    """Why the next call does not begin."""
    with pytest.raises(RunStopped) as found:
        async with budget.share(ASKED, []):
            raise AssertionError("there is room")
    return found.value.reason, str(found.value)


async def test_limits_go_by_a_first_guess_and_by_what_was_used_or_failed_calls_may_have_cost():
    reason, text = await no_room(RunBudget(RunLimits(tokens=NEED - 1)))
    assert (reason, f"the run has used 0 of its {NEED - 1} tokens" in text) == ("tokens", True)
    budget = RunBudget(RunLimits(cost_usd=0.001), PRICED)
    budget.spend(Usage(input_tokens=500, output_tokens=40))
    assert budget.cost_usd == pytest.approx(0.0009)
    reason, text = await no_room(budget)
    assert (reason, "has cost 0.0009 of its 0.001 USD" in text) == ("cost", True)
    failed = RunBudget(RunLimits(cost_usd=0.01), PRICED)
    failed.hold(Usage(input_tokens=500, output_tokens=940))
    assert "cost 0.0000 of its 0.01 USD, and up to 0.0099 by" in (await no_room(failed))[1]


async def test_what_a_failed_call_may_have_cost_stays_taken_and_is_named():
    """A provider bills a reply that never arrived; the limit must not be spent a second time."""
    budget = RunBudget(RunLimits(tokens=2 * NEED - 1))
    async with budget.share(ASKED, []) as share:
        share.held = share.needed
    assert (budget.tokens, budget.held_tokens) == (0, NEED)
    assert (await no_room(budget))[1] == (
        f"the run has used 0 of its {2 * NEED - 1} tokens, and up to {NEED} by calls that"
        f" failed or wait in batches; the next call may need {NEED}"
    )


async def test_a_call_waits_while_others_may_give_back_what_they_do_not_use():
    budget, told = RunBudget(RunLimits(tokens=NEED + 50)), []

    async def call(name):
        async with budget.share(ASKED, []) as share:
            told.append(f"{name} begins with {budget.tokens} spent")
            await asyncio.sleep(0.01)
            share.used = Usage(input_tokens=10, output_tokens=10)

    await asyncio.gather(call("a"), call("b"))
    assert (budget.tokens, budget.in_flight) == (40, 0)
    assert told == ["a begins with 0 spent", "b begins with 20 spent"]


@settings(deadline=None, max_examples=60)
@given(
    used=st.lists(st.tuples(st.integers(0, 900), st.integers(0, 900)), min_size=1, max_size=40),
    limit=st.integers(500, 9000),
    workers=st.integers(1, 8),
)
def test_a_run_overshoots_by_no_more_than_its_calls_in_flight(used, limit, workers):
    async def go():
        budget, left = RunBudget(RunLimits(tokens=limit)), list(used)

        async def work():
            while left:
                async with budget.share(ASKED, []) as share:
                    if not left:
                        return
                    given, got = left.pop()
                    await asyncio.sleep(0)
                    share.used = Usage(input_tokens=given, output_tokens=got)

        await asyncio.gather(*(work() for _ in range(workers)), return_exceptions=True)
        largest = max(a + b for a, b in used)
        assert budget.tokens <= limit + workers * max(0, largest - NEED + FIRST_OUTPUT)
        assert budget.in_flight == 0

    asyncio.run(go())


def test_the_breaker_counts_failures_in_a_row_but_no_rate_limits_that_are_tried_again():
    breaker, down = Breaker(calls=3), ModelError("down", status=503)
    breaker.note(down, is_last=False)
    breaker.note(down, is_last=True)
    breaker.succeeded()
    breaker.note(down, is_last=False)
    breaker.note(down, is_last=False)
    with pytest.raises(RunStopped, match="last 3 model calls all failed, the last one so: down"):
        breaker.note(down, is_last=False)
    breaker, busy = Breaker(calls=2), ModelError("busy", status=429, retryable=True)
    for _ in range(50):
        breaker.note(busy, is_last=False)
    breaker.note(busy, is_last=True)
    with pytest.raises(RunStopped):
        breaker.note(busy, is_last=True)


async def test_calls_in_flight_keep_a_limit_that_a_burst_halves_once_and_that_stays_in_bounds():
    pace, most = ConcurrencyLimit(most=3), 0

    async def call():
        nonlocal most
        async with pace.place():
            most = max(most, pace.in_flight)
            await asyncio.sleep(0)

    await asyncio.gather(*(call() for _ in range(20)))
    assert pace.in_flight == 0
    assert most == 3
    pace = ConcurrencyLimit(most=16)
    async with AsyncExitStack() as stack:
        rounds = [await stack.enter_async_context(pace.place()) for _ in range(16)]
    for round_ in rounds:
        pace.limited(round_)
    assert (pace.limit, pace.halvings) == (8.0, 1)
    async with pace.place() as later:
        pace.limited(later)
    assert pace.limit == 4.0
    pace = ConcurrencyLimit(most=2)
    for round_ in range(5):
        pace.limited(round_)
    assert pace.limit == 1.0
    for _ in range(50):
        pace.succeeded()
    assert pace.limit == 2.0


@settings(deadline=None, max_examples=50)
@given(cancelled=st.sets(st.integers(0, 29)), most=st.integers(1, 5))
def test_cancelled_waiters_lose_no_place(cancelled, most):
    async def go():
        pace, ran = ConcurrencyLimit(most=most), 0

        async def call():
            nonlocal ran
            async with pace.place():
                await asyncio.sleep(0)
                ran += 1

        tasks = [asyncio.create_task(call()) for _ in range(30)]
        await asyncio.sleep(0)
        for number in sorted(cancelled):
            tasks[number].cancel()
            await asyncio.sleep(0)
        await asyncio.gather(*tasks, return_exceptions=True)
        assert pace.in_flight == 0
        assert ran >= 30 - len(cancelled)

    asyncio.run(go())


@pytest.mark.parametrize(
    ("failing", "is_charged"),
    [
        (error("timeout"), True),
        (error("connection", 200), True),
        (error("server", 500), True),
        (error("unreadable", 200), True),
        (error("rate_limit", 429), False),
        (ModelError("not there", kind="connection", retryable=True, unsent=True), False),
        (error("unreadable", 200, SOME), False),
    ],
)
def test_a_failed_call_that_may_be_billed_is_charged_where_nobody_told_its_tokens(
    tmp_path, failing, is_charged
):
    budget = RunBudget(RunLimits(tokens=50_000))
    shared = Calls(ConcurrencyLimit(most=1), FAST, budget)
    (episode,) = run(runner(tmp_path, lambda s: Shaky([failing]), shared))
    charged = model_calls(tmp_path)[0].charged
    assert (charged is not None) == is_charged
    assert budget.held_tokens == (0 if charged is None else charged.input_tokens + 512)
    counted = 2 if failing.usage else 1
    assert budget.tokens == 110 * counted
    assert (episode.input_tokens, episode.output_tokens) == (100 * counted, 10 * counted)


def test_a_run_that_goes_on_knows_what_was_charged_for_what_nobody_told(tmp_path):
    """A server that tells no usage, and a call that was cut: after a restart both still count."""
    budget = RunBudget(RunLimits(tokens=50_000))
    untold = ScriptedModel([answer("MY ANSWER: None")])

    class Cut(Shaky):
        async def generate(self, messages, tools, options=None):
            await super().generate(messages, tools)
            return await untold.generate(messages, tools)

    shared = Calls(ConcurrencyLimit(most=1), FAST, budget)
    run(runner(tmp_path, lambda s: Cut([error("connection", 200)]), shared))
    cut, said = model_calls(tmp_path)
    assert (said.reply.usage.input_tokens, said.charged.source) == (None, "estimate")
    used, held = charges([cut, said])
    assert (used, held) == ([said.charged], [cut.charged])
    later = RunBudget()
    later.spend(used[0])
    later.hold(held[0])
    assert (later.tokens, later.held_tokens) == (budget.tokens, budget.held_tokens)
    (found,) = episodes_of(RunFolder(tmp_path), print)
    spent = totals([found], None)
    assert (spent.input_tokens, spent.charged_tokens) == (None, later.tokens + later.held_tokens)
