"""A small folder in the authors' layout, written by hand: what must come out of it."""

from pathlib import Path

from agent_env.families.tdbench.commands import import_published
from agent_env.families.tdbench.published import read_published

FOLDER = Path(__file__).parents[2] / "data" / "published" / "tdbench"


def test_joins_run_on_the_third_table_and_each_file_has_its_own_day_of_making():
    found = read_published(FOLDER, None)
    tables = {Path(q.file).parent.name: q.table.name for q in found.questions if q.table}
    assert tables["olympic"] == "olympic_dyknow_leaders"
    made = {Path(proof.file).parent.name: proof.reading.now for proof in found.proofs}
    assert made["movie"] is None
    days = {p.reading.now for p in found.proofs if "basic" in p.file}
    assert days == {"2025-01-26"}, "a day on which a show of movie_old.csv began"


def test_the_report_names_both_tables_of_one_name():
    tables = import_published(FOLDER, None, None).tables
    assert (tables["legal"], tables["legal (2)"]) == (2, 1)
