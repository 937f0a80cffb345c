"""Selecting samples by field."""

import pytest

from agent_env.errors import ConfigError
from agent_env.tasks.sample_files import parse_where, select
from agent_env.testing import puzzle

SAMPLES = [puzzle("a", ["2001-01-01"]), puzzle("b", []), puzzle("c", ["2001-01-01", "2002-01-01"])]


def ids(*filters):
    return [sample.id for sample in select(SAMPLES, [parse_where(text) for text in filters])]


def test_a_field_may_have_one_of_several_values():
    assert ids("solution_count=0,2") == ["b", "c"]


def test_filters_hold_together():
    assert ids("solution_count=0,2", "id=c") == ["c"]


def test_a_list_satisfies_where_any_of_its_parts_does():
    assert ids("gold=2002-01-01") == ["c"]


def test_an_unknown_field_lists_the_known_ones():
    with pytest.raises(ConfigError, match="no field 'size'; known: id, task, gold"):
        ids("size=1")


def test_a_filter_without_equals_is_refused():
    with pytest.raises(ConfigError, match="--where 'size' is not FIELD=A,B"):
        parse_where("size")
