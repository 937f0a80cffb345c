"""What a reply cost: by the names of every API, and by a price table."""

import pytest

from agent_env.errors import ConfigError, DatasetError
from agent_env.models.usage import is_priced, read_prices, usage_of
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
PLAIN = {"input_per_million": 2.0, "output_per_million": 8.0}
CACHING = PLAIN | {"cached_input_per_million": 0.5}


def facts(**prices):
    return ModelFacts.model_validate({**prices, "date": "2026-01-31", "source": "made up"})


def test_a_failed_call_of_anthropic_is_charged_for_what_its_cache_read_and_wrote():
    error = failure(Messages, reply({"type": "message", "content": None, "usage": CACHED}))
    assert error.usage == USAGE
    written = {"cache_write_per_million": 12, "hour_cache_write_per_million": 20}
    row = {"input_per_million": 10, "cached_input_per_million": 1, "output_per_million": 50}
    millionths = 10 * 10 + 600 * 1 + 20 * 12 + 10 * 20 + 7 * 50
    assert error.usage.charged_usd(facts(**row, **written)) == pytest.approx(millionths / 1e6)


def test_cached_tokens_are_counted_once_by_each_apis_names():
    assert usage_of({"usage": CACHED}) == USAGE
    part = {"input_tokens": 10, "cache_creation_input_tokens": 30, "output_tokens": 7}
    assert usage_of({"usage": part}).input_tokens == 40
    details = {"input_tokens_details": {"cached_tokens": 600}}
    responses = {"input_tokens": 640, "output_tokens": 7} | details
    chat = {"prompt_tokens": 640, "completion_tokens": 7, "cache_read_input_tokens": 600}
    gemini = {"promptTokenCount": 640, "cachedContentTokenCount": 600, "candidatesTokenCount": 7}
    for body in ({"usage": responses}, {"usage": chat}, {"usageMetadata": gemini}):
        assert usage_of(body).input_tokens == 640


def test_a_table_is_read_from_toml_and_json(tmp_path):
    table = """[models."compatible/some-model"]
    input_per_million = 2.0
    date = 2026-01-31
    source = "made up"
    released = 2025-06-01
    knowledge_cutoff = "2024-10"
    """
    (tmp_path / "prices.toml").write_text(table)
    released = {"released": "2025-06-01", "knowledge_cutoff": "2024-10"}
    row = facts(input_per_million=2.0, **released)
    assert read_prices(tmp_path / "prices.toml")["compatible/some-model"] == row
    as_json = '{"models": {"a": {"date": "2026-01-31", "source": "made up"}}}'
    (tmp_path / "p.json").write_text(as_json)
    assert read_prices(tmp_path / "p.json") == {"a": facts()}


WRITING = CACHING | {"cache_write_per_million": 2.5}
BY_HOUR = WRITING | {"hour_cache_write_per_million": 4.0}
READ = {"input_tokens": 1_000_000, "cached_tokens": 400_000}
WROTE = READ | {"cache_write_tokens": 200_000, "output_tokens": 0}
KEPT = WROTE | {"hour_cache_write_tokens": 150_000}
WRONG = {"input_tokens": 1_000_000, "cached_tokens": 10**12, "cache_write_tokens": 9}
FREE = {"input_per_million": 0.0, "output_per_million": 0.0}


@pytest.mark.parametrize(
    ("tokens", "prices", "usd"),
    [
        (READ | {"output_tokens": 500_000}, CACHING, 1.2 + 0.2 + 4.0),
        (WROTE, WRITING, 0.4 * 2.0 + 0.4 * 0.5 + 0.2 * 2.5),
        (WROTE, CACHING, 0.6 * 2.0 + 0.4 * 0.5),
        (KEPT, BY_HOUR, 0.4 * 2.0 + 0.4 * 0.5 + 0.05 * 2.5 + 0.15 * 4.0),
        (KEPT, WRITING, 0.4 * 2.0 + 0.4 * 0.5 + 0.2 * 2.5),
        (WRONG | {"output_tokens": 0}, CACHING, 0.5),  # more cached tokens than there are
        ({"input_tokens": 0, "cached_tokens": -5, "output_tokens": 0}, CACHING, 0.0),
        ({"input_tokens": 5, "output_tokens": 5}, FREE, 0.0),
    ],
)
def test_cached_and_written_tokens_have_their_own_prices_and_no_count_gives_money_back(
    tokens, prices, usd
):
    assert Usage(**tokens).cost_usd(facts(**prices)) == pytest.approx(usd)


def test_each_service_tier_has_its_prices_and_one_without_them_is_unknown():
    """Never the full price unsaid: only limits count such a call, at the dearest prices."""
    tiers = {"flex": {"input_per_million": 1.0, "output_per_million": 4.0}}
    row = facts(**PLAIN, tiers=tiers)
    tokens = {"input_tokens": 1_000_000, "output_tokens": 500_000}
    flex, batch = Usage(**tokens, tier="flex"), Usage(**tokens, tier="batch")
    assert Usage(**tokens).cost_usd(row) == pytest.approx(6.0)
    assert flex.cost_usd(row) == pytest.approx(3.0)
    assert (batch.cost_usd(row), batch.charged_usd(row)) == (None, pytest.approx(6.0))
    assert (is_priced(row, "flex"), is_priced(row, "batch")) == (True, False)
    several = Usage(**tokens, by_tier=(Usage(**tokens), flex))
    assert several.cost_usd(row) == pytest.approx(9.0)
    assert several.model_copy(update={"by_tier": (batch, batch)}).cost_usd(row) is None


def test_what_is_not_known_makes_the_cost_unknown_and_not_zero():
    assert Usage(input_tokens=-1, output_tokens=-(10**12)) == Usage()
    usage = Usage(input_tokens=1, output_tokens=1)
    assert usage.cost_usd(None) is None
    assert usage.cost_usd(facts(input_per_million=2.0)) is None
    assert Usage(input_tokens=1).cost_usd(facts(**PLAIN)) is None
    assert [is_priced(row) for row in (None, facts(), facts(**PLAIN))] == [False, False, True]


A = '[models."a"]\ndate = 2026-01-31\n'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("models = 3", "holds no model"),
        ("[models]", "holds no model"),
        (A, "a: field 'source' is missing"),
        (f'{A}source = "x"\ninput = 3', "unknown key 'input'; did you mean input_per_million"),
        ('[models."a"]\ndate = "today"\nsource = "x"', "a: date: String should match"),
        (
            f'{A}source = "x"\ninput_per_million = -1',
            "a: input_per_million: must be greater than or equal to 0",
        ),
        ('[models."a"\n', "is not TOML"),
        ('prices = 1\n[models."a"]\n', "unknown entry 'prices'"),
    ],
)
def test_a_mistake_is_named(tmp_path, text, problem):
    (tmp_path / "prices.toml").write_text(text)
    with pytest.raises(DatasetError, match=problem):
        read_prices(tmp_path / "prices.toml")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ConfigError, match="cannot read the price table"):
        read_prices(tmp_path / "none.toml")
