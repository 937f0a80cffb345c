"""score-answers as a user calls it: on files, with mappings, centroids and bad input."""

import csv
import json

import pytest

from agent_env.cli.app import main

HEAD = ["question", "label", "category", "table_id", "answer_format", "answer_temporal_unit",
        "split", "table_context", "response"]  # fmt: skip
ROWS = [
    ["How old was he?", "25", "person", "1", "<num_years>", "years", "head", "Born\t1984",
     "He won it.\nFinal Answer: In 2009, he was 25"],
    ["How many days?", "1095", "person", "1", "<num_days>", "days", "head", "Born\t1984",
     "Final Answer: 1,095 days"],
    ["How old was she?", "16", "person", "2", "<num_years>", "years", "head", "Born\t1994",
     "Final Answer: 17"],
    ["How old was she then?", "30", "person", "2", "<num_years>", "years", "head", "Born\t1994",
     "Final Answer: 30"],
]  # fmt: skip


def write(path, rows):
    with path.open("w", newline="", encoding="utf-8") as opened:
        csv.writer(opened).writerows(rows)
    return path


@pytest.fixture
def responses(tmp_path):
    return write(tmp_path / "ttqa_head_Some-7B_few-shot_x.csv", [HEAD, *ROWS])


def call(capsys, *arguments, command=("questions", "score-answers")):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["agent-env", *command, *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
    told = capsys.readouterr()
    return int(left.value.code or 0), told.out, told.err


def test_figures_of_one_mode_or_both_and_centroids(capsys, responses, tmp_path):
    code, out, _ = call(capsys, responses, "--mode", "v2", "--json")
    (found,) = json.loads(out)["files"]
    assert code == 0
    assert (found["n"], found["exact_match"], found["unparsed"]) == (4, 75.0, 0)
    assert (found["n_smape"], found["n_mase"]) == (4, 3)
    assert found["smape"] == pytest.approx(100 / 33 / 4)
    assert found["mase"] == pytest.approx(1 / ((25 - 71 / 3 + 71 / 3 - 16 + 30 - 71 / 3) / 3) / 3)
    assert (found["errors"]["off_by_one"], found["errors"]["transitional"]) == (1, 1)
    code, out, _ = call(capsys, responses, "--mode", "paper", "--json")
    (found,) = json.loads(out)["files"]
    assert (found["exact_match"], found["n_mase"], found["unparsed"]) == (25.0, 4, 0)
    differ = tmp_path / "differ.csv"
    code, out, _ = call(capsys, responses, "--disagreements", differ)
    assert code == 0
    assert "mode paper" in out
    assert "mode v2" in out
    assert "1 a calendar year taken for the answer" in out
    assert "always the median: ttqa head" in out
    assert "EM@1" in out
    assert "v2: 1 answers of 1 file in no MASE: the gold answers in days do not differ" in out
    assert [row["cause"] for row in csv.DictReader(differ.open())] == [
        "a calendar year taken for the answer", "cut at the thousands separator",
    ]  # fmt: skip
    _, out, _ = call(capsys, responses, "--mode", "paper", "--json")
    report = tmp_path / "report.json"
    report.write_text(out)
    _, again, _ = call(capsys, responses, "--mode", "paper", "--centroids", report, "--json")
    assert json.loads(again)["files"] == json.loads(out)["files"]
    rows = [["dataset", "split", "unit", "centroid"], ["ttqa", "", "years", "20"]]
    table = write(tmp_path / "c.csv", [*rows, ["ttqa", "", "days", "95"]])
    _, given, _ = call(capsys, responses, "--mode", "paper", "--centroids", table, "--json")
    (found,) = json.loads(given)["files"]
    assert found["mase"] == pytest.approx(((2009 - 25) / 5 + 1094 / 1000 + 1 / 4 + 0) / 4)


def test_rows_of_no_question_and_runs(capsys, responses, tmp_path):
    rows = [HEAD[:-1], *(row[:-1] for row in ROWS[:3]), [*ROWS[3][:-2], "Born\t1994"]]
    rows[-1][0] = "Another question?"
    questions = write(tmp_path / "ttqa.csv", rows)
    _, out, _ = call(capsys, responses, "--mode", "v2", "--questions", questions, "--json")
    (found,) = json.loads(out)["files"]
    assert (found["n"], found["unmatched"], found["unanswered"]) == (3, [4], 1)
    run = tmp_path / "r"
    conditions = ["--condition", "base", "--condition", "cal", "--option", "prefill=true"]
    made = ["temp-answers", "--limit", "6", *conditions, "--out", run]
    assert call(capsys, *made, command=("run",))[0] == 0
    _, out, _ = call(capsys, run, "--json")
    files = json.loads(out)["files"]
    assert [(f["model"], f["dataset"], f["v2"]["n"]) for f in files] == [
        ("reference base", "ttqa", 2), ("reference base", "tot", 4),
        ("reference cal", "ttqa", 2), ("reference cal", "tot", 4),
    ]  # fmt: skip
    assert all(f["v2"]["exact_match"] == 100.0 for f in files)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--mode", "v2", "--disagreements", "x.csv"], "--disagreements compares the modes"),
        (["--centroids", "nowhere.json"], "nowhere.json: cannot be read"),
    ],
)
def test_mistakes_are_one_line(capsys, responses, arguments, said):
    code, _, err = call(capsys, responses, *arguments)
    assert code == 2
    assert said in err
    assert len(err.strip().splitlines()) == 1
