"""What of a log cannot be read is left out, counted and named; the rest is compared."""

import json
import os
import resource
import shutil
from pathlib import Path

import pytest

from agent_env.errors import ConfigError, DatasetError
from agent_env.extensions.facts.tables.table_files import read_table_file
from agent_env.extensions.interop.foreign.as_run import import_logs
from agent_env.extensions.interop.foreign.fields import parse
from agent_env.extensions.interop.foreign.read import read_logs
from agent_env.runs.compare import CompareOptions, compare_tasks, comparison_json, select_tables
from agent_env.worker import child
from agent_env.worker.wire import JOBS

pytestmark = pytest.mark.usefixtures("unconfined")

LOGS = Path(__file__).parents[3] / "data" / "foreign"


def _read(path):
    (log,) = read_logs([path], None)
    return log


def _compare(*paths):
    """The remarks of the comparison, and the notes of the reading."""
    notes = []
    (task,) = compare_tasks(CompareOptions(runs=paths, resamples=1000), notes.append)
    return task.comparison.study.notes, notes


def _lines(file, rows):
    file.parent.mkdir(exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def _lm_rows(values):
    fixed = {"doc": {}, "target": "4", "arguments": {}, "resps": [], "filtered_resps": []}
    return [
        {**fixed, "doc_id": n, "metrics": ["score"], "score": value}
        for n, value in enumerate(values)
    ]


def test_a_line_that_is_cut_costs_that_episode_alone(tmp_path):
    text = (LOGS / "verifiers-0.4/tool/traces.jsonl").read_text()
    (tmp_path / "traces.jsonl").write_text(text[:-2000])
    log = _read(tmp_path)
    assert len(log.episodes) == 5
    assert "no JSON objects, or cut (1, the first traces.jsonl:6)" in log.notes[0]


def test_a_reward_of_which_a_part_is_no_number_is_left_out(tmp_path):
    rows = [json.loads(x) for x in (LOGS / "verifiers-0.4/tool/traces.jsonl").open()]
    scored = next(n for n, row in enumerate(rows) if row["ok"])
    rows[scored]["traces"][0]["rewards"]["right"]["score"] = "high"
    log = _read(_lines(tmp_path / "traces.jsonl", rows))
    assert set(log.episodes[scored].metrics) == {"reward/brief", "tools_used"}
    first = f"(1, the first 'high' in traces.jsonl:{scored + 1})"
    assert log.notes[0] == f"left out: values of rewards.right that are no numbers {first}"


def test_simulations_before_the_cut_are_read(tmp_path):
    text = (LOGS / "tau2/tool.json").read_text()
    (tmp_path / "cut.json").write_text(text[: text.rindex('"task_id"')])
    log, whole = _read(tmp_path / "cut.json"), _read(LOGS / "tau2/tool.json")
    assert log.episodes == whole.episodes[:-1]
    assert log.notes[0].startswith("left out: what comes after the point where the file is cut")
    (tmp_path / "cut.json").write_text(text[:50])
    with pytest.raises(DatasetError, match=r"cut\.json: is not JSON, or cut"):
        _read(tmp_path / "cut.json")


def test_tau2_simulations_are_read_from_a_folder(tmp_path):
    data = json.loads((LOGS / "tau2/tool.json").read_text())
    simulations = data.pop("simulations")
    data["simulation_index"] = [{"id": each["id"]} for each in simulations]
    (tmp_path / "results.json").write_text(json.dumps(data))
    (tmp_path / "simulations").mkdir()
    for each in simulations[1:]:
        (tmp_path / "simulations" / f"{each['id']}.json").write_text(json.dumps(each))
    log = _read(tmp_path)
    assert len(log.episodes) == 5
    assert log.notes[0].startswith("left out: simulations of the index without a file (1")


def test_a_trial_of_harbor_without_a_result_is_counted(tmp_path):
    shutil.copytree(LOGS / "harbor/tool", tmp_path / "job")
    cut, gone = sorted((tmp_path / "job").glob("sum-17-25*"))
    (cut / "result.json").write_text("{")
    (cut / "agent" / "trajectory.json").write_text("{")
    (gone / "result.json").unlink()
    log = _read(tmp_path / "job")
    assert len(log.episodes) == 4
    assert [note.split(" (")[0] for note in log.notes[:2]] == [
        "left out: trials whose result is no JSON, or cut",
        "left out: trials without a result",
    ]


def test_a_trace_a_line_is_read_as_verifiers_0_2_wrote_it(tmp_path):
    rows = []
    for line in (LOGS / "verifiers-0.4/tool/traces.jsonl").open():
        (trace,) = json.loads(line)["traces"]
        del trace["ok"]
        trace["timing"]["generation"] = trace["timing"].pop("agent")
        trace["rewards"] = {n: r["score"] * r["weight"] for n, r in trace["rewards"].items()}
        rows.append(trace)
    log = _read(_lines(tmp_path / "traces.jsonl", rows))
    assert [each.metrics.get("reward") for each in log.episodes].count(1.5) == 4
    assert all(each.used["duration_s"] > 0 for each in log.episodes)
    assert sum(each.failure is not None for each in log.episodes) == 2


def test_an_episode_of_verifiers_that_went_well_at_last_is_no_failure(tmp_path):
    rows = [json.loads(x) for x in (LOGS / "verifiers-0.4/tool/traces.jsonl").open()]
    row = next(row for row in rows if row["ok"])
    row["traces"][0]["errors"] = [{"type": "ProviderError", "message": "again"}]
    log = _read(_lines(tmp_path / "traces.jsonl", rows))
    assert sum(each.failure is not None for each in log.episodes) == 2


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("values", [[1.7e308, -1.7e308], [1.7e308, 1.7e308, 1.0]])
def test_scores_whose_sums_are_no_numbers_have_none(tmp_path, values):
    rows = _lm_rows(values * 20)
    files = [_lines(tmp_path / n / "samples_x.jsonl", rows) for n in ("a", "b")]
    (task,) = compare_tasks(CompareOptions(runs=tuple(files), resamples=1000), lambda text: None)
    tables = select_tables(task.comparison, ["all"], ())
    text = json.dumps(comparison_json(task.comparison, tables), allow_nan=False)
    conditions = json.loads(text)["conditions"]
    assert "score" in json.dumps(conditions)


def test_a_row_that_names_no_sample_is_told_with_its_file(tmp_path):
    (tmp_path / "columns.toml").write_text('[columns]\nsample = "s"\nscores = ["x"]\n')
    files = [_lines(tmp_path / n / "t.jsonl", [{"s": "", "x": 1}]) for n in ("a", "b")]
    options = CompareOptions(runs=tuple(files), columns=tmp_path / "columns.toml")
    with pytest.raises(DatasetError, match=r"a/t\.jsonl: holds a value that its tool does not"):
        compare_tasks(options, lambda text: None)


def test_logs_without_a_common_sample_are_told_by_theirs():
    paths = (LOGS / "verifiers-0.4/tool", LOGS / "harbor/head")
    with pytest.raises(ConfigError, match=r"no sample in common.* tool has .*; fake/head has sum-"):
        _compare(*paths)


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
    a = _lines(tmp_path / "a/samples_x.jsonl", _lm_rows(first))
    b = _lines(tmp_path / "b/samples_x.jsonl", _lm_rows(second))
    remarks, _ = _compare(a, b)
    expected = [] if ranges is None else [f"score may not mean the same in all logs: {ranges}."]
    assert [each for each in remarks if "may not mean" in each] == expected


def test_texts_in_place_of_numbers_are_counted(tmp_path):
    a = _lines(tmp_path / "a/samples_x.jsonl", _lm_rows([1, "0.5", None, float("nan"), 1]))
    b = _lines(tmp_path / "b/samples_x.jsonl", _lm_rows([1, 1, 1, 1, 0]))
    _, notes = _compare(a, b)
    values = "values of score that are no numbers (2, the first '0.5' in samples_x.jsonl:2)"
    assert f"{a}: left out: {values}" in notes


def test_a_folder_that_no_tool_wrote_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"is no folder of results that is known; known: logs of"):
        read_logs([tmp_path], None)


def test_a_job_of_several_agents_and_datasets_is_a_log_an_agent(tmp_path):
    shutil.copytree(LOGS / "harbor/tool", tmp_path / "job")
    for trial in sorted((LOGS / "harbor/head").glob("sum-17*")):
        shutil.copytree(trial, tmp_path / "job" / trial.name)
    for trial in (tmp_path / "job").glob("sum-130*"):
        file = trial / "result.json"
        file.write_text(file.read_text().replace('"source": "tasks"', '"source": "others"'))
    head, tool = read_logs([tmp_path / "job"], None)
    assert (head.name, tool.name) == ("chat fake/head", "chat fake/tool")
    assert (head.task, tool.task) == ("tasks", "others, tasks")
    assert tool.samples["sum-130-12"] == {"dataset": "others"}


def _tau2(file, **changes):
    data = json.loads((LOGS / "tau2/tool.json").read_text())
    data["simulations"] = data["simulations"][:2]
    data["simulations"][0] |= changes
    file.write_text(json.dumps(data))
    return file


def test_half_a_surrogate_pair_becomes_a_sign_that_files_can_hold():
    assert parse(r'"\ud83d\ude00 \ud800 \\ud800 \uDC00\n"') == "\U0001f600 \ufffd \\ud800 \ufffd\n"


def test_halves_of_pairs_anywhere_are_imported(tmp_path):
    half = "\ud800"
    messages = [{"role": "user", "content": half}, {"role": "assistant", "content": f"{half}="}]
    log = _tau2(tmp_path / "t.json", task_id=f"../{half}", messages=messages)
    (run,) = import_logs([log], tmp_path / "run", lambda text: None)
    assert (run.episodes, run.transcripts) == (2, 2)
    assert {path.parent.name for path in (tmp_path / "run").rglob("*.1.jsonl")} == {"log"}


@pytest.mark.parametrize("digits", ["1e999", "NaN", "-Infinity", "9" * 400, "9" * 5000])
def test_a_number_beyond_a_float_is_left_out(tmp_path, digits):
    file = _tau2(tmp_path / "t.json", agent_cost=0.125)
    file.write_text(file.read_text().replace("0.125", digits))
    log = _read(file)
    assert "cost_usd" not in log.episodes[0].used
    assert log.notes[0].startswith("left out: values of agent_cost that are no numbers (1, ")


def test_a_value_of_another_kind_than_the_tool_writes_is_named_and_leaves_nothing(
    tmp_path,
):
    rows = [json.loads(x) for x in (LOGS / "verifiers-0.4/tool/traces.jsonl").open()]
    next(row for row in rows if row["ok"])["traces"][0]["nodes"][0]["parent"] = [[1]]
    log = _lines(tmp_path / "in" / "traces.jsonl", rows)
    with pytest.raises(DatasetError, match=r"traces\.jsonl: holds a value that its tool does not"):
        import_logs([log], tmp_path / "run", lambda text: None)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_a_reason_that_is_no_text_is_none(tmp_path):
    log = _read(_tau2(tmp_path / "t.json", termination_reason=[["user_stop"]]))
    assert log.episodes[0].stop_reason is None


def test_a_job_waits_for_no_fifo_and_leaves_its_folder_by_no_link(tmp_path):
    job = tmp_path / "job"
    shutil.copytree(LOGS / "harbor/tool", job)
    first, second = sorted(job.glob("sum-17-25*"))
    (first / "result.json").unlink()
    os.mkfifo(first / "result.json")
    trajectory = second / "agent" / "trajectory.json"
    trajectory.rename(tmp_path / "private.json")
    trajectory.symlink_to(tmp_path / "private.json")
    (log,) = read_logs([job], None, with_transcripts=True)
    assert len(log.episodes) == 5
    (episode,) = (each for each in log.episodes if each.sample == "sum-17-25")
    assert episode.transcript is None
    assert [note.split(" (")[0] for note in log.notes[:2]] == [
        "left out: trials whose result is no JSON, or cut",
        "left out: trajectories that are no JSON, or cut",
    ]


@pytest.mark.parametrize("name", ["traces.jsonl", "results.json"])
def test_a_results_folder_is_left_by_no_link(tmp_path, name):
    job = tmp_path / "job"
    (job / "simulations").mkdir(parents=True)
    _tau2(tmp_path / "private.json")
    (job / name).symlink_to(tmp_path / "private.json")
    with pytest.raises(ConfigError, match=rf"cannot read .*{name}: "):
        read_logs([job], None)


def test_trials_that_are_said_to_be_missing_are_counted_at_once(tmp_path):
    shutil.copytree(LOGS / "harbor/tool", tmp_path / "job")
    result = json.loads((tmp_path / "job/result.json").read_text())
    (tmp_path / "job/result.json").write_text(json.dumps({**result, "n_total_trials": 10**15}))
    assert (
        _read(tmp_path / "job")
        .notes[0]
        .startswith(f"left out: trials without a result ({10**15 - 6}, ")
    )


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("a,-1,1", "repeat -1 of sample a is not from 1 to 100000"),
        ("a,1e18,1", "repeat 1000000000000000000 of sample a is not from 1 to 100000"),
        ("a,inf,1", "t.csv:2: n: 'inf' is no number"),
        ("a,1,1e999", "t.csv:2: right: '1e999' is no number"),
        ("a,1,nan", "t.csv:2: right: 'nan' is no number"),
    ],
)
def test_a_number_that_no_table_means_is_refused(tmp_path, row, message):
    (tmp_path / "t.csv").write_text(f"id,n,right\n{row}\n")
    columns = tmp_path / "columns.toml"
    columns.write_text('[columns]\nsample = "id"\nrepeat = "n"\nscores = ["right"]\n')
    with pytest.raises(DatasetError, match=message):
        read_logs([tmp_path / "t.csv"], columns)


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
    for read in (lambda: read_logs([file], columns), lambda: read_table_file(file)):
        with pytest.raises(
            DatasetError, match=r"t\.parquet: cannot be read: that took more than 25"
        ):
            read()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kB
