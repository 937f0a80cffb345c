"""What run.json, a trace, and a sample's file with its disturbances may hold."""

import json

import pytest
from pydantic import ValidationError

from agent_env.episodes.run_folder import RunFolder
from agent_env.errors import DatasetError
from agent_env.records.manifest import Manifest
from agent_env.records.schema import Sample, World
from agent_env.records.trace_events import ModelCalled
from tests import TESTS


@pytest.mark.parametrize("field", ["latency_s", "queued_s", "wait_s", "away_s"])
@pytest.mark.parametrize("value", [1e300, -1e300, float("nan"), float("inf"), 2**63])
def test_a_time_that_cannot_be_added_to_a_date_is_refused(field, value):
    """A trace with one had `export --to inspect` end with a traceback."""
    event = {"episode": "b/x.1", "seq": 1, "at": "2026-01-01T00:00:00+00:00", "request": "0"}
    ModelCalled.model_validate(event | {"latency_s": 0.5, field: 0.5})
    with pytest.raises(ValidationError):
        ModelCalled.model_validate(event | {"latency_s": 0.5, field: value})


@pytest.mark.parametrize("at", ["yesterday", "2026-01-01", "2026-13-01T00:00:00+00:00", "=cmd|x"])
def test_a_run_began_at_a_time(at):
    data = json.loads((TESTS / "data/runs/puzzle/run.json").read_text())
    Manifest.model_validate(data | {"created_at": "2026-01-01T00:00:00+00:00"})
    with pytest.raises(ValidationError, match="not a time in ISO 8601"):
        Manifest.model_validate(data | {"created_at": at})


def test_a_run_of_an_earlier_form_is_refused_in_one_line(tmp_path):
    entries = json.loads((TESTS / "data/runs/puzzle/run.json").read_text())
    (tmp_path / "run.json").write_text(json.dumps(entries | {"v": 2, "batch": {"dir": None}}))
    with pytest.raises(DatasetError) as caught:
        _ = RunFolder(tmp_path).manifest
    assert str(caught.value) == (
        f"{tmp_path / 'run.json'}: not a run's manifest: v: version 2; "
        "this agent-env reads version 3"
    )


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
