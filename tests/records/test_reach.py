"""Every field of what is stored and read back says what its value can reach."""

from __future__ import annotations

from dataclasses import fields
from typing import get_args

import pytest

from agent_env.features.studies.folder import StudyRecord
from agent_env.features.studies.plan import StudyPlan
from agent_env.models.settings import ModelParameters, ModelSettings
from agent_env.records.manifest import OPTIONS, PARAMETERS, Manifest
from agent_env.records.reach import ByName, Reach, records_in, values_of
from agent_env.records.schema import Stored
from agent_env.records.trace_events import TraceEvent
from agent_env.runs.options.keywords import keywords_of
from agent_env.runs.options.run_options import RunOptions, reach_of
from agent_env.wiring.registry import load_family, task_names

EVENTS = get_args(get_args(TraceEvent)[0])


def silent_fields(record):
    """The fields of the record, and of all records in it, that do not say what they reach."""
    silent, seen, waiting = [], set(), [record]
    while waiting:
        if (each := waiting.pop()) in seen:
            continue
        seen.add(each)
        for name, field in each.model_fields.items():
            inner = list(records_in(field.annotation))
            if not any(isinstance(mark, Reach | ByName) for mark in field.metadata):
                waiting += inner
                silent += [] if inner else [f"{each.__name__}.{name}"]
    return silent


@pytest.mark.parametrize("record", [Manifest, StudyPlan, *EVENTS], ids=lambda it: it.__name__)
def test_no_field_is_silent(record):
    assert silent_fields(record) == []


def test_a_field_that_says_nothing_is_found_however_deep_it_lies():
    class Inner(Stored):
        command: str

    class Outer(Stored):
        inner: dict[str, tuple[Inner, ...]] | None

    assert silent_fields(Outer) == ["Inner.command"]


def test_each_option_of_run_and_each_parameter_of_a_model_says_it():
    silent = [name for name, key in keywords_of(RunOptions).items() if reach_of(key.option) is None]
    assert silent == []
    known = {field.name for field in (*fields(ModelParameters), *fields(ModelSettings))}
    assert known - {"parameters"} <= PARAMETERS.reaches.keys()
    assert PARAMETERS.others is Reach.ADDRESS


def test_each_option_of_a_family_that_names_a_file_says_so():
    for task in task_names():
        fields = load_family(task).options.model_fields
        files = {name for name, field in fields.items() if "Path" in str(field.annotation)}
        assert files <= OPTIONS.reaches.keys()


def test_study_json_holds_a_text_that_is_read_and_never_obeyed():
    assert set(StudyRecord.model_fields) == {"name", "digest", "begun_at", "text", "changes"}


def test_values_are_found_with_what_they_reach():
    plan = StudyPlan.model_validate(
        {
            "serve": "touch x",
            "tasks": {"t": {"task": "time-puzzles"}},
            "models": {"m": {"model": "compatible/x", "base_url": "http://127.0.0.1:9/v1"}},
        }
    )
    assert {(each.path, each.reach) for each in values_of(plan)} >= {
        ("options_of_run.serve", Reach.COMMAND),
        ("models.options_of_run.base_url", Reach.ADDRESS),
        ("tasks.task", Reach.CODE),
    }
