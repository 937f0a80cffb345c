"""What a transcript tells of a call: its size, its cost, its wait, where it came from."""

from __future__ import annotations

from agent_env.analysis.transcript import transcript
from agent_env.records.model_facts import ModelFacts
from agent_env.records.schema import Usage
from agent_env.records.trace_events import ModelCalled
from agent_env.testing import answer

FACTS = ModelFacts(
    input_per_million=1.0, output_per_million=10.0, date="2026-01-01", source="made up"
)
SOME = Usage(input_tokens=1000, output_tokens=100, source="provider")
COMMON = {"episode": "web/a.1", "seq": 1, "at": "2026-01-01T00:00:00Z", "request": "x"}


def line(**fields: object) -> str:
    event = ModelCalled.model_validate({**COMMON, "latency_s": 0.5, **fields})
    return next(iter(transcript([event], facts=FACTS)))


def test_a_reply_has_its_cost() -> None:
    assert line(reply=answer("x", SOME)) == (
        "-- model: 0.500 s, 1000 in, 100 out tokens (provider), 0.00200 USD"
    )


def test_a_failed_call_has_its_tokens_and_the_wait_that_followed() -> None:
    assert line(error="busy", usage=SOME, wait_s=1.25) == (
        "-- model: 0.500 s, 1000 in, 100 out tokens (provider), 0.00200 USD"
        " · failed: busy · tried again after 1.2 s"
    )


def test_a_reply_from_the_cache_cost_nothing() -> None:
    kept = answer("x", SOME).model_copy(update={"cached_at": "2026-01-01T00:00:00Z"})
    assert line(reply=kept) == (
        "-- model: 0.500 s, 1000 in, 100 out tokens (provider)"
        " · from the reply cache, first given 2026-01-01T00:00:00Z"
    )
