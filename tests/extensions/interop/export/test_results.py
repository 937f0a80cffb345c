"""Files of results: the means and intervals of `score`, for others to read."""

import hashlib
import json
from pathlib import Path

import pytest

from agent_env.errors import ConfigError
from agent_env.extensions.interop.export import results
from agent_env.extensions.interop.export.results import _Log, _notes
from agent_env.extensions.interop.export.source import MeanScore, hub_model
from agent_env.extensions.interop.run_export import ExportOptions, export
from agent_env.records.imported import ImportSource
from agent_env.runs.score import read_scores
from tests.extensions.interop.export.runs import a_run, source_of

MEAN = MeanScore("web", "match", 0.5, None, None, "all equal", 2, 2, False, True)
FOLDER = "data/time-puzzles/openai/gpt-5"


def _eee(folder, **options):
    result = export(folder, ExportOptions("eee", **options), lambda text: None)
    assert result.counts == {"logs": 1, "samples": 2}
    assert result.left_out == 2
    (file,) = Path(result.where).glob(f"{FOLDER}/*.json")
    lines = file.with_name(f"{file.stem}_samples.jsonl")
    return json.loads(file.read_bytes()), list(map(json.loads, lines.open())), lines


def test_a_log_has_the_means_and_intervals_of_score(tmp_path):
    folder = a_run(tmp_path)
    log, _, _ = _eee(folder, organization="Example Lab")
    assert log["schema_version"] == "0.3.0"
    assert log["source_metadata"]["source_organization_name"] == "Example Lab"
    main = log["evaluation_results"][0]
    assert main["metric_config"] == {
        "metric_id": "exact-match", "metric_name": "exact_match", "metric_unit": "proportion",
        "lower_is_better": False, "score_type": "continuous", "min_score": 0, "max_score": 1,
    }  # fmt: skip
    score = main["score_details"]
    assert score["score"] == 0.5
    interval = score["uncertainty"]["confidence_interval"]
    assert (interval["lower"], interval["upper"]) == pytest.approx((0.0945312, 0.9054688))
    own = read_scores(folder, None, lambda text: None).as_json(with_changes=False)
    assert isinstance(own["conditions"], dict)
    told = own["conditions"]["web"]
    assert (told["exact_match"], told["exact_match_interval"]) == (
        score["score"], (interval["lower"], interval["upper"]),
    )  # fmt: skip
    errors = log["evaluation_results"][-1]["metric_config"]
    assert (errors["metric_id"], errors["max_score"]) == ("agent-env.days_off", "Infinity")
    assert errors["lower_is_better"] is True


def test_a_line_is_an_episode_with_a_score_and_its_transcript(tmp_path):
    log, (right, wrong), file = _eee(a_run(tmp_path))
    assert (right["sample_id"], right["evaluation"]) == (
        "right", {"score": 1.0, "is_correct": True, "num_turns": 4, "tool_calls_count": 1},
    )  # fmt: skip
    assert right["interaction_type"] == "agentic"
    assert right["input"] == {"raw": "Which day was it?", "reference": ["1982-04-02"]}
    assert right["messages"][1]["tool_calls"] == [
        {"id": "call_1", "name": "web_search", "arguments": {"query": "Falklands War"}}
    ]
    assert right["answer_attribution"][0]["extracted_value"] == "1982-04-02"
    assert right["token_usage"]["total_tokens"] == 249
    assert wrong["token_usage"] is None
    details = log["detailed_evaluation_results"]
    assert details["file_path"] == f"{FOLDER}/{file.name}"
    assert details["checksum"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert right["evaluation_id"] == log["evaluation_id"]
    names = {result["evaluation_result_id"] for result in log["evaluation_results"]}
    assert right["evaluation_result_id"] in names


def test_an_entry_of_a_model_repository_tells_tools_and_interval(tmp_path):
    options = ExportOptions("hf", benchmark="example/puzzles:dates")
    result = export(a_run(tmp_path), options, lambda text: None)
    assert result.counts == {"results": 1}
    file = Path(result.where) / ".eval_results" / "dates_web.yaml"
    assert file.read_text() == (
        "- dataset:\n"
        '    id: "example/puzzles"\n'
        '    task_id: "dates"\n'
        "  value: 0.5\n"
        '  date: "2026-01-01T00:00:00+00:00"\n'
        '  notes: "tools: web_search, open_page; condition web; mean of exact_match, higher is '
        "better; 95 % CI 0.0945 to 0.9055 (Wilson); 2 samples, 2 episodes; model openai/gpt-5; "
        'agent-env unknown"\n'
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (ExportOptions("hf"), "--benchmark is needed"),
        (ExportOptions("eee", benchmark="puzzles"), "--benchmark puzzles: write the dataset"),
        (ExportOptions("eee", min_score=1.0), "whole conditions"),
        (ExportOptions("eee", where=("stop_reason=answered",)), "--where condition=NAME"),
        (ExportOptions("eee", where=("condition=web,base",)), "condition=base: the run has web"),
    ],
)
def test_what_would_be_no_result_is_refused(tmp_path, options, words):
    with pytest.raises(ConfigError, match=words):
        export(a_run(tmp_path), options, lambda text: None)


def test_a_run_without_a_finished_episode_has_no_log(tmp_path):
    folder = a_run(tmp_path)
    for name in ("right", "wrong"):
        (folder.path / f"episodes/web/{name}.1.jsonl").unlink()
    result = export(folder, ExportOptions("eee"), lambda text: None)
    assert (result.counts, result.left_out) == ({"logs": 0, "samples": 0}, 2)


def test_an_imported_log_names_its_own_tool_and_claims_nothing_that_it_lacks(
    tmp_path,
):
    folder = a_run(tmp_path / "run")
    source = ImportSource(tool="inspect_ai 0.3.285", file="a.eval", metrics=("exact_match",))
    bare = folder.manifest.conditions[0].model_copy(update={"tools": ()})
    imported = folder.manifest.model_copy(
        update={"imported": source, "conditions": (bare,), "options": {"repeats": "2"}}
    )
    log, harness = _Log(source_of(folder), bare, tmp_path), results.harness(imported)
    assert harness == ("inspect_ai", "0.3.285")
    result = log._result(MEAN, imported)
    assert result["metric_config"]["metric_id"] == "inspect_ai.match"
    assert result["generation_config"] == {
        "generation_args": {}, "additional_details": {"repeats": "1", "option_repeats": "2"},
    }  # fmt: skip
    assert _notes(bare, MEAN, imported).startswith("tools unknown; condition web; mean of match")


def test_a_model_is_named_as_the_hub_names_it():
    names = {
        "openai/gpt-5": "openai/gpt-5",
        "reference": "agent-env/reference",
        "compatible/Qwen/Qwen3-8B@http://127.0.0.1:1": "Qwen/Qwen3-8B",
        "compatible/qwen3": "unknown/qwen3",
        "local/models/tiny.gguf": "unknown/tiny.gguf",
    }
    assert {model: hub_model(model) for model in names} == names


def test_results_point_to_a_pack_of_their_run_by_its_digest(tmp_path):
    import zipfile

    folder = a_run(tmp_path)
    file = tmp_path / "run.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("run/run.json", json.dumps({"id": folder.manifest.id}))
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    log, _, _ = _eee(folder, pack=file)
    details = log["source_metadata"]["additional_details"]
    assert details["pack"] == f"run.zip sha256:{digest}"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("run/run.json", '{"id": "another"}')
    with pytest.raises(ConfigError, match="is of the run"):
        _eee(folder, pack=file)
    file.write_bytes(b"no zip")
    with pytest.raises(ConfigError, match="is no pack"):
        _eee(folder, pack=file)
