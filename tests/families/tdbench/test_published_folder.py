"""A small folder in the authors' layout, written by hand: what must come out of it."""

from pathlib import Path

from agent_env.families.tdbench.commands import import_published
from agent_env.families.tdbench.published import read_published
from agent_env.families.tdbench.reproduction import import_tallies

FOLDER = Path(__file__).parents[2] / "data" / "published" / "tdbench"


def test_every_stored_result_but_the_wrong_one_comes_out():
    found = read_published(FOLDER, None)
    counts = {
        f"{Path(proof.file).parent.name}/{Path(proof.file).stem}": (proof.reproduced, proof.stored)
        for proof in found.proofs
    }
    assert counts == {
        "dyknow/basic_sql": (4, 5), "dyknow/basic_sql_gpt4o": (4, 5),
        "dyknow/now_sql": (3, 3), "dyknow/now_sql_gpt4o": (3, 3),
        "legal/now_sql": (2, 2), "legal/now_sql_gpt4o": (2, 2),
        "movie/now_sql": (1, 1), "movie/now_sql_gpt4o": (1, 1),
        "olympic/join_sql": (2, 2), "olympic/join_sql_gpt4o": (2, 2),
    }  # fmt: skip
    whole = import_tallies([FOLDER])[0]
    assert (whole.name, whole.reproduced, whole.stored) == ("tdbench", 24, 26)


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
