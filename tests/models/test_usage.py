"""What a reply cost, by the names of every API."""

import pytest

from agent_env.models.usage import usage_of
from agent_env.records.schema import ModelFacts, Usage
from tests.models.raw_server import Messages, failure, reply

CACHED = {
    "input_tokens": 10, "cache_read_input_tokens": 600, "cache_creation_input_tokens": 30,
    "cache_creation": {"ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 10},
    "output_tokens": 7,
}  # fmt: skip
USAGE = Usage(
    input_tokens=640, cached_tokens=600, cache_write_tokens=30, hour_cache_write_tokens=10,
    output_tokens=7, source="provider",
)  # fmt: skip
PRICES = ModelFacts(
    input_per_million=10, cached_input_per_million=1, cache_write_per_million=12,
    hour_cache_write_per_million=20, output_per_million=50, date="2026-01-31", source="made up",
)  # fmt: skip


def test_a_failed_call_of_anthropic_is_charged_for_what_its_cache_read_and_wrote():
    broken = {"type": "message", "content": None, "usage": CACHED}
    error = failure(Messages, reply(broken))
    assert error.usage == USAGE
    millionths = 10 * 10 + 600 * 1 + 20 * 12 + 10 * 20 + 7 * 50
    assert error.usage.charged_usd(PRICES) == pytest.approx(millionths / 1e6)


def test_cached_tokens_are_counted_once_by_each_apis_names():
    assert usage_of({"usage": CACHED}) == USAGE
    part = {"input_tokens": 10, "cache_creation_input_tokens": 30, "output_tokens": 7}
    assert usage_of({"usage": part}).input_tokens == 40
    details = {"input_tokens_details": {"cached_tokens": 600}}
    responses = {"input_tokens": 640, "output_tokens": 7} | details
    assert usage_of({"usage": responses}).input_tokens == 640
    chat = {"prompt_tokens": 640, "completion_tokens": 7, "cache_read_input_tokens": 600}
    assert usage_of({"usage": chat}).input_tokens == 640
    gemini = {"promptTokenCount": 640, "cachedContentTokenCount": 600, "candidatesTokenCount": 7}
    assert usage_of({"usageMetadata": gemini}).input_tokens == 640
