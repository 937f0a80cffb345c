"""A published set as its folder holds it: right, wrong, hostile. Each way in which a published
set's database differed from its CSVs, proved from its rows."""

import csv
import json
from datetime import date
from pathlib import Path

import pytest

from agent_env.families.tdbench.sample import TdbenchSample
from agent_env.families.tdbench.score import measure
from agent_env.features.papers.tdbench.cli import import_command
from agent_env.features.papers.tdbench.importing import import_published
from agent_env.features.papers.tdbench.published import read_published
from agent_env.features.papers.tdbench.published_samples import published_samples
from agent_env.tasks.family import SampleSet
from tests.tables import each

NOW = date(2025, 1, 26)
PUBLISHED = Path(__file__).parents[3] / "data" / "published" / "tdbench"
TABLE = """Country,Role,Name,Start,End
Aland,President,Ada Berg,1992-05-28,1999-05-18
Aland,President,Carl Dahl,1999-05-18,2006-05-15
Aland,President,Gun O'Holm,2006-05-15,
Bland,President,Ivo Juul,1990-01-01,
"""
SQL = "select Name, start, end from leaders where Country = 'Aland' and Role = 'President' and "


def entry(number, sql, *rows, op="after", qtype="basic_unique", questions=("Which?",)):
    stored = {"idx": number, "op": op, "qtype": qtype, "sql_for_db": sql, "correct_rows": rows}
    return {**stored, "incorrect_rows": (), "questions": questions}


def holder(name, start, end):
    return {"Name": name, "Start": f"{start} 00:00:00", "End": f"{end} 00:00:00"}


def folder(tmp_path, *entries, table=TABLE):
    (tmp_path / "data").mkdir(exist_ok=True)
    (tmp_path / "data" / "leaders.csv").write_text(table)
    (tmp_path / "basic_sql.json").write_text(json.dumps(entries))
    return tmp_path


TWO = ("Who was it?", "Which one was it?\n")
GUN, ADA = ("Gun O'Holm", "2006-05-15", "2025-01-26"), ("Ada Berg", "1992-05-28", "1999-05-18")
AFTER = entry(0, f"{SQL}Start > '1999-12-31 00:00:00'", holder(*GUN), questions=TWO)
MEET = entry(
    1, f"{SQL}date(End) = date('1999-07-18 00:00:00', '-2 month')", holder(*ADA),
    op="meet", questions=TWO,
)  # fmt: skip


def test_statements_that_give_their_rows_make_samples(tmp_path):
    found = read_published(folder(tmp_path, AFTER, MEET), NOW)
    assert [c.difference for c in found.questions] == [None, None]
    after, again, meets, _ = published_samples(found, NOW).samples
    assert (after.gold, after.others) == (("Gun O'Holm",), ("Ada Berg", "Carl Dahl"))
    assert (after.relation, after.roles) == ("after", ("start",))
    assert (meets.relation, meets.roles) == ("meets", ("end",))
    assert (after.query, after.phrasing, again.phrasing) == (again.query, 0, 1)
    assert again.question == "Which one was it?"
    assert len(after.context[0]) == 4
    assert measure(after, "Gun O'Holm, since May 2006")["metrics"]["answer_time"] == 1
    assert measure(meets, "Ada Berg, until May 1999")["metrics"]["answer_time"] == 1


@pytest.mark.parametrize(
    "sql",
    [
        "drop table leaders",
        "delete from leaders",
        "attach database '/etc/passwd' as x",
        "select load_extension('x') from leaders",
        "select Nonsense from leaders",
        "select * from leaders, other from third",
        "pragma table_info(leaders)",
    ],
)
def test_a_statement_that_does_more_than_read_is_refused_and_listed(tmp_path, sql):
    (checked,) = read_published(folder(tmp_path, AFTER | {"sql_for_db": sql}), NOW).questions
    assert checked.rows is None
    assert checked.difference.reason != "other rows"
    assert published_samples(read_published(tmp_path, NOW), NOW).samples == ()


def test_a_statement_that_does_not_end_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr("agent_env.features.papers.tdbench.published_sql.TIMEOUT_S", 0.2)
    endless = f"select count(*) from leaders a{''.join(f', leaders b{n}' for n in range(30))}"
    (checked,) = read_published(folder(tmp_path, AFTER | {"sql_for_db": endless}), NOW).questions
    assert checked.difference.reason == "took too long"


def joined(tmp_path, table, sql, qtype="join_2hop"):
    """The one sample of a join over the table."""
    row = {"Name": "Odd", "Country": "Aland", "Start": "1912-07-06", "End": "1912-07-27"}
    sql = f"select Name, country, start, end from games where {sql}"
    join = entry(0, sql, row, op="Name", qtype=qtype, questions=["Who was king of the host of …?"])
    found = read_published(folder(tmp_path, join, table=table), NOW)
    return published_samples(found, NOW).samples[0]


def test_a_join_has_its_first_event_as_a_hop(tmp_path):
    table = "Country,Role,Name,Game,Start,End\nAland,King,Odd,Ash 1912,1912-07-06,1912-07-27\n"
    sample = joined(tmp_path, table, 'Game = "Ash 1912"')
    said = measure(sample, "Ash 1912 was in Aland in July 1912. ANSWER: Odd")["metrics"]
    assert (said["hop_1"], said["hallucination_1"], said["answer"]) == (1, 0, 1)


HOPS = {
    ("country and month", "Name"): ["join_2hop", "join", "join_1hop"],
    ("city", "country and month", "Name"): [
        "join_3hop", "join_3hop_role", "join_3Hop", "join_3_hop", "join_3-hop", "join3hops",
    ],
    ("city", "game", "country and month", "Name"): ["join_4hop"],
}  # fmt: skip


@pytest.mark.parametrize(("qtype", "hops"), each(HOPS))
def test_a_join_has_as_many_hops_as_its_type_says(tmp_path, qtype, hops):
    table = (
        "Country,Role,Name,Round,Game,City,Start,End\n"
        "Aland,King,Odd,5,Ash 1912,Ash,1912-07-06,1912-07-27\n"
        "Corland,King,Una,6,Cor 1916,Cor,1916-07-06,1916-07-27\n"
    )
    sample = joined(tmp_path, table, 'Round = "5" and Role = "King"', qtype)
    assert tuple(hop.asks.partition(" of ")[0].rstrip(",") for hop in sample.hops) == hops
    said = measure(sample, "The games of Ash, in Oland in July 1912. ANSWER: Odd")["metrics"]
    if len(hops) == 3:
        assert sample.hops[0].gold == ("Ash",)
        assert (said["hop_1"], said["hop_2"], said["hallucination_1"]) == (1, 0, 1)


@pytest.mark.parametrize(
    ("own", "ids"),
    [
        ([0, 1, 2], [0, 1, 2]),
        ([7, 7, 8], [1, 2, 3]),
        ([0, 1, 0, 1], [1, 2, 3, 4]),
        ([3, 2, 3], [1, 2, 3]),
        ([5, 5, 5, 5], [1, 2, 3, 4]),
    ],
)
def test_ids_are_numbered_where_a_file_repeats_its_own(tmp_path, own, ids, capsys):
    made = read_published(folder(tmp_path, *(AFTER | {"idx": n} for n in own)), NOW)
    samples = published_samples(made, NOW).samples
    assert [int(s.query.rpartition("-")[2]) for s in samples if not s.phrasing] == ids
    assert len({sample.id for sample in samples}) == len(samples)
    import_command(tmp_path, NOW.isoformat(), tmp_path / "out.jsonl")
    repeated = len(own) - len(set(own))
    line = f"{repeated} entries repeat the idx of another; all are numbered 1 to {len(own)} in"
    assert (line in capsys.readouterr().err) is bool(repeated)
    assert len(SampleSet.read(tmp_path / "out.jsonl", TdbenchSample).samples) == len(samples)


def test_gaps_to_fill_run_with_time(tmp_path):
    gap = "The president of Aland is ___"
    text = f"statement,answer,start,former\n{gap},Gun Holm,2006-05-15,Ada Berg\n"
    (tmp_path / "gaps.csv").write_text(text)
    (sample,) = published_samples(read_published(tmp_path, NOW), NOW).samples
    assert sample.question == f"Fill the gap: {gap}"
    assert measure(sample, "Gun Holm, since May 2006")["metrics"]["correct_time"] == 1
    assert measure(sample, "Ada Berg, since May 1992")["metrics"]["outdated"] == 1


HEAD = ("Element", "State", "Status", "Start", "End")
ROWS = (
    ("Mask dance", "Corland", "Proclaimed", "2001-05-18", "2008-11-04"),
    ("Mask dance", "Corland", "Inscribed", "2008-11-04", "nan"),
    ("Songs from the hills", "Belland", "Inscribed", "2009-09-30", "nan"),
    ("Bell making", "Dorland", "Inscribed", "2010-11-16", "2019-12-12"),
)


def write(folder, name="culture", head=HEAD, rows=ROWS):
    with (folder / f"{name}.csv").open("w", newline="") as out:
        csv.writer(out).writerows([head, *rows])


@pytest.fixture
def culture(tmp_path):
    write(tmp_path)
    return tmp_path


def read(folder, *entries):
    (folder / "culture.json").write_text(json.dumps(entries))
    return read_published(folder, None)


def samples(found, **options):
    return published_samples(found, None, **options).samples


SELECT = "SELECT Status, Start, End FROM culture WHERE Element = 'Mask dance' AND "
SINCE = "End < '2025-02-01' AND Start > '2005-01-01'"


def row(status, start, end):
    return {"Status": status, "Start": start, "End": end}


@pytest.mark.parametrize(
    ("condition", "start", "end", "reading"),
    [
        ("End = 'nan'", "2008-11-04", "nan", "days, open ends 'nan'"),
        ("End > '2020-01-01'", "2008-11-04 00:00:00", None,
         "days with midnight, open ends '2262-04-11 00:00:00'"),
        (SINCE, "2008-11-04", "2025-01-07", "days, open ends '2025-01-07', made on 2025-01-07"),
        (SINCE, "2008-11-04", "2025-01-07 13:05:59",
         "days, open ends '2025-01-07 13:05:59', made on 2025-01-07"),
        ("End IS NULL", "2008-11-04", float("nan"), "days, open ends NULL"),
    ],
    ids=["nan", "far day, stored as null", "day of making", "hour of making", "NULL, as NaN"],
)  # fmt: skip
def test_the_reading_is_that_under_which_the_stored_rows_come_out(
    culture, condition, start, end, reading
):
    found = read(culture, entry(0, SELECT + condition, row("Inscribed", start, end)))
    (sample,) = samples(found)
    assert (found.questions[0].difference, found.proofs[0].reading.words) == (None, reading)
    assert sample.gold == ("Inscribed",)
    assert (sample.golds[0].start, sample.golds[0].end) == ("2008-11", None)


def test_values_with_from_and_dates_of_conditions_are_read(culture):
    sql = 'SELECT Status, Start, End FROM culture WHERE Element = "Songs from the hills"'
    (sample,) = samples(read(culture, entry(0, sql, row("Inscribed", "2009-09-30", None))))
    assert (sample.gold, sample.asked) == (("Inscribed",), {"Element": "Songs from the hills"})
    sql = SELECT + "Start = '2001-05-18' AND End = '2008-11-04'"
    (sample,) = samples(read(culture, entry(0, sql, row("Proclaimed", "2001-05-18", "2008-11-04"))))
    assert (sample.asked, sample.others) == ({"Element": "Mask dance"}, ("Inscribed",))


@pytest.mark.parametrize(
    "source",
    [
        "heritage WHERE Start = (SELECT max(Start) FROM heritages WHERE Element = 'Mask dance')",
        "heritage AS h JOIN elements AS e ON h.rowid = e.rowid WHERE h.Start = '2008-11-04'",
        "culture elements WHERE elements.Start = '2008-11-04'",
    ],
)
def test_several_names_for_one_table_are_that_table(culture, source):
    name = "h." if " AS h" in source else ""
    sql = f"SELECT {name}Status, {name}Start FROM {source}"
    found = read(culture, entry(0, sql, {"Status": "Inscribed", "Start": "2008-11-04"}))
    assert (found.questions[0].difference, samples(found)[0].gold) == (None, ("Inscribed",))


def test_of_two_files_of_one_name_each_is_tried(tmp_path):
    for name, status in (("a", "Proclaimed"), ("b", "Inscribed")):
        (tmp_path / name).mkdir()
        write(tmp_path / name, rows=[("Mask dance", "Corland", status, "2001-05-18", "")])
    states = ("State", "Capital", "Start", "End"), [("Corland", "Cor", "1990-01-01", "")]
    write(tmp_path, "states", *states)
    alone = "SELECT Status FROM culture"
    joined = (
        "SELECT a.Status FROM culture a JOIN states b ON a.State = b.State WHERE b.Capital = 'Cor'"
    )
    stored = [(sql, {"Status": s}) for sql in (alone, joined) for s in ("Inscribed", "Proclaimed")]
    found = read(tmp_path, *(entry(n, *each) for n, each in enumerate(stored)))
    assert [checked.difference for checked in found.questions] == [None] * 4


def test_a_number_compares_with_its_text(tmp_path):
    head = ("Title", "Director", "Release Year", "Start", "End")
    write(tmp_path, "shows", head, [("Fog", "Ann Ray", "2010", "2010-01-01", "2014-01-01")])
    for number, value in enumerate(("2010", "'2010'")):
        sql = f'SELECT Director FROM shows WHERE "Release Year" = {value}'
        assert read(tmp_path, entry(number, sql, {"Director": "Ann Ray"})).questions[0].rows


MISSPELT = (
    entry(0, SELECT + "Start > '2005-01-01'", row("Inscribd", "2008-11-04", None)),
    entry(1, SELECT + "Start < '2005-01-01'", row("Proclaimed", "2001-05-18", "2008-11-04")),
)


def test_a_stored_gold_that_does_not_come_out_is_refused_or_chosen(culture):
    found = read(culture, *MISSPELT)
    difference = found.questions[0].difference
    assert difference.missing == ("end=NULL, start=2008-11-04, status=Inscribd",)
    assert difference.extra == ("end=NULL, start=2008-11-04, status=Inscribed",)
    made = published_samples(found, None)
    assert [sample.gold for sample in made.samples] == [("Proclaimed",)]
    assert made.left_out == {"questions whose statement returns other rows than those stored": 1}
    for differing, gold in (("stored", "Inscribd"), ("returned", "Inscribed")):
        first, second = samples(found, differing=differing)
        assert first.gold == (gold,)
        assert first.certificate.model_dump(exclude={"returned"}) == {
            "file": "culture.json", "folder": culture.name, "reading": "days, open ends NULL",
            "stored": 2, "reproduced": 1, "agrees": False, "gold": differing,
        }  # fmt: skip
        assert (second.certificate.agrees, second.certificate.gold) == (True, "both")


def test_a_large_file_is_proved_on_a_part_and_checked_whole(culture):
    own = entry(0, SELECT + "End > '2020-01-01'", row("Inscribed", "2008-11-04", None))
    proof = read(culture, *({**own, "idx": n} for n in range(500))).proofs[0]
    assert (proof.stored, proof.reproduced, proof.with_rows) == (500, 500, 500)
    assert proof.reading.open_end == "2262-04-11"


def test_a_small_folder_in_the_authors_layout_has_joins_and_days_of_making():
    found = read_published(PUBLISHED, None)
    tables = {Path(q.file).parent.name: q.table.name for q in found.questions if q.table}
    assert tables["olympic"] == "olympic_dyknow_leaders"
    made = {Path(proof.file).parent.name: proof.reading.now for proof in found.proofs}
    assert made["movie"] is None
    days = {p.reading.now for p in found.proofs if "basic" in p.file}
    assert days == {"2025-01-26"}, "a day on which a show of movie_old.csv began"
    tables = import_published(PUBLISHED, None, None).summary["tables"]
    assert (tables["legal"], tables["legal (2)"]) == (2, 1)
