"""A published set as its folder holds it: right, wrong, hostile."""

import json
from datetime import date

import pytest

from agent_env.errors import DatasetError
from agent_env.families.tdbench.published import read_published
from agent_env.families.tdbench.published_samples import published_samples
from agent_env.families.tdbench.score import measure

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


def test_stored_rows_that_the_statement_does_not_give_are_listed(tmp_path):
    wrong = entry(7, "after", "Start > '1999-12-31 00:00:00'", ["Carl Dahl"])
    (difference,) = (c.difference for c in read_published(folder(tmp_path, wrong), NOW).questions)
    assert (difference.file, difference.idx, difference.reason) == (
        "basic_sql.json",
        7,
        "other rows",
    )
    assert difference.missing == ("end=2006-05-15, name=Carl Dahl, start=1999-05-18",)
    assert difference.extra == ("end=NULL, name=Gun O'Holm, start=2006-05-15",)


def test_the_day_of_making_is_found_in_the_stored_rows(tmp_path):
    found = read_published(folder(tmp_path, AFTER), date(2026, 1, 1))
    assert found.questions[0].difference is None
    assert found.proofs[0].reading.words == (
        "days with midnight, open ends '2025-01-26 00:00:00', made on 2025-01-26"
    )


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
    monkeypatch.setattr("agent_env.families.tdbench.published_sql.TIMEOUT_S", 0.2)
    endless = f"select count(*) from leaders a{''.join(f', leaders b{n}' for n in range(30))}"
    (checked,) = read_published(folder(tmp_path, AFTER | {"sql_for_db": endless}), NOW).questions
    assert checked.difference.reason == "took too long"


def test_what_holds_now_keeps_its_open_end(tmp_path):
    now = {
        "idx": 0,
        "qtype": "now",
        "sql_for_db": f"select Name, start, end {WHERE.replace(chr(39), chr(34))} and End IS NULL",
        "correct_rows": [{"Name": "Gun O'Holm", "Start": "2006-05-15 00:00:00", "End": None}],
        "incorrect_rows": [],
        "questions": ["Who is it now?"],
    }
    found = read_published(folder(tmp_path, now), NOW)
    (sample,) = published_samples(found, NOW).samples
    assert found.questions[0].difference is None
    assert (sample.kind, sample.outdated) == ("current", ("Ada Berg", "Carl Dahl"))


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


def test_gaps_to_fill_run_with_time(tmp_path):
    (tmp_path / "gaps.csv").write_text(
        "statement,answer,start,former\n"
        "The president of Aland is ___,Gun Holm,2006-05-15,Ada Berg\n"
    )
    (sample,) = published_samples(read_published(tmp_path, NOW), NOW).samples
    assert sample.question == "Fill the gap: The president of Aland is ___"
    assert measure(sample, "Gun Holm, since May 2006")["metrics"]["correct_time"] == 1
    assert measure(sample, "Ada Berg, since May 1992")["metrics"]["outdated"] == 1


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("[{", "is no JSON"),
        ('[{"sql_for_db": "select", "qtype": "now"}]', "entry 1: idx: Field required"),
        ("[]", "holds no questions"),
        ('[{"idx": 0, "qtype": "now", "sql": "select 1"}]', "entry 1: sql_for_db: Field required"),
        ('[{"question": "When?", "answers": []}]', "no sql_for_db, but question, answers"),
        ('[\n{"idx": 0,', r"x.json:2: is no JSON"),
    ],
)
def test_a_broken_file_is_named(tmp_path, content, reason):
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(DatasetError, match=reason):
        read_published(tmp_path, NOW)
