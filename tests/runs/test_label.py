"""A blind sheet of a run, filled in and read back, by the command line's own functions."""

import csv
import re
import shutil

import pytest

from agent_env.episodes.runner import utc_now
from agent_env.episodes.trace.lines import TraceWriter
from agent_env.episodes.trace.texts import Texts
from agent_env.errors import ConfigError, DatasetError
from agent_env.records.trace_events import Judged
from agent_env.runs.label import read_sheets, write_sheet
from agent_env.runs.run import Run
from tests.commands import agent_env


@pytest.fixture(scope="module")
def run(small_run):
    """Two puzzles under two conditions."""
    return small_run


def rows_of(sheet):
    with sheet.open(newline="") as lines:
        return list(csv.DictReader(lines))


def filled(sheet, out, label):
    rows = rows_of(sheet)
    with out.open("w", newline="") as lines:
        writer = csv.DictWriter(lines, rows[0])
        writer.writeheader()
        writer.writerows(row | {"label": label(n)} for n, row in enumerate(rows))
    return out


def test_a_sheet_is_blind_and_any_family_has_one(run, tmp_path):
    heard = []
    assert write_sheet([run], 125, 1, None, tmp_path / "s.csv", heard.append) == 4
    assert heard == ["there are 4 answers only, all are in the sheet"]
    text = (tmp_path / "s.csv").read_text()
    assert text.startswith("item,question,gold,answer,label\n")
    assert "reference" not in text
    assert all(row["label"] == "" and row["gold"] for row in rows_of(tmp_path / "s.csv"))


def test_sheets_that_are_read_back_give_agreement(run, tmp_path):
    write_sheet([run], 4, 1, None, tmp_path / "s.csv", print)
    ada = filled(tmp_path / "s.csv", tmp_path / "ada.csv", lambda n: "incorrect")
    carl = filled(tmp_path / "s.csv", tmp_path / "carl.csv", lambda n: ("correct", "")[n > 0])
    found = read_sheets([run], [ada, carl], None, print)
    assert (found.items, found.tied, found.annotators) == (3, 1, ("ada.csv", "carl.csv"))


def test_a_label_that_is_none_and_a_foreign_item_are_named(run, tmp_path):
    write_sheet([run], 4, 1, None, tmp_path / "s.csv", print)
    wrong = filled(tmp_path / "s.csv", tmp_path / "w.csv", lambda n: "perhaps")
    with pytest.raises(DatasetError, match=r"w.csv:\d+: label 'perhaps' is none of correct"):
        read_sheets([run], [wrong], None, print)
    (tmp_path / "f.csv").write_text("item,label\nabc,correct\n")
    with pytest.raises(DatasetError, match="item 'abc' is not of this run"):
        read_sheets([run], [tmp_path / "f.csv"], None, print)
    with pytest.raises(ConfigError, match="unknown metric 'x'"):
        write_sheet([run], 4, 1, "x", tmp_path / "s.csv", print)


def judged(run, to, condition=None):
    """A copy of the run in which a judge calls each answer right, or each of a condition."""
    copy = shutil.copytree(run, to)
    for trace in Run(copy).traces():
        if condition not in (None, trace.parent.name):
            continue
        texts = Texts.of_trace(trace)
        writer, _ = TraceWriter.reopen(trace, utc_now, texts, "none")
        verdict = {"metric": "exact_match", "says": "right"}
        writer.write(Judged, judge="j", verdict=verdict, request="r")
        writer.close()
        texts.close()
    return copy


def test_a_judges_share_is_corrected_by_the_labels(run, tmp_path):
    judge = judged(run, tmp_path / "run")
    write_sheet([judge], 4, 1, None, tmp_path / "s.csv", print)
    ada = filled(
        tmp_path / "s.csv", tmp_path / "ada.csv", lambda n: ("correct", "incorrect")[n % 2]
    )
    (every, base, explicit) = read_sheets([judge], [ada], None, print).corrected
    assert [each.condition for each in (every, base, explicit)] == ["all", "base", "explicit"]
    assert (every.judged, every.labelled, every.raw.value) == (4, 4, 1.0)
    assert (every.sensitivity.value, every.specificity.value) == (1.0, 0.0)
    assert every.corrected.method == "sensitivity + specificity is at most 1"
    shown = agent_env("episodes", "label", str(judge), "--read", str(ada))
    assert "What the judge's shares are worth" in shown.stdout


def test_answers_that_a_judge_judged_come_first_into_a_sheet(run, tmp_path):
    judge, said = judged(run, tmp_path / "run", "explicit"), []
    assert write_sheet([judge], 2, 1, None, tmp_path / "s.csv", said.append) == 2
    ada = filled(tmp_path / "s.csv", tmp_path / "a.csv", lambda n: "correct")
    (one,) = read_sheets([judge], [ada], None, print).corrected
    assert (one.judged, one.labelled) == (2, 2)
    assert said == ["the 2 answers that a judge judged come first: labels of these correct it"]


def test_a_sheet_with_labels_of_other_answers_is_refused_by_its_first_line(run, tmp_path):
    write_sheet([run], 4, 1, None, tmp_path / "s.csv", print)
    sheet = filled(tmp_path / "s.csv", tmp_path / "ada.csv", lambda n: "correct")
    rows = rows_of(sheet)
    rows[1]["answer"] = rows[1]["answer"].replace("\n", "\r\n") + " "  # as a spreadsheet may
    save(rows, sheet)
    assert read_sheets([run], [sheet], None, print).items == 4
    shown = agent_env("compare", str(run), "--labels", str(sheet))
    assert shown.returncode == 0
    rows[2]["answer"] = "an earlier answer"
    save(rows, sheet)
    for words in (["compare", str(run), "--labels"], ["episodes", "label", str(run), "--read"]):
        refused = agent_env(*words, str(sheet))
        assert refused.returncode == 2
        (line,) = refused.stderr.strip().splitlines()
        item = rows[2]["item"]
        told = rf"ada.csv:\d+: item '{item}' has another answer in the run; label anew$"
        assert re.search(told, line)


def save(rows, sheet):
    with sheet.open("w", newline="") as lines:
        writer = csv.DictWriter(lines, rows[0])
        writer.writeheader()
        writer.writerows(rows)
