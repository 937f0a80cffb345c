"""Trajectories in Harbor's format, by the rules that its validator checks."""

import json

from agent_env.episodes.trace.lines import TraceWriter
from agent_env.features.interop.export import atif
from agent_env.records.schema import Message, Reply, ToolCall
from agent_env.records.trace_events import EpisodeFailed, EpisodeStarted, ModelCalled
from tests.episodes.runs import WEB, make_run
from tests.features.interop.export.runs import Clock, a_run, source_of


def _write(folder, out):
    out.mkdir()
    atif.write(source_of(folder), out)
    return {file.stem: json.loads(file.read_bytes()) for file in sorted(out.glob("*/*.json"))}


def test_a_step_is_a_message_or_a_reply_with_its_calls_and_results(tmp_path):
    right = _write(a_run(tmp_path / "run"), tmp_path / "out")["right.1"]
    assert (right["schema_version"], right["agent"]["model_name"]) == ("ATIF-v1.8", "openai/gpt-5")
    assert right["agent"]["tool_definitions"][0]["function"]["name"] == "web_search"
    extra = {"reasoning_tokens": 3, "usage_source": "provider"}
    used = {"completion_tokens": 7, "cached_tokens": 40, "extra": extra}
    assert right["steps"] == [
        {"step_id": 1, "timestamp": "2026-01-01T00:00:00.500Z", "source": "user",
         "message": "Which day was it?"},
        {"step_id": 2, "timestamp": "2026-01-01T00:00:01.500Z", "source": "agent",
         "message": "I look.", "reasoning_content": "Hm.", "model_name": "gpt-5-2026",
         "tool_calls": [{"tool_call_id": "call_1", "function_name": "web_search",
                         "arguments": {"query": "Falklands War"}}],
         "metrics": {"prompt_tokens": 100, **used}, "llm_call_count": 1,
         "observation": {"results": [{"source_call_id": "call_1",
                                      "content": "It began on 1982-04-02.",
                                      "extra": {"duration_s": 0.2}}]}},
        {"step_id": 3, "timestamp": "2026-01-01T00:00:02.500Z", "source": "agent",
         "message": "MY ANSWER: 1982-04-02", "llm_call_count": 1,
         "metrics": {"prompt_tokens": 130, **used}},
    ]  # fmt: skip
    assert right["final_metrics"]["total_prompt_tokens"] == 235
    assert right["notes"].startswith("Failed model calls: 1.")
    assert right["extra"]["scores"]["exact_match"] == 1.0


def test_what_is_unknown_is_left_out_and_never_0(tmp_path):
    files = _write(a_run(tmp_path / "run"), tmp_path / "out")
    wrong, lost = files["wrong.1"], files["lost.1"]
    assert "metrics" not in wrong["steps"][1]
    assert wrong["final_metrics"] == {"total_steps": 2, "extra": {"duration_s": 1.0}}
    extra, sources = lost["extra"], [step["source"] for step in lost["steps"]]
    assert (extra["failure"], extra["scores"]) == ("ModelError: the server is gone", {})
    assert sources == ["user"]


def test_arguments_that_are_no_json_object_are_kept_as_text(tmp_path):
    folder = make_run(tmp_path / "run", ["a", "b"])
    calls = tuple(
        ToolCall(id=name, name="web_search", arguments=arguments)
        for name, arguments in {"1": '{"n": 1e999}', "2": "[", "3": '{"n": 1}'}.items()
    )
    reply = Reply(message=Message(role="assistant", content="", tool_calls=calls))
    trace = TraceWriter(folder.path / "episodes/web/a.1.jsonl", "web/a.1", Clock())
    trace.write(
        EpisodeStarted, sample="a", condition=WEB, repeat=1, model="openai/gpt-5",
        messages=(Message(role="assistant", content="A worked example."),),
    )  # fmt: skip
    trace.write(ModelCalled, request="0" * 64, reply=reply, latency_s=0.1, replayed=True)
    trace.close()
    trace = TraceWriter(folder.path / "episodes/web/b.1.jsonl", "web/b.1", Clock())
    trace.write(EpisodeStarted, sample="b", condition=WEB, repeat=1, model="openai/gpt-5")
    trace.write(EpisodeFailed, error="ModelError", message="no prompt yet")
    trace.close()
    (document,) = _write(folder, tmp_path / "out").values()  # b has no step
    example, taken_over = document["steps"]
    assert example["is_copied_context"] is taken_over["is_copied_context"] is True
    first, second, third = taken_over["tool_calls"]
    assert first["arguments"] == {"arguments": '{"n": 1e999}'}
    assert second["extra"]["problem"].startswith("not JSON")
    assert third == {"tool_call_id": "3", "function_name": "web_search", "arguments": {"n": 1}}
