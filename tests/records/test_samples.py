"""What a sample's file may say of the disturbances."""

import pytest
from pydantic import ValidationError

from agent_env.records.schema import Sample, World

PAGE = {"was": None, "url": "https://example.org/a"}


def _sample(**fields):
    return Sample.model_validate({"id": "a", "task": "t", "gold": ["1"], **fields})


def _shifted(**fields):
    return _sample(ablation={"shifted": {"sample": fields, "pages": []}})


def test_the_twin_in_the_shifted_world_keeps_its_id():
    twin = _shifted(gold=["2"], id="../../b").in_world(World(is_shifted=True))
    assert (twin.id, twin.gold) == ("a", ("2",))


@pytest.mark.parametrize("fields", [{"gold": 5}, {"colour": "red"}, {"proofs": [{}]}])
def test_a_twin_that_is_no_sample_is_refused_where_it_is_read(fields):
    with pytest.raises(ValidationError, match=next(iter(fields))):
        _shifted(**fields)


@pytest.mark.parametrize("rank", [0, -1, 10**30])
def test_a_page_of_an_attack_has_a_rank_that_a_search_can_give(rank):
    attack = {"name": "false-page", "variant": "1", "pages": [PAGE], "ranks": {PAGE["url"]: rank}}
    with pytest.raises(ValidationError, match=r"attacks\.0\.ranks"):
        _sample(attacks=[attack])
