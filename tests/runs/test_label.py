"""A blind sheet of a run, filled in and read back, by the command line's own functions."""

import csv

import pytest

from agent_env.errors import ConfigError, DatasetError
from agent_env.runs.label import read_sheets, write_sheet


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
