"""Selecting samples by field."""

import pytest

from agent_env.errors import ConfigError
from agent_env.records.tier import Tier
from agent_env.tasks.sample_files import parse_where, select
from agent_env.testing import puzzle

SAMPLES = [puzzle("a", ["2001-01-01"]), puzzle("b", []), puzzle("c", ["2001-01-01", "2002-01-01"])]


def ids(*filters):
    return [sample.id for sample in select(SAMPLES, [parse_where(text) for text in filters])]


def test_filters_hold_together_or_are_named():
    assert ids("solution_count=0,2") == ["b", "c"]
    assert ids("solution_count=0,2", "id=c") == ["c"]
    assert ids("gold=2002-01-01") == ["c"]
    with pytest.raises(ConfigError, match="no field 'size'; known: id, task, gold"):
        ids("size=1")
    with pytest.raises(ConfigError, match="--where 'size' is not FIELD=A,B"):
        parse_where("size")


def test_a_level_of_difficulty_is_compared_by_its_name():
    easy = Tier(name="easy", about="three facts")
    samples = [SAMPLES[0].model_copy(update={"tier": easy}), SAMPLES[1]]
    assert select(samples, [parse_where("tier=easy")]) == samples[:1]
    assert select(samples, [parse_where("tier=hard,paper")]) == []
