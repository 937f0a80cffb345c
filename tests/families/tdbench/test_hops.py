"""Questions of several hops over a user's own tables: golds by brute force, refusals by name."""

import itertools
import sqlite3
from collections import Counter
from contextlib import closing

import pytest

from agent_env.errors import ConfigError
from agent_env.families.tdbench.generator import make
from agent_env.families.tdbench.sample import TdbenchOptions

NEVER = "9999"
STAYS = [
    f"p{n},w{n % 4},2020-0{1 + n % 9}-0{1 + n % 7},2020-0{1 + n % 9}-2{n % 8}" for n in range(30)
]
SITES = [
    f"w{n},b{(n + k) % 3},{2018 + k}-03-01,{2019 + k}-03-01" for n in range(4) for k in range(4)
]
HEADS = [
    f"b{n},{shift},{shift[0]}{n}{k},{2018 + k}-06-01,{f'{2019 + k}-06-01' if k < 3 else ''}"
    for n in range(3) for shift in ("day", "night") for k in range(4) if (n, k) != (1, 2)
]  # fmt: skip
FILES = {
    "stays": ("patient,ward", STAYS),
    "sites": ("ward,building", SITES),
    "heads": ("building,shift,head", HEADS),
    "plants": ("plant,colour", ["ivy,green,2020-01-01,"]),
}


def write(folder, *names, files=FILES):
    for name in names:
        columns, rows = files[name]
        (folder / f"{name}.csv").write_text("\n".join((f"{columns},start,end", *rows)) + "\n")
    return ",".join(str(folder / f"{name}.csv") for name in names)


def made(tables, question, answer, **more):
    own = {"question": question.split(","), "answer": [answer], "now": "2025-01-01"}
    own |= {"tables": tables, "kinds": ["hops"], "phrasings": 1}
    return make(60, 4, TdbenchOptions.model_validate(own | more))


def brute_force(sample, tables):
    """Answers with their starts, by trying every combination of rows of all tables."""
    last, *others = (tables[digest] for digest in sample.materials)
    found = set()
    for rows in itertools.product(last.rows, *(table.rows for table in others)):
        pairs = zip((last, *others), rows, strict=True)
        cells = [dict(zip(table.columns, row, strict=True)) for table, row in pairs]
        facts = [fact for cell in cells for fact in cell.items() if fact[0] not in ("start", "end")]
        known = dict(sample.asked)
        agree = all(known.setdefault(k, v) == v for k, v in facts)
        start = max(str(cell["start"]) for cell in cells)
        if agree and start < min(str(cell["end"] or NEVER) for cell in cells):
            found.add((str(cells[0][sample.answers[0]]), str(cells[0]["start"])))
    return found


@pytest.mark.parametrize(
    ("names", "question", "answer", "count", "cardinalities"),
    [
        (("sites", "stays"), "patient", "building", "2-hop", {"unique"}),
        (("stays", "heads", "sites"), "patient,shift", "head", "3-hop", {"unique", "none"}),
    ],
    ids=["two", "three"],
)
def test_every_gold_is_what_brute_force_finds(
    tmp_path, names, question, answer, count, cardinalities
):
    found = made(write(tmp_path, *names), question, answer)
    assert {sample.relation for sample in found.samples} == {count}
    for sample in found.samples[:12]:
        golds = {(row.answer, row.start) for row in sample.golds}
        assert golds == brute_force(sample, found.tables_by_digest), sample.question
        assert len(sample.hops) == len(sample.context) == len(names)
        assert sample.hops[-1].gold == sample.gold
        assert all(sample.context)
    assert {sample.cardinality for sample in found.samples} == cardinalities


def test_each_hop_is_stored_and_those_without_an_answer_are_no_more(tmp_path):
    files = {
        "stays": (
            "patient,ward",
            [f"p{n},w{n % 4},20{n:02}-01-01,20{n:02}-02-01" for n in range(40)],
        ),
        "heads": ("ward,head", [f"w{n},h{n},2030-01-01," for n in range(4)]),
    }
    found = made(write(tmp_path, *files, files=files), "patient", "head", now="2041-01-01")
    assert Counter(s.cardinality for s in found.samples) == {"unique": 10, "none": 10}
    what = "queries of the kind hops without an answer, beyond as many as have one"
    assert found.left_out[what] == 20
    found = made(write(tmp_path, "stays", "sites", "heads"), "patient,shift", "head")
    sample = next(s for s in found.samples if s.asked == {"patient": "p19", "shift": "day"})
    assert sample.question == (
        "Which head is recorded for shift day and the building recorded for the ward recorded for "
        "patient p19 at a time when all these entries hold?"
    )
    assert [(hop.gold, hop.start, hop.end) for hop in sample.hops] == [
        (("w3",), "2020-02-06", "2020-02-23"),
        (("b1",), "2019-03-01", "2020-03-01"),
        (("d11",), None, None),
    ]


def test_two_tables_of_one_database_are_joined_like_two_files(tmp_path):
    files = made(write(tmp_path, "stays", "sites"), "patient", "building")
    with closing(sqlite3.connect(tmp_path / "own.db")) as base:
        for name in ("stays", "sites"):
            head, *rows = (tmp_path / f"{name}.csv").read_text().splitlines()
            columns = ", ".join(f'"{column}" TEXT' for column in head.split(","))
            base.execute(f"CREATE TABLE {name} ({columns})")
            values = [row.split(",") for row in rows]
            base.executemany(f"INSERT INTO {name} VALUES (?, ?, ?, ?)", values)
        base.commit()
    assert made(str(tmp_path / "own.db"), "patient", "building", table="stays,sites") == files


@pytest.mark.parametrize(
    ("names", "question", "answer", "said"),
    [
        (("stays",), "patient", "ward", "hops need two or three tables"),
        (("stays", "plants"), "patient", "colour",
         "no question of several hops leads from patient to colour through stays, plants: "),
        (("stays", "sites"), "patient", "ward", "patient, ward stand in one table"),
        (("sites", "heads"), "ward", "head",
         "no question of several hops leads from ward to head through sites, heads: "
         "building → head does not hold in heads: line 2: b0, day, d00"),
        (("stays", "sites"), "patien", "building", "no table has a column 'patien'; there are"),
        (("stays", "stays"), "patient", "building", "two tables bear one name"),
        (("stays", "sites", "heads", "plants"), "patient", "head", "hops need two or "),
    ],
    ids=["one table", "no join", "one hop", "no dependency", "no column", "one name", "four"],
)  # fmt: skip
def test_where_no_join_leads_to_the_answer_that_is_said(tmp_path, names, question, answer, said):
    with pytest.raises(ConfigError, match=f"^{said}"):
        made(write(tmp_path, *names), question, answer)


def test_several_tables_are_for_hops_and_several_rows_counted(tmp_path):
    with pytest.raises(ConfigError, match="several tables make questions of hops only"):
        made(write(tmp_path, "stays", "sites"), "patient", "building", kinds=["relation"])
    tables = write(tmp_path, "stays", "sites")
    with (tmp_path / "stays.csv").open("a") as file:
        file.write("p1,w3,2021-04-01,2021-04-08\n")
    found = made(tables, "patient", "building")
    why = "values of patient that lead to several rows (each needs one row in stays)"
    assert found.left_out[why] == 1
    assert all(s.asked != {"patient": "p1"} for s in found.samples)
