"""score-answers as a user calls it: on files, with mappings, centroids and bad input."""

import csv
import json

import pytest

from tests.commands import agent_env, typed

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


def scored(*arguments):
    return agent_env("questions", "score-answers", *map(str, arguments))


def files(*arguments):
    done = scored(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["files"]


def test_figures_of_one_mode_or_both_and_centroids(responses, tmp_path):
    (v2,) = files(responses, "--mode", "v2")
    assert (v2["n"], v2["exact_match"], v2["unparsed"]) == (4, 75.0, 0)
    assert (v2["n_smape"], v2["n_mase"], v2["smape"]) == (4, 3, pytest.approx(100 / 33 / 4))
    assert v2["mase"] == pytest.approx(1 / ((25 - 71 / 3 + 71 / 3 - 16 + 30 - 71 / 3) / 3) / 3)
    assert (v2["errors"]["off_by_one"], v2["errors"]["transitional"]) == (1, 1)
    done = scored(responses, "--mode", "paper", "--json")
    (paper,) = json.loads(done.stdout)["files"]
    assert (paper["exact_match"], paper["n_mase"], paper["unparsed"]) == (25.0, 4, 0)
    report, differ = tmp_path / "report.json", tmp_path / "differ.csv"
    report.write_text(done.stdout)
    assert files(responses, "--mode", "paper", "--centroids", report) == [paper]
    done = scored(responses, "--disagreements", differ)
    assert done.returncode == 0
    for text in (
        "mode paper", "mode v2", "1 a calendar year taken for the answer",
        "always the median: ttqa head", "EM@1",
        "v2: 1 answers of 1 file in no MASE: the gold answers in days do not differ",
    ):  # fmt: skip
        assert text in done.stdout
    assert [row["cause"] for row in csv.DictReader(differ.open())] == [
        "a calendar year taken for the answer", "cut at the thousands separator",
    ]  # fmt: skip
    rows = [["dataset", "split", "unit", "centroid"], ["ttqa", "", "years", "20"]]
    table = write(tmp_path / "c.csv", [*rows, ["ttqa", "", "days", "95"]])
    (given,) = files(responses, "--mode", "paper", "--centroids", table)
    assert given["mase"] == pytest.approx(((2009 - 25) / 5 + 1094 / 1000 + 1 / 4 + 0) / 4)


def test_rows_of_no_question_and_runs(responses, tmp_path):
    rows = [HEAD[:-1], *(row[:-1] for row in ROWS[:3]), [*ROWS[3][:-2], "Born\t1994"]]
    rows[-1][0] = "Another question?"
    (found,) = files(responses, "--mode", "v2", "--questions", write(tmp_path / "ttqa.csv", rows))
    assert (found["n"], found["unmatched"], found["unanswered"]) == (3, [4], 1)
    run = tmp_path / "r"
    line = "run temp-answers --limit 6 --condition base --condition cal --option prefill=true"
    assert typed(f"{line} --out {{}}", run).returncode == 0
    found = [(f["model"], f["dataset"], f["v2"]["n"], f["v2"]["exact_match"]) for f in files(run)]
    assert found == [
        ("reference base", "ttqa", 2, 100.0), ("reference base", "tot", 4, 100.0),
        ("reference cal", "ttqa", 2, 100.0), ("reference cal", "tot", 4, 100.0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--mode", "v2", "--disagreements", "x.csv"], "--disagreements compares the modes"),
        (["--centroids", "nowhere.json"], "nowhere.json: cannot be read"),
    ],
)
def test_mistakes_are_one_line(responses, arguments, said):
    done = scored(responses, *arguments)
    assert (done.returncode, len(done.stderr.strip().splitlines())) == (2, 1)
    assert said in done.stderr
