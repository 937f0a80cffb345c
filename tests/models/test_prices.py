"""The price table: what it says, what stays unknown, what is refused."""

import pytest

from agent_env.errors import ConfigError, DatasetError
from agent_env.models.usage import is_priced, read_prices
from agent_env.records.schema import ModelFacts, Usage

TABLE = """
[models."compatible/some-model"]
input_per_million = 2.0
cached_input_per_million = 0.5
output_per_million = 8.0
date = 2026-01-31
source = "made up"
released = 2025-06-01
knowledge_cutoff = "2024-10"
"""


def facts(**prices):
    return ModelFacts.model_validate({**prices, "date": "2026-01-31", "source": "made up"})


def test_a_table_is_read_from_toml_and_json(tmp_path):
    (tmp_path / "prices.toml").write_text(TABLE)
    (name, row), *_ = read_prices(tmp_path / "prices.toml").items()
    assert name == "compatible/some-model"
    assert (row.date, row.released, row.knowledge_cutoff) == ("2026-01-31", "2025-06-01", "2024-10")
    (tmp_path / "p.json").write_text(
        '{"models": {"a": {"date": "2026-01-31", "source": "made up"}}}'
    )
    assert read_prices(tmp_path / "p.json") == {"a": facts()}


def test_cached_and_written_tokens_have_their_own_prices_and_no_count_gives_money_back():
    row = facts(input_per_million=2.0, cached_input_per_million=0.5, output_per_million=8.0)
    usage = Usage(input_tokens=1_000_000, cached_tokens=400_000, output_tokens=500_000)
    assert usage.cost_usd(row) == pytest.approx(1.2 + 0.2 + 4.0)
    prices = {"input_per_million": 2.0, "cached_input_per_million": 0.5, "output_per_million": 8.0}
    usage = Usage(
        input_tokens=1_000_000, cached_tokens=400_000, cache_write_tokens=200_000, output_tokens=0
    )
    written = facts(**prices, cache_write_per_million=2.5)
    assert usage.cost_usd(written) == pytest.approx(0.4 * 2.0 + 0.4 * 0.5 + 0.2 * 2.5)
    assert usage.cost_usd(facts(**prices)) == pytest.approx(0.6 * 2.0 + 0.4 * 0.5)
    hour = facts(**prices, cache_write_per_million=2.5, hour_cache_write_per_million=4.0)
    kept = usage.model_copy(update={"hour_cache_write_tokens": 150_000})
    assert kept.cost_usd(hour) == pytest.approx(0.4 * 2.0 + 0.4 * 0.5 + 0.05 * 2.5 + 0.15 * 4.0)
    assert kept.cost_usd(written) == usage.cost_usd(written)
    # A server or a trace that tells more cached tokens than there are, or less than none.
    row = facts(input_per_million=2.0, cached_input_per_million=0.5, output_per_million=8.0)
    much = Usage(
        input_tokens=1_000_000, cached_tokens=10**12, cache_write_tokens=9, output_tokens=0
    )
    assert much.cost_usd(row) == pytest.approx(0.5)
    assert Usage(input_tokens=-1, output_tokens=-(10**12)) == Usage()
    assert Usage(input_tokens=0, cached_tokens=-5, output_tokens=0).cost_usd(row) == 0.0
    free = facts(input_per_million=0.0, output_per_million=0.0)
    assert Usage(input_tokens=5, output_tokens=5).cost_usd(free) == 0.0


def test_each_service_tier_has_its_prices_and_one_without_them_is_unknown():
    """Never the full price unsaid: only limits count such a call, at the dearest prices."""
    plain = {"input_per_million": 2.0, "output_per_million": 8.0}
    tiers = {"flex": {"input_per_million": 1.0, "output_per_million": 4.0}}
    row, tokens = facts(**plain, tiers=tiers), {"input_tokens": 1_000_000, "output_tokens": 500_000}
    assert Usage(**tokens).cost_usd(row) == pytest.approx(6.0)
    assert Usage(**tokens, tier="flex").cost_usd(row) == pytest.approx(3.0)
    batch = Usage(**tokens, tier="batch")
    assert (batch.cost_usd(row), batch.charged_usd(row)) == (None, pytest.approx(6.0))
    assert (is_priced(row, "flex"), is_priced(row, "batch")) == (True, False)
    several = Usage(**tokens, by_tier=(Usage(**tokens), Usage(**tokens, tier="flex")))
    assert several.cost_usd(row) == pytest.approx(9.0)
    assert several.model_copy(update={"by_tier": (batch, batch)}).cost_usd(row) is None


def test_what_is_not_known_makes_the_cost_unknown_and_not_zero():
    whole = facts(input_per_million=2.0, output_per_million=8.0)
    usage = Usage(input_tokens=1, output_tokens=1)
    assert usage.cost_usd(None) is None
    assert usage.cost_usd(facts(input_per_million=2.0)) is None
    assert Usage(input_tokens=1).cost_usd(whole) is None
    assert (is_priced(None), is_priced(facts()), is_priced(whole)) == (False, False, True)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("models = 3", "holds no model"),
        ("[models]", "holds no model"),
        ('[models."a"]\ndate = 2026-01-31', "a: source: Field required"),
        (
            '[models."a"]\ndate = 2026-01-31\nsource = "x"\ninput = 3',
            "unknown key 'input'; known: ",
        ),
        ('[models."a"]\ndate = "today"\nsource = "x"', "a: date: String should match"),
        (
            '[models."a"]\ndate = 2026-01-31\nsource = "x"\ninput_per_million = -1',
            "a: input_per_million: must be greater than or equal to 0",
        ),
        ('[models."a"\n', "neither TOML nor JSON"),
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
