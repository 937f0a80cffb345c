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


def test_messages_calls_scores_and_tokens_are_those_of_the_run(log):
    samples = {sample.id: sample for sample in log.samples}
    right, wrong = samples["right"], samples["wrong"]
    assert [m.role for m in right.messages] == ["user", "assistant", "tool", "assistant"]
    asked, told = right.messages[1:3]
    (call,) = asked.tool_calls
    assert (asked.text, asked.content[0].reasoning) == ("I look.", "Hm.")
    assert (call.function, call.arguments) == ("web_search", {"query": "Falklands War"})
    assert told.tool_call_id == call.id
    failed, first, searched, last = right.events
    kinds = [event.event for event in right.events]
    assert kinds == ["model", "model", "tool", "model"]
    assert failed.error == "too many requests"
    assert (first.output.usage.input_tokens, first.working_time) == (60, 0.25)
    assert searched.result.startswith("It began on 1982-04-02.")
    assert len(last.input) == 3
    score = right.scores["exact_match"]
    assert (score.value, score.answer, right.target) == (1.0, "1982-04-02", ["1982-04-02"])
    mean = next(score for score in log.results.scores if score.name == "exact_match")
    assert (mean.metrics["mean"].value, mean.scored_samples) == (0.5, 2)
    assert log.results.total_samples == 4
    usage = right.model_usage["openai/gpt-5"]
    assert (usage.input_tokens, usage.input_tokens_cache_read, usage.output_tokens) == (155, 80, 14)
    assert (usage.total_tokens, usage.reasoning_tokens) == (249, 6)
    assert log.stats.model_usage["openai/gpt-5"].total_tokens == 249
    assert (wrong.model_usage, wrong.metadata["usage_known"]) == ({}, False)
    errors = {name: sample.error.message for name, sample in samples.items() if sample.error}
    assert errors == {"lost": "ModelError: the server is gone", "cut": "unfinished"}
    assert log.status == "error"


def test_many_episodes_are_spread_over_several_logs(tmp_path, monkeypatch):
    monkeypatch.setattr("agent_env.features.interop.export.inspect_log.AT_ONCE", 3)
    assert write(source_of(a_run(tmp_path / "run")), tmp_path) == {"web": 3, "web.2": 1}
    logs = [inspect_log.read_eval_log(str(tmp_path / f"{n}.eval")) for n in ("web", "web.2")]
    ids = [sample.id for log in logs for sample in log.samples]
    assert ids == ["cut", "lost", "right", "wrong"]


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
