"""The limit on calls in flight: it holds, it halves once a burst, it grows back."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_env.episodes.calls.pacing import ConcurrencyLimit


def test_no_more_calls_are_in_flight_than_the_limit() -> None:
    async def go() -> int:
        pace, most = ConcurrencyLimit(most=3), 0

        async def call() -> None:
            nonlocal most
            async with pace.place():
                most = max(most, pace.in_flight)
                await asyncio.sleep(0)

        await asyncio.gather(*(call() for _ in range(20)))
        assert pace.in_flight == 0
        return most

    assert asyncio.run(go()) == 3


def test_a_burst_of_rate_limits_halves_the_limit_once() -> None:
    async def go() -> None:
        pace = ConcurrencyLimit(most=16)
        async with AsyncExitStack() as stack:
            rounds = [await stack.enter_async_context(pace.place()) for _ in range(16)]
        for round_ in rounds:
            pace.limited(round_)
        assert (pace.limit, pace.halvings) == (8.0, 1)
        async with pace.place() as later:
            pace.limited(later)
        assert pace.limit == 4.0

    asyncio.run(go())


def test_the_limit_never_falls_below_one_call_nor_grows_beyond_the_most() -> None:
    pace = ConcurrencyLimit(most=2)
    for round_ in range(5):
        pace.limited(round_)
    assert pace.limit == 1.0
    for _ in range(50):
        pace.succeeded()
    assert pace.limit == 2.0


def test_as_many_replies_as_there_are_places_add_about_one_place() -> None:
    pace = ConcurrencyLimit(most=64)
    pace.limited(0)
    for _ in range(33):
        pace.succeeded()
    assert 32.9 < pace.limit < 33.1


def test_it_says_how_many_calls_are_in_flight() -> None:
    assert str(ConcurrencyLimit(most=8)) == "0 calls in flight of at most 8"


@settings(deadline=None, max_examples=50)
@given(cancelled=st.sets(st.integers(0, 29)), most=st.integers(1, 5))
def test_cancelled_waiters_lose_no_place(cancelled: set[int], most: int) -> None:
    async def go() -> None:
        pace, ran = ConcurrencyLimit(most=most), 0

        async def call() -> None:
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


def test_a_call_that_fails_gives_its_place_back() -> None:
    async def go() -> None:
        pace = ConcurrencyLimit(most=1)
        for _ in range(3):
            with pytest.raises(ValueError, match="x"):
                async with pace.place():
                    raise ValueError("x")
        assert pace.in_flight == 0

    asyncio.run(go())
