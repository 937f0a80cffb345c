"""Results of other tools go through the same comparison as ours."""

import json

import pytest

from agent_env.analysis.report import settings
from agent_env.errors import ConfigError, DatasetError
from agent_env.runs.comparing.compare import CompareOptions, compare_tasks, select_tables

pytestmark = pytest.mark.usefixtures("unconfined")

MAPPING = """
[columns]
sample = "question"
model = "model"
scores = ["right"]
output_tokens = "tokens"
failure = "error"
metadata = ["topic"]
"""
TABLE = """question,model,right,topic,tokens,error
1,a,1,x,10,
2,a,0,x,12,
3,a,1,y,9,
4,a,no,y,8,
5,a,,z,,connection lost
1,b,1,x,20,
2,b,1,x,22,
3,b,1,y,19,
4,b,yes,y,,
5,b,1,z,7,
"""


def _compare(*paths, **changes):
    notes = []
    options = CompareOptions(runs=paths, **changes)
    (task,) = compare_tasks(options, notes.append)
    return task, notes


def _table(folder, text=TABLE, mapping=MAPPING):
    (folder / "results.csv").write_text(text)
    (folder / "columns.toml").write_text(mapping)
    return {"columns": folder / "columns.toml"}


def _lm_eval(folder, values, **more):
    folder.mkdir(exist_ok=True)
    file = folder / "samples_addition_2026-11-22T10-00-00.000000.jsonl"
    lines = [
        {"doc_id": n, "doc": {"q": n}, "target": "4", "arguments": {}, "resps": [["4"]],
         "filtered_resps": ["4"], "filter": "none", "metrics": ["exact_match"],
         "exact_match": value, "doc_hash": f"hash{n}", **more}
        for n, value in enumerate(values)
    ]  # fmt: skip
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def test_a_table_is_compared_by_model_and_cluster_on_one_axis(tmp_path):
    task, _ = _compare(tmp_path / "results.csv", **_table(tmp_path))
    assert task.name == "results"
    assert [arm.label for arm in task.comparison.study.arms] == ["a", "b"]
    assert task.comparison.values_of("right") == [0.5, 1.0]
    (difference,) = task.comparison.contrasts
    assert (difference.name, difference.pairs, difference.unpaired) == ("b − a", 4, 1)
    assert difference.difference.value == 0.5
    task, _ = _compare(tmp_path / "results.csv", cluster="topic", **_table(tmp_path))
    assert task.comparison.cluster_count == 3
    with pytest.raises(ConfigError, match="no sample has the field 'colour'; known: topic"):
        _compare(tmp_path / "results.csv", cluster="colour", **_table(tmp_path))
    pytest.importorskip("matplotlib")
    from agent_env.analysis.figures import scores

    task, _ = _compare(tmp_path / "results.csv", contrasts=("b:a",), **_table(tmp_path))
    (axes,) = scores(task.comparison).axes
    assert [text.get_text() for text in axes.texts][:2] == ["a", "0.50"]
    assert "outcomes" not in [table.name for table in select_tables(task.comparison, None, ())]


def test_samples_of_lm_eval_are_paired_or_refused_with_what_is_known(tmp_path):
    plain = _lm_eval(tmp_path / "small", [0, 0, 1, 1, 0, 1])
    tools = _lm_eval(tmp_path / "large", [1, 0, 1, 1, 1, 1])
    task, notes = _compare(plain, tools)
    assert task.name == "addition"
    assert [arm.label for arm in task.comparison.study.arms] == ["small", "large"]
    assert task.comparison.contrasts[0].difference.value == pytest.approx(1 / 3)
    assert notes[0].endswith("the file tells no tokens and no errors")
    plain = _lm_eval(tmp_path / "small", [0, 0, 1])
    tools = _lm_eval(tmp_path / "large", [1, 0, 1], doc_hash="another")
    tools.write_text(tools.read_text().replace("another", "hash0", 1))
    task, _ = _compare(plain, tools)
    assert len(task.comparison.study.samples) == 1
    assert "2 samples have the same id but different" in task.comparison.study.notes[0]
    plain = _lm_eval(tmp_path / "small", [0])
    other = _lm_eval(tmp_path / "large", [0], metrics=["f1"], f1=0.5)
    with pytest.raises(ConfigError, match=r"no score in common: .*exact_match; .*f1"):
        _compare(plain, other)
    task, _ = _compare(_lm_eval(tmp_path / "small", [0, 1]), _lm_eval(tmp_path / "large", [1, 1]))
    rows = {row[0]: row[1] for row in settings(task.manifests).rows}
    assert ".jsonl, lm-evaluation-harness" in str(rows["log of another tool"])
    assert rows.keys().isdisjoint({"strategies", "tokens counted by", "begun", "prompt"})
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n')
    with pytest.raises(DatasetError, match=r"is not a log that is known; known: logs of Inspect"):
        _compare(tmp_path / "x.jsonl", tmp_path / "x.jsonl")
    with pytest.raises(ConfigError, match="compare runs with runs, and logs with logs"):
        _compare(tmp_path / "x.jsonl", tmp_path)
