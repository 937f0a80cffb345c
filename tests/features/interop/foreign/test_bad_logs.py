"""What of a log cannot be read is left out, counted and named; the rest is compared."""

import json
import resource

import pytest

from agent_env.errors import ConfigError, DatasetError
from agent_env.features.facts.tables.table_files import read_table_file
from agent_env.features.interop.foreign.as_run import import_logs
from agent_env.features.interop.foreign.lm_eval import parse
from agent_env.features.interop.foreign.read import read_logs
from agent_env.runs.comparing import compare
from agent_env.runs.comparing.compare import CompareOptions, compare_tasks
from agent_env.worker import child
from agent_env.worker.wire import JOBS

pytestmark = pytest.mark.usefixtures("unconfined")


def _read(path):
    (log,) = read_logs([path], None)
    return log


def _compare(*paths, **changes):
    """The comparison, its remarks, and the notes of the reading."""
    notes = []
    (task,) = compare_tasks(CompareOptions(runs=paths, **changes), notes.append)
    return task.comparison, task.comparison.study.notes, notes


def _log(folder, rows):
    folder.mkdir(exist_ok=True)
    file = folder / "samples_x.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def _logs(folder, *values):
    """One in `a` and one in `b`."""
    return [_log(folder / name, _lm_rows(each)) for name, each in zip("ab", values, strict=True)]


def _lm_rows(values):
    fixed = {"doc": {}, "target": "4", "arguments": {}, "resps": [], "filtered_resps": []}
    fixed["metrics"] = ["score"]
    return [{**fixed, "doc_id": n, "score": value} for n, value in enumerate(values)]


def test_what_is_cut_unnamed_or_half_a_sign_is_told_or_mended(tmp_path):
    file = _log(tmp_path, _lm_rows([1, 0, 1]))
    file.write_text(file.read_text()[:-20])
    log = _read(file)
    assert len(log.episodes) == 2
    assert "not JSON objects, or are cut off (1, the first samples_x.jsonl:3)" in log.notes[1]
    columns = tmp_path / "columns.toml"
    columns.write_text('[columns]\nsample = "s"\nscores = ["x"]\n')
    files = [_log(tmp_path / n, [{"s": "", "x": 1}]).rename(tmp_path / n / "t.jsonl") for n in "ab"]
    with pytest.raises(DatasetError, match=r"a/t\.jsonl: holds a value that its tool does not"):
        _compare(*files, columns=columns)
    a, b = (_log(tmp_path / name, [row]) for name, row in zip("ab", _lm_rows([1, 0]), strict=True))
    with pytest.raises(ConfigError, match=r"no sample in common.* a has .*; b has "):
        _compare(a, b)
    a, b = _logs(tmp_path, [1, "0.5", None, float("nan"), 1], [1, 1, 1, 1, 0])
    values = "values of score that are not numbers (2, the first '0.5' in samples_x.jsonl:2)"
    assert f"{a}: left out: {values}" in _compare(a, b)[2]
    half = "\ud800"
    rows = _lm_rows([1, 1])
    rows[0] |= {"doc_id": f"../{half}", "arguments": [[half, {}]], "resps": [[f"{half}="]]}
    (run,) = import_logs([_log(tmp_path / "in", rows)], tmp_path / "run1", lambda text: None)
    assert (run.episodes, run.transcripts) == (2, 1)
    assert {path.parent.name for path in (tmp_path / "run1").rglob("*.1.jsonl")} == {"log"}


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("values", [[1.7e308, -1.7e308], [1.7e308, 1.7e308, 1.0]])
def test_scores_whose_sums_are_no_numbers_have_none(tmp_path, values):
    comparison, _, _ = _compare(*_logs(tmp_path, values * 20, values * 20))
    tables = compare.select_tables(comparison, None, ())
    text = json.dumps(compare.comparison_json(comparison, tables), allow_nan=False)
    assert "score" in json.dumps(json.loads(text)["conditions"])


@pytest.mark.parametrize(
    ("first", "second", "ranges"),
    [
        ([0, 1, 1], [0, 80, 100], "0 to 1 in a, 0 to 100 in b"),
        ([0, 1, 1], [0.2, 0.4, 0.9], "0 to 1 in a, 0.2 to 0.9 in b"),
        ([0, 1, 1], [0, 1, 0], None),
        ([0, 1, 1], [0.5, 1, 2], None),
        ([0, 1, 1], [1.5, 1.5, 1.5], None),
    ],
)
def test_a_score_of_another_range_is_pointed_out(tmp_path, first, second, ranges):
    _, remarks, _ = _compare(*_logs(tmp_path, first, second))
    expected = [] if ranges is None else [f"score may not mean the same in all logs: {ranges}."]
    assert [each for each in remarks if "may not mean" in each] == expected


def test_folders_and_signs_that_no_tool_wrote(tmp_path):
    with pytest.raises(ConfigError, match="is not a folder of results that is known; known: logs"):
        read_logs([tmp_path], None)
    assert parse(r'"\ud83d\ude00 \ud800 \\ud800 \uDC00\n"') == "\U0001f600 \ufffd \\ud800 \ufffd\n"


@pytest.mark.parametrize("digits", ["1e999", "NaN", "-Infinity", "9" * 400, "9" * 5000])
def test_a_number_beyond_a_float_is_left_out(tmp_path, digits):
    file = _log(tmp_path, _lm_rows([0.125, 1]))
    file.write_text(file.read_text().replace("0.125", digits))
    log = _read(file)
    assert log.episodes[0].metrics == {}
    assert log.notes[1].startswith("left out: values of score that are not numbers (1, ")


def test_a_small_parquet_file_of_millions_of_rows_is_refused(tmp_path, monkeypatch):
    """270 kB of 8 million rows once took 2.2 GB; here is a quarter of each."""
    monkeypatch.setattr(child, "is_worker", False)
    for job in ("logs", "table"):
        monkeypatch.setitem(JOBS, job, JOBS[job]._replace(memory_mb=256))
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    rows = pa.table({name: pa.repeat(pa.scalar(1, pa.int8()), 2_000_000) for name in ("id", "s")})
    file, columns = tmp_path / "t.parquet", tmp_path / "columns.toml"
    pq.write_table(rows, file)
    columns.write_text('[columns]\nsample = "id"\nscores = ["s"]\n')
    assert file.stat().st_size < 75_000
    del rows
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused = r"t\.parquet: cannot be read: that took more than 25"
    for read in (lambda: read_logs([file], columns), lambda: read_table_file(file)):
        with pytest.raises(DatasetError, match=refused):
            read()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kB
