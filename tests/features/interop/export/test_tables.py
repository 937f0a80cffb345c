"""Exports as tables and as training data."""

import json

import pandas as pd
import pytest

from agent_env.episodes.trace.lines import TraceWriter, read_trace
from agent_env.episodes.trace.texts import Texts
from agent_env.features.interop.export import atif, inspect_log
from agent_env.features.interop.export.source import Choice
from agent_env.features.interop.export.tables import rows, write_jsonl, write_parquet
from agent_env.features.interop.export.training import write_rollouts, write_sft
from agent_env.records.schema import ToolResult
from agent_env.records.trace_events import ToolCalled
from tests.features.interop.export.runs import Clock, a_run, source_of


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Nobody changes it."""
    return a_run(tmp_path_factory.mktemp("exported") / "run")


def test_rows_have_scores_and_sums_of_their_steps(run):
    found = {t["episodes"][0]["sample"]: t["episodes"][0] for t in rows(source_of(run))}
    right = found["right"]
    assert right["score_exact_match"] == 1.0
    assert (right["input_tokens"], right["output_tokens"], right["cached_tokens"]) == (235, 14, 80)
    assert (right["steps"], right["tool_calls"], right["failed_calls"]) == (2, 1, 1)
    assert right["gold"] == ["1982-04-02"]
    assert right["read"] == ["1982-04-02"]
    assert found["wrong"]["score_exact_match"] == 0.0
    assert found["wrong"]["input_tokens"] is None
    assert (found["lost"]["score_exact_match"], found["lost"]["status"]) == (None, "failed")
    assert (found["cut"]["outcome"], found["cut"]["answer"]) == ("unfinished", None)
    tables = next(t for t in rows(source_of(run)) if t["episodes"][0]["steps"] == 2)
    steps = tables["steps"]
    assert [(s["call"], s["step"], s["error_kind"]) for s in steps] == [
        (1, None, "rate_limit"), (2, 1, None), (3, 2, None),
    ]  # fmt: skip
    assert sum(s["input_tokens"] for s in steps) == tables["episodes"][0]["input_tokens"] == 235


def test_json_lines_and_parquet_hold_the_same_typed_rows(run, tmp_path):
    source = source_of(run)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    counts = write_jsonl(source, tmp_path / "a")
    assert counts == write_parquet(source, tmp_path / "b")
    assert counts == {"episodes": 4, "steps": 4, "tool_calls": 1}
    lines = (tmp_path / "a" / "episodes.jsonl").read_text().splitlines()
    written = pd.read_parquet(tmp_path / "b" / "episodes.parquet")
    assert [json.loads(line)["episode"] for line in lines] == list(written["episode"])
    assert list(json.loads(lines[0])) == list(written.columns)
    assert written["input_tokens"].isna().sum() == 1
    assert written["input_tokens"].sum() == 235
    import pyarrow.parquet as pq

    kinds = []
    for name, choice in (("all", Choice()), ("none", Choice(names=frozenset()))):
        (tmp_path / name).mkdir()
        write_parquet(source_of(run, choice), tmp_path / name)
        kinds.append(pq.read_schema(tmp_path / name / "steps.parquet"))
    assert kinds[0] == kinds[1]


def test_a_broken_trace_is_named_and_the_others_are_there(tmp_path):
    folder = a_run(tmp_path)
    (folder.path / "episodes/web/lost.1.jsonl").write_text("{}\n{}\n")
    source, heard = source_of(folder), list[str]()
    source.on_broken = heard.append
    assert len(list(source)) == 3
    assert len(heard) == 1
    assert "lost.1.jsonl:1:" in heard[0]


def test_a_page_with_half_a_character_can_be_written_in_any_format(tmp_path):
    folder = a_run(tmp_path / "run")
    page = "It began on 1982-04-02. \ud83d " + "and so on " * 50
    writers = (write_jsonl, write_parquet, write_sft, inspect_log.write, atif.write)
    for number, write in enumerate(writers):
        source, out = _with_output(folder, page), tmp_path / str(number)
        out.mkdir()
        write(source, out)
        assert any(out.iterdir())


def _with_output(folder, page):
    """The run, its search having given this text; long ones stand in the store of texts."""
    trace = folder.path / "episodes/web/right.1.jsonl"
    if not folder.texts.exists():
        events = read_trace(trace)
        trace.unlink()
        texts = Texts(folder.texts)
        writer = TraceWriter(trace, "web/right.1", Clock(), texts)
        for event in events:
            if isinstance(event, ToolCalled):
                event = event.model_copy(update={"result": ToolResult(output=page)})
            fields = {name: getattr(event, name) for name in event.model_fields_set}
            for name in ("v", "kind", "episode", "seq", "at", "texts", "crc"):
                fields.pop(name, None)
            writer.write(type(event), **fields)
        writer.close()
        texts.close()
    return source_of(folder)


def _sft(source, out):
    out.mkdir()
    write_sft(source, out)
    return [json.loads(line) for line in (out / "sft.jsonl").read_text().splitlines()]


def test_chats_and_rollouts_have_tools_and_rewards(run, tmp_path):
    chat = _sft(source_of(run, Choice(min_score=1.0)), tmp_path / "out")[0]
    assert [m["role"] for m in chat["messages"]] == ["user", "assistant", "tool", "assistant"]
    asked, told = chat["messages"][1:3]
    function = {"name": "web_search", "arguments": '{"query": "Falklands War"}'}
    assert asked["tool_calls"] == [{"id": "call_1", "type": "function", "function": function}]
    assert asked["reasoning_content"] == "Hm."
    assert told["tool_call_id"] == "call_1"
    assert chat["tools"][0]["function"]["name"] == "web_search"
    assert chat["messages"][chat["prompt_messages"] - 1]["content"] == "Which day was it?"
    source = source_of(run, Choice(min_score=1.0))
    assert [c["metadata"]["episode"] for c in _sft(source, tmp_path / "a")] == ["web/right.1"]
    assert source.left_out == 3
    source, out = source_of(run), tmp_path / "rollouts"
    out.mkdir()
    assert write_rollouts(source, out) == {"results": 2}
    right, wrong = (json.loads(x) for x in (out / "results.jsonl").read_text().splitlines())
    assert (right["reward"], wrong["reward"]) == (1.0, 0.0)
    assert [m["role"] for m in right["prompt"]] == ["user"]
    assert [m["role"] for m in right["completion"]] == ["assistant", "tool", "assistant"]
    assert right["token_usage"] == {"input_tokens": 235, "output_tokens": 14}
    assert "token_usage" not in wrong
