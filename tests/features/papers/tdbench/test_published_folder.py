"""A small folder in the authors' layout, written by hand: what must come out of it."""

from pathlib import Path

from agent_env.features.papers.tdbench.importing import import_published
from agent_env.features.papers.tdbench.published import read_published

FOLDER = Path(__file__).parents[3] / "data" / "published" / "tdbench"


def test_joins_and_days_of_making_and_the_report():
    found = read_published(FOLDER, None)
    tables = {Path(q.file).parent.name: q.table.name for q in found.questions if q.table}
    assert tables["olympic"] == "olympic_dyknow_leaders"
    made = {Path(proof.file).parent.name: proof.reading.now for proof in found.proofs}
    assert made["movie"] is None
    days = {p.reading.now for p in found.proofs if "basic" in p.file}
    assert days == {"2025-01-26"}, "a day on which a show of movie_old.csv began"
    tables = import_published(FOLDER, None, None).summary["tables"]
    assert (tables["legal"], tables["legal (2)"]) == (2, 1)
