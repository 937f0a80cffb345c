"""A published set as its folder holds it: right, wrong, hostile.

Each way in which a published set's database differed from its CSVs, proved from its rows.
"""

import csv
import json
from datetime import date

import pytest

from agent_env.families.tdbench.sample import TdbenchSample
from agent_env.families.tdbench.score import measure
from agent_env.features.papers.tdbench.cli import import_command
from agent_env.features.papers.tdbench.published import read_published
from agent_env.features.papers.tdbench.published_samples import published_samples
from agent_env.tasks.family import SampleSet

NOW = date(2025, 1, 26)
TABLE = """Country,Role,Name,Start,End
Aland,President,Ada Berg,1992-05-28,1999-05-18
Aland,President,Carl Dahl,1999-05-18,2006-05-15
Aland,President,Gun O'Holm,2006-05-15,
Bland,President,Ivo Juul,1990-01-01,
"""
WHERE = "from leaders where Country = 'Aland' and Role = 'President'"


def entry(idx, op, condition, names, **more):
    rows = [line.split(",") for line in TABLE.splitlines()[1:]]
    held = {name: (start, end or "2025-01-26") for _, _, name, start, end in rows}
    correct = [
        {"Name": n, "Start": f"{held[n][0]} 00:00:00", "End": f"{held[n][1]} 00:00:00"}
        for n in names
    ]
    return {
        "idx": idx,
        "op": op,
        "qtype": "basic_unique",
        "sql_for_db": f"select Name, start, end {WHERE} and {condition}",
        "correct_rows": correct,
        "incorrect_rows": [],
        "questions": ["Who was it?", "Which one was it?\n"],
    } | more


def folder(tmp_path, *entries, table=TABLE):
    (tmp_path / "data").mkdir(exist_ok=True)
    (tmp_path / "data" / "leaders.csv").write_text(table)
    (tmp_path / "basic_sql.json").write_text(json.dumps(entries))
    return tmp_path


AFTER = entry(0, "after", "Start > '1999-12-31 00:00:00'", ["Gun O'Holm"])
MEET = entry(1, "meet", "date(End) = date('1999-07-18 00:00:00', '-2 month')", ["Ada Berg"])


def test_statements_that_give_their_rows_make_samples(tmp_path):
    found = read_published(folder(tmp_path, AFTER, MEET), NOW)
    assert [c.difference for c in found.questions] == [None, None]
    made = published_samples(found, NOW)
    after, again, meets, _ = made.samples
    assert (after.gold, after.others) == (("Gun O'Holm",), ("Ada Berg", "Carl Dahl"))
    assert (after.relation, after.roles, meets.relation, meets.roles) == (
        "after",
        ("start",),
        "meets",
        ("end",),
    )
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


def test_a_join_has_its_first_event_as_a_hop(tmp_path):
    table = "Country,Role,Name,Game,Start,End\nAland,King,Odd,Ash 1912,1912-07-06,1912-07-27\n"
    join = {
        "idx": 0,
        "op": "Name",
        "qtype": "join_2hop",
        "sql_for_db": 'select Name, country, start, end from games where Game = "Ash 1912"',
        "correct_rows": [
            {"Name": "Odd", "Country": "Aland", "Start": "1912-07-06", "End": "1912-07-27"}
        ],
        "incorrect_rows": [],
        "questions": ["Who was king of the host of Ash 1912?"],
    }
    found = read_published(folder(tmp_path, join, table=table), NOW)
    (sample,) = published_samples(found, NOW).samples
    said = measure(sample, "Ash 1912 was in Aland in July 1912. ANSWER: Odd")["metrics"]
    assert (said["hop_1"], said["hallucination_1"], said["answer"]) == (1, 0, 1)


@pytest.mark.parametrize(
    ("qtype", "hops"),
    [
        ("join_2hop", ["country and month", "Name"]),
        ("join", ["country and month", "Name"]),
        ("join_1hop", ["country and month", "Name"]),
        ("join_3hop", ["city", "country and month", "Name"]),
        ("join_3hop_role", ["city", "country and month", "Name"]),
        ("join_3Hop", ["city", "country and month", "Name"]),
        ("join_3_hop", ["city", "country and month", "Name"]),
        ("join_3-hop", ["city", "country and month", "Name"]),
        ("join3hops", ["city", "country and month", "Name"]),
        ("join_4hop", ["city", "game", "country and month", "Name"]),
    ],
)
def test_a_join_has_as_many_hops_as_its_type_says(tmp_path, qtype, hops):
    table = (
        "Country,Role,Name,Round,Game,City,Start,End\n"
        "Aland,King,Odd,5,Ash 1912,Ash,1912-07-06,1912-07-27\n"
        "Corland,King,Una,6,Cor 1916,Cor,1916-07-06,1916-07-27\n"
    )
    row = {"Name": "Odd", "Country": "Aland", "Start": "1912-07-06", "End": "1912-07-27"}
    sql = 'select Name, country, start, end from games where Round = "5" and Role = "King"'
    join = {"idx": 0, "op": "Name", "qtype": qtype, "sql_for_db": sql, "correct_rows": [row]}
    join["questions"] = ["Who was king of the host of the 5th games?"]
    found = read_published(folder(tmp_path, join, table=table), NOW)
    (sample,) = published_samples(found, NOW).samples
    assert [hop.asks.partition(" of ")[0].rstrip(",") for hop in sample.hops] == hops
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
    found = read_published(folder(tmp_path, *(AFTER | {"idx": n} for n in own)), NOW)
    samples = published_samples(found, NOW).samples
    numbers = [int(each.query.rpartition("-")[2]) for each in samples if not each.phrasing]
    assert numbers == ids
    assert len({each.id for each in samples}) == len(samples)
    import_command(tmp_path, NOW.isoformat(), tmp_path / "out.jsonl")
    repeated = len(own) - len(set(own))
    line = f"{repeated} entries repeat the idx of another; all are numbered 1 to {len(own)} in"
    assert (line in capsys.readouterr().err) is bool(repeated)
    assert len(SampleSet.read(tmp_path / "out.jsonl", TdbenchSample).samples) == len(samples)


def test_gaps_to_fill_run_with_time(tmp_path):
    (tmp_path / "gaps.csv").write_text(
        "statement,answer,start,former\n"
        "The president of Aland is ___,Gun Holm,2006-05-15,Ada Berg\n"
    )
    (sample,) = published_samples(read_published(tmp_path, NOW), NOW).samples
    assert sample.question == "Fill the gap: The president of Aland is ___"
    assert measure(sample, "Gun Holm, since May 2006")["metrics"]["correct_time"] == 1
    assert measure(sample, "Ada Berg, since May 1992")["metrics"]["outdated"] == 1


HEAD = ("Element", "State", "Status", "Start", "End")
ROWS = (
    ("Mask dance", "Corland", "Proclaimed", "2001-05-18", "2008-11-04"),
    ("Mask dance", "Corland", "Inscribed", "2008-11-04", "nan"),
    ("Songs from the hills", "Belland", "Inscribed", "2009-09-30", "nan"),
    ("Bell making", "Dorland", "Inscribed", "2010-11-16", "2019-12-12"),
)


def write(folder, name, head, rows):
    with (folder / f"{name}.csv").open("w", newline="") as out:
        csv.writer(out).writerows([head, *rows])


def stored_entry(number, sql, *rows, kind="basic_unique"):
    return {
        "idx": number, "op": "after", "qtype": kind, "sql_for_db": sql,
        "correct_rows": list(rows), "incorrect_rows": [], "questions": ["Which?"],
    }  # fmt: skip


def row(status, start, end):
    return {"Status": status, "Start": start, "End": end}


def read(folder, *entries, name="culture"):
    (folder / f"{name}.json").write_text(json.dumps(entries))
    return read_published(folder, None)


def samples(found, **options):
    made = published_samples(found, None, **options).samples
    return [sample for sample in made if isinstance(sample, TdbenchSample)]


SELECT = "SELECT Status, Start, End FROM culture WHERE Element = 'Mask dance' AND "


@pytest.mark.parametrize(
    ("condition", "stored", "reading"),
    [
        pytest.param(
            "End = 'nan'", row("Inscribed", "2008-11-04", "nan"), "days, open ends 'nan'",
            id="an end holds the text nan",
        ),
        pytest.param(
            "End > '2020-01-01'", row("Inscribed", "2008-11-04 00:00:00", None),
            "days with midnight, open ends '2262-04-11 00:00:00'",
            id="an open end was the far day, and is stored as null",
        ),
        pytest.param(
            "End < '2025-02-01' AND Start > '2005-01-01'",
            row("Inscribed", "2008-11-04", "2025-01-07"),
            "days, open ends '2025-01-07', made on 2025-01-07",
            id="an open end was the day of making",
        ),
        pytest.param(
            "End < '2025-02-01' AND Start > '2005-01-01'",
            row("Inscribed", "2008-11-04", "2025-01-07 13:05:59"),
            "days, open ends '2025-01-07 13:05:59', made on 2025-01-07",
            id="an open end was the hour of making",
        ),
        pytest.param(
            "End IS NULL", row("Inscribed", "2008-11-04", float("nan")), "days, open ends NULL",
            id="an open end was NULL, and is stored as NaN",
        ),
    ],
)  # fmt: skip
def test_the_reading_is_that_under_which_the_stored_rows_come_out(
    tmp_path, condition, stored, reading
):
    write(tmp_path, "culture", HEAD, ROWS)
    found = read(tmp_path, stored_entry(0, SELECT + condition, stored))
    (sample,) = samples(found)
    assert found.questions[0].difference is None
    assert found.proofs[0].reading.words == reading
    assert (sample.gold, sample.golds[0].start, sample.golds[0].end) == (
        ("Inscribed",), "2008-11", None,
    )  # fmt: skip


def test_values_with_from_and_dates_of_conditions_are_read(tmp_path):
    write(tmp_path, "culture", HEAD, ROWS)
    sql = 'SELECT Status, Start, End FROM culture WHERE Element = "Songs from the hills"'
    found = read(tmp_path, stored_entry(0, sql, row("Inscribed", "2009-09-30", None)))
    (sample,) = samples(found)
    assert (sample.gold, sample.asked) == (("Inscribed",), {"Element": "Songs from the hills"})
    write(tmp_path, "culture", HEAD, ROWS)
    sql = SELECT + "Start = '2001-05-18' AND End = '2008-11-04'"
    (sample,) = samples(
        read(tmp_path, stored_entry(0, sql, row("Proclaimed", "2001-05-18", "2008-11-04")))
    )
    assert sample.asked == {"Element": "Mask dance"}
    assert sample.others == ("Inscribed",)


@pytest.mark.parametrize(
    "source",
    [
        "heritage WHERE Start = (SELECT max(Start) FROM heritages WHERE Element = 'Mask dance')",
        "heritage AS h JOIN elements AS e ON h.rowid = e.rowid WHERE h.Start = '2008-11-04'",
        "culture elements WHERE elements.Start = '2008-11-04'",
    ],
)
def test_several_names_for_one_table_are_that_table(tmp_path, source):
    write(tmp_path, "culture", HEAD, ROWS)
    name = "h." if " AS h" in source else ""
    sql = f"SELECT {name}Status, {name}Start FROM {source}"
    found = read(tmp_path, stored_entry(0, sql, {"Status": "Inscribed", "Start": "2008-11-04"}))
    assert found.questions[0].difference is None
    assert samples(found)[0].gold == ("Inscribed",)


def test_of_two_files_of_one_name_each_is_tried(tmp_path):
    for folder, status in (("a", "Proclaimed"), ("b", "Inscribed")):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder, "culture", HEAD,
              (("Mask dance", "Corland", status, "2001-05-18", ""),))  # fmt: skip
    write(tmp_path, "states", ("State", "Capital", "Start", "End"),
          (("Corland", "Cor", "1990-01-01", ""),))  # fmt: skip
    joined = (
        "SELECT a.Status FROM culture a JOIN states b ON a.State = b.State WHERE b.Capital = 'Cor'"
    )
    found = read(
        tmp_path,
        stored_entry(0, "SELECT Status FROM culture", {"Status": "Inscribed"}),
        stored_entry(1, "SELECT Status FROM culture", {"Status": "Proclaimed"}),
        stored_entry(2, joined, {"Status": "Inscribed"}),
        stored_entry(3, joined, {"Status": "Proclaimed"}),
    )
    assert [checked.difference for checked in found.questions] == [None] * 4


def test_a_number_compares_with_its_text(tmp_path):
    head = ("Title", "Director", "Release Year", "Start", "End")
    write(tmp_path, "shows", head, (("Fog", "Ann Ray", "2010", "2010-01-01", "2014-01-01"),))
    for number, value in enumerate(("2010", "'2010'")):
        sql = f'SELECT Director FROM shows WHERE "Release Year" = {value}'
        assert read(tmp_path, stored_entry(number, sql, {"Director": "Ann Ray"})).questions[0].rows


MISSPELT = (
    stored_entry(0, SELECT + "Start > '2005-01-01'", row("Inscribd", "2008-11-04", None)),
    stored_entry(1, SELECT + "Start < '2005-01-01'", row("Proclaimed", "2001-05-18", "2008-11-04")),
)


def test_a_stored_gold_that_does_not_come_out_is_refused_or_chosen(tmp_path):
    write(tmp_path, "culture", HEAD, ROWS)
    found = read(tmp_path, *MISSPELT)
    difference = found.questions[0].difference
    assert difference.missing == ("end=NULL, start=2008-11-04, status=Inscribd",)
    assert difference.extra == ("end=NULL, start=2008-11-04, status=Inscribed",)
    made = published_samples(found, None)
    assert [sample.gold for sample in made.samples] == [("Proclaimed",)]
    assert made.left_out == {"questions whose statement returns other rows than those stored": 1}
    write(tmp_path, "culture", HEAD, ROWS)
    for differing, gold in (("stored", "Inscribd"), ("returned", "Inscribed")):
        first, second = samples(found, differing=differing)
        assert first.gold == (gold,)
        assert first.certificate.model_dump(exclude={"returned"}) == {
            "file": "culture.json", "folder": tmp_path.name, "reading": "days, open ends NULL",
            "stored": 2, "reproduced": 1, "agrees": False, "gold": differing,
        }  # fmt: skip
        assert (second.certificate.agrees, second.certificate.gold) == (True, "both")


def test_a_large_file_is_proved_on_a_part_and_checked_whole(tmp_path):
    write(tmp_path, "culture", HEAD, ROWS)
    own = stored_entry(0, SELECT + "End > '2020-01-01'", row("Inscribed", "2008-11-04", None))
    found = read(tmp_path, *({**own, "idx": n} for n in range(500)))
    proof = found.proofs[0]
    assert (proof.stored, proof.reproduced, proof.with_rows) == (500, 500, 500)
    assert proof.reading.open_end == "2262-04-11"
