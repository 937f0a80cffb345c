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
    """The task, its comparison, and the notes of the reading."""
    notes = []
    (task,) = compare_tasks(CompareOptions(runs=paths, **changes), notes.append)
    return task, task.comparison, notes


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
    table, columns = tmp_path / "results.csv", tmp_path / "columns.toml"
    table.write_text(TABLE)
    columns.write_text(MAPPING)
    task, comparison, _ = _compare(table, columns=columns)
    assert task.name == "results"
    assert [arm.label for arm in comparison.study.arms] == ["a", "b"]
    assert comparison.values_of("right") == [0.5, 1.0]
    (difference,) = comparison.contrasts
    assert (difference.name, difference.pairs, difference.unpaired) == ("b − a", 4, 1)
    assert difference.difference.value == 0.5
    assert _compare(table, columns=columns, cluster="topic")[1].cluster_count == 3
    with pytest.raises(ConfigError, match="no sample has the field 'colour'; known: topic"):
        _compare(table, columns=columns, cluster="colour")
    pytest.importorskip("matplotlib")
    from agent_env.analysis.figures import scores

    _, comparison, _ = _compare(table, columns=columns, contrasts=("b:a",))
    (axes,) = scores(comparison).axes
    assert [text.get_text() for text in axes.texts][:2] == ["a", "0.50"]
    assert "outcomes" not in [table.name for table in select_tables(comparison, None, ())]


def test_samples_of_lm_eval_are_paired_or_refused_with_what_is_known(tmp_path):
    small, large = tmp_path / "small", tmp_path / "large"
    plain, tools = _lm_eval(small, [0, 0, 1, 1, 0, 1]), _lm_eval(large, [1, 0, 1, 1, 1, 1])
    task, comparison, notes = _compare(plain, tools)
    assert task.name == "addition"
    assert [arm.label for arm in comparison.study.arms] == ["small", "large"]
    assert comparison.contrasts[0].difference.value == pytest.approx(1 / 3)
    assert notes[0].endswith("the file tells no tokens and no errors")
    rows = {row[0]: row[1] for row in settings(task.manifests).rows}
    assert ".jsonl, lm-evaluation-harness" in str(rows["log of another tool"])
    assert rows.keys().isdisjoint({"strategies", "tokens counted by", "begun", "prompt"})
    plain, tools = _lm_eval(small, [0, 0, 1]), _lm_eval(large, [1, 0, 1], doc_hash="another")
    tools.write_text(tools.read_text().replace("another", "hash0", 1))
    study = _compare(plain, tools)[1].study
    assert len(study.samples) == 1
    assert "2 samples have the same id but different" in study.notes[0]
    plain, other = _lm_eval(small, [0]), _lm_eval(large, [0], metrics=["f1"], f1=0.5)
    with pytest.raises(ConfigError, match=r"no score in common: .*exact_match; .*f1"):
        _compare(plain, other)
    odd = tmp_path / "x.jsonl"
    odd.write_text('{"a": 1}\n')
    with pytest.raises(DatasetError, match=r"is not a log that is known; known: logs of Inspect"):
        _compare(odd, odd)
    with pytest.raises(ConfigError, match="compare runs with runs, and logs with logs"):
        _compare(odd, tmp_path)
