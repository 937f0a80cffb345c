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
    tables = {t["episodes"][0]["sample"]: t for t in rows(source_of(run))}
    names = ("right", "wrong", "lost", "cut")
    right, wrong, lost, cut = (tables[name]["episodes"][0] for name in names)
    assert right["score_exact_match"] == 1.0
    assert (right["input_tokens"], right["output_tokens"], right["cached_tokens"]) == (235, 14, 80)
    assert (right["steps"], right["tool_calls"], right["failed_calls"]) == (2, 1, 1)
    assert right["gold"] == right["read"] == ["1982-04-02"]
    assert (wrong["score_exact_match"], wrong["input_tokens"]) == (0.0, None)
    assert (lost["score_exact_match"], lost["status"]) == (None, "failed")
    assert (cut["outcome"], cut["answer"]) == ("unfinished", None)
    steps = tables["right"]["steps"]
    assert [(s["call"], s["step"], s["error_kind"]) for s in steps] == [
        (1, None, "rate_limit"), (2, 1, None), (3, 2, None),
    ]  # fmt: skip
    assert sum(s["input_tokens"] for s in steps) == 235


def _folder(path):
    path.mkdir()
    return path


def test_json_lines_and_parquet_hold_the_same_typed_rows(run, tmp_path):
    import pyarrow.parquet as pq

    source, lines, tables = source_of(run), _folder(tmp_path / "a"), _folder(tmp_path / "b")
    counts = write_jsonl(source, lines)
    assert counts == write_parquet(source, tables)
    assert counts == {"episodes": 4, "steps": 4, "tool_calls": 1}
    rows = [json.loads(row) for row in (lines / "episodes.jsonl").read_text().splitlines()]
    written = pd.read_parquet(tables / "episodes.parquet")
    assert [row["episode"] for row in rows] == list(written["episode"])
    assert list(rows[0]) == list(written.columns)
    assert written["input_tokens"].isna().sum() == 1
    assert written["input_tokens"].sum() == 235
    none = _folder(tmp_path / "none")
    write_parquet(source_of(run, Choice(names=frozenset())), none)
    schemas = [pq.read_schema(folder / "steps.parquet") for folder in (tables, none)]
    assert schemas[0] == schemas[1]


def test_a_broken_trace_is_named_and_the_others_are_there(tmp_path):
    folder = a_run(tmp_path)
    (folder.path / "episodes/web/lost.1.jsonl").write_text("{}\n{}\n")
    source, heard = source_of(folder), list[str]()
    source.on_broken = heard.append
    assert len(list(source)) == 3
    (told,) = heard
    assert "lost.1.jsonl:1:" in told


def test_a_page_with_half_a_character_can_be_written_in_any_format(tmp_path):
    """It is the text that the search gave; long ones stand in the store of texts."""
    folder = a_run(tmp_path / "run")
    page = "It began on 1982-04-02. \ud83d " + "and so on " * 50
    trace, texts = folder.path / "episodes/web/right.1.jsonl", Texts(folder.texts)
    events = read_trace(trace)
    trace.unlink()
    writer = TraceWriter(trace, "web/right.1", Clock(), texts)
    for event in events:
        if isinstance(event, ToolCalled):
            event = event.model_copy(update={"result": ToolResult(output=page)})
        given = event.model_fields_set - {"v", "kind", "episode", "seq", "at", "texts", "crc"}
        writer.write(type(event), **{name: getattr(event, name) for name in given})
    writer.close()
    texts.close()
    writers = (write_jsonl, write_parquet, write_sft, inspect_log.write, atif.write)
    for number, write in enumerate(writers):
        out = _folder(tmp_path / str(number))
        write(source_of(folder), out)
        assert any(out.iterdir())


def test_chats_and_rollouts_have_tools_and_rewards(run, tmp_path):
    source, out = source_of(run, Choice(min_score=1.0)), _folder(tmp_path / "out")
    write_sft(source, out)
    (chat,) = map(json.loads, (out / "sft.jsonl").read_text().splitlines())
    assert [m["role"] for m in chat["messages"]] == ["user", "assistant", "tool", "assistant"]
    asked, told = chat["messages"][1:3]
    function = {"name": "web_search", "arguments": '{"query": "Falklands War"}'}
    assert asked["tool_calls"] == [{"id": "call_1", "type": "function", "function": function}]
    assert (asked["reasoning_content"], told["tool_call_id"]) == ("Hm.", "call_1")
    assert chat["tools"][0]["function"]["name"] == "web_search"
    assert chat["messages"][chat["prompt_messages"] - 1]["content"] == "Which day was it?"
    assert (chat["metadata"]["episode"], source.left_out) == ("web/right.1", 3)
    out = _folder(tmp_path / "rollouts")
    assert write_rollouts(source_of(run), out) == {"results": 2}
    right, wrong = (json.loads(x) for x in (out / "results.jsonl").read_text().splitlines())
    assert (right["reward"], wrong["reward"]) == (1.0, 0.0)
    assert [m["role"] for m in right["prompt"]] == ["user"]
    assert [m["role"] for m in right["completion"]] == ["assistant", "tool", "assistant"]
    assert right["token_usage"] == {"input_tokens": 235, "output_tokens": 14}
    assert "token_usage" not in wrong
