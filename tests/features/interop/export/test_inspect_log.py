"""Inspect's own reader finds in the log what the traces hold."""

import json
from importlib.util import find_spec

import pytest

from agent_env.errors import DatasetError
from agent_env.features.interop.export.inspect_log import write
from agent_env.runs.run import Run
from tests.features.interop.export.runs import a_run, source_of
from tests.lazy_modules import LazyModule

pytestmark = pytest.mark.skipif(not find_spec("inspect_ai"), reason="needs the extra inspect")
inspect_log = LazyModule("inspect_ai.log")


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """The exported log, read back."""
    where = tmp_path_factory.mktemp("inspect")
    assert write(source_of(a_run(where / "run")), where) == {"web": 4}
    return inspect_log.read_eval_log(str(where / "web.eval"))


@pytest.fixture
def right(log):
    return next(sample for sample in log.samples if sample.id == "right")


def test_messages_calls_scores_and_tokens_are_those_of_the_run(right, log):
    roles = [message.role for message in right.messages]
    assert roles == ["user", "assistant", "tool", "assistant"]
    asked, told = right.messages[1:3]
    assert asked.text == "I look."
    assert asked.content[0].reasoning == "Hm."
    assert asked.tool_calls[0].function == "web_search"
    assert asked.tool_calls[0].arguments == {"query": "Falklands War"}
    assert told.tool_call_id == asked.tool_calls[0].id
    assert right.target == ["1982-04-02"]
    kinds = [event.event for event in right.events]
    assert kinds == ["model", "model", "tool", "model"]
    assert right.events[0].error == "too many requests"
    assert right.events[1].output.usage.input_tokens == 60
    assert right.events[1].working_time == 0.25
    assert right.events[2].result.startswith("It began on 1982-04-02.")
    assert len(right.events[3].input) == 3
    assert right.scores["exact_match"].value == 1.0
    assert right.scores["exact_match"].answer == "1982-04-02"
    by_name = {score.name: score for score in log.results.scores}
    assert by_name["exact_match"].metrics["mean"].value == 0.5
    assert (by_name["exact_match"].scored_samples, log.results.total_samples) == (2, 4)
    usage = right.model_usage["openai/gpt-5"]
    assert (usage.input_tokens, usage.input_tokens_cache_read, usage.output_tokens) == (155, 80, 14)
    assert (usage.total_tokens, usage.reasoning_tokens) == (249, 6)
    assert log.stats.model_usage["openai/gpt-5"].total_tokens == 249
    wrong = next(sample for sample in log.samples if sample.id == "wrong")
    assert wrong.model_usage == {}
    assert wrong.metadata["usage_known"] is False
    errors = {sample.id: sample.error.message for sample in log.samples if sample.error}
    assert errors == {"lost": "ModelError: the server is gone", "cut": "unfinished"}
    assert log.status == "error"


def test_many_episodes_are_spread_over_several_logs(tmp_path, monkeypatch):
    monkeypatch.setattr("agent_env.features.interop.export.inspect_log.AT_ONCE", 3)
    assert write(source_of(a_run(tmp_path / "run")), tmp_path) == {"web": 3, "web.2": 1}
    logs = [inspect_log.read_eval_log(str(tmp_path / f"{n}.eval")) for n in ("web", "web.2")]
    assert [sample.id for log in logs for sample in log.samples] == [
        "cut", "lost", "right", "wrong",
    ]  # fmt: skip


def test_control_characters_in_a_run_are_exported_or_refused_in_one_line(tmp_path):
    run = a_run(tmp_path / "run")
    manifest = run.path / "run.json"
    data = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(data | {"dataset": "\0\x1b[2J"}))
    (tmp_path / "out").mkdir()
    assert write(source_of(Run(run.path)), tmp_path / "out")
    manifest.write_text(json.dumps(data | {"created_at": data["created_at"] + "\0\x1b[2J"}))
    with pytest.raises(DatasetError, match="created_at: it is not a time"):
        write(source_of(Run(run.path)), tmp_path / "out")
