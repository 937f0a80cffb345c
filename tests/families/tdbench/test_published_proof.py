"""Each way in which a published set's database differed from its CSVs, proved from its rows."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from agent_env.families.tdbench.published import PublishedSet, read_published
from agent_env.families.tdbench.published_samples import published_samples
from agent_env.families.tdbench.sample import TdbenchSample

HEAD = ("Element", "State", "Status", "Start", "End")
ROWS = (
    ("Mask dance", "Corland", "Proclaimed", "2001-05-18", "2008-11-04"),
    ("Mask dance", "Corland", "Inscribed", "2008-11-04", "nan"),
    ("Songs from the hills", "Belland", "Inscribed", "2009-09-30", "nan"),
    ("Bell making", "Dorland", "Inscribed", "2010-11-16", "2019-12-12"),
)


def write(
    folder: Path, name: str, head: tuple[str, ...], rows: tuple[tuple[str, ...], ...]
) -> None:
    with (folder / f"{name}.csv").open("w", newline="") as out:
        csv.writer(out).writerows([head, *rows])


def entry(number: int, sql: str, *rows: dict[str, object], kind: str = "basic_unique") -> Any:
    return {
        "idx": number, "op": "after", "qtype": kind, "sql_for_db": sql,
        "correct_rows": list(rows), "incorrect_rows": [], "questions": ["Which?"],
    }  # fmt: skip


def row(status: str, start: str, end: object) -> dict[str, object]:
    return {"Status": status, "Start": start, "End": end}


def read(folder: Path, *entries: Any, name: str = "culture") -> PublishedSet:
    (folder / f"{name}.json").write_text(json.dumps(entries))
    return read_published(folder, None)


def samples(found: PublishedSet, **options: Any) -> list[TdbenchSample]:
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
    tmp_path: Path, condition: str, stored: dict[str, object], reading: str
) -> None:
    write(tmp_path, "culture", HEAD, ROWS)
    found = read(tmp_path, entry(0, SELECT + condition, stored))
    (sample,) = samples(found)
    assert found.questions[0].difference is None
    assert found.proofs[0].reading.words == reading
    assert (sample.gold, sample.golds[0].start, sample.golds[0].end) == (
        ("Inscribed",), "2008-11", None,
    )  # fmt: skip


def test_each_file_has_its_own_day_of_making(tmp_path: Path) -> None:
    write(tmp_path, "culture", HEAD, ROWS)
    sql = SELECT + "Start < CURRENT_DATE AND Start > '2005-01-01'"
    for name, day in (("first", "2025-01-07"), ("second", "2025-01-26")):
        found = read(tmp_path, entry(0, sql, row("Inscribed", "2008-11-04", day)), name=name)
    assert [(p.file, p.reading.now, p.reproduced) for p in found.proofs] == [
        ("first.json", "2025-01-07", 1), ("second.json", "2025-01-26", 1),
    ]  # fmt: skip
    assert [sample.now for sample in samples(found)] == ["2025-01-07", "2025-01-26"]


def test_a_value_with_from_in_it_is_no_table(tmp_path: Path) -> None:
    write(tmp_path, "culture", HEAD, ROWS)
    sql = 'SELECT Status, Start, End FROM culture WHERE Element = "Songs from the hills"'
    found = read(tmp_path, entry(0, sql, row("Inscribed", "2009-09-30", None)))
    (sample,) = samples(found)
    assert (sample.gold, sample.asked) == (("Inscribed",), {"Element": "Songs from the hills"})


@pytest.mark.parametrize(
    "source",
    [
        "heritage WHERE Start = (SELECT max(Start) FROM heritages WHERE Element = 'Mask dance')",
        "heritage AS h JOIN elements AS e ON h.rowid = e.rowid WHERE h.Start = '2008-11-04'",
        "culture elements WHERE elements.Start = '2008-11-04'",
    ],
)
def test_several_names_for_one_table_are_that_table(tmp_path: Path, source: str) -> None:
    write(tmp_path, "culture", HEAD, ROWS)
    name = "h." if " AS h" in source else ""
    sql = f"SELECT {name}Status, {name}Start FROM {source}"
    found = read(tmp_path, entry(0, sql, {"Status": "Inscribed", "Start": "2008-11-04"}))
    assert found.questions[0].difference is None
    assert samples(found)[0].gold == ("Inscribed",)


def test_a_statement_over_two_files_reads_both(tmp_path: Path) -> None:
    write(tmp_path, "culture", HEAD, ROWS)
    write(tmp_path, "states", ("State", "Capital", "Start", "End"),
          (("Corland", "Cor", "1990-01-01", ""), ("Belland", "Bel", "1991-01-01", "")))  # fmt: skip
    sql = (
        "SELECT a.Element FROM culture a JOIN states b ON a.State = b.State "
        "WHERE b.Capital = 'Bel' AND a.Status = 'Inscribed'"
    )
    found = read(tmp_path, entry(0, sql, {"Element": "Songs from the hills"}))
    assert found.questions[0].difference is None


def test_a_statement_is_tried_on_every_file_whose_columns_fit(tmp_path: Path) -> None:
    """A file of the statement's name exists, but the authors ran the statement on another one."""
    write(tmp_path, "games", ("Game", "Country", "Start", "End"),
          (("Ash 1912", "Aland", "1912-07-06", "1912-07-27"),))  # fmt: skip
    write(tmp_path, "games_leaders", ("Country", "Role", "Name", "Game", "Start", "End"),
          (("Aland", "King", "Odd", "Ash 1912", "1912-07-06", "1912-07-27"),))  # fmt: skip
    sql = 'SELECT Name, Start FROM games WHERE Game = "Ash 1912" AND Role = "King"'
    found = read(tmp_path, entry(0, sql, {"Name": "Odd", "Start": "1912-07-06"}))
    assert found.questions[0].difference is None
    assert [sample.domain for sample in samples(found)] == ["games_leaders"]


def test_of_two_files_of_one_name_each_is_tried(tmp_path: Path) -> None:
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
        entry(0, "SELECT Status FROM culture", {"Status": "Inscribed"}),
        entry(1, "SELECT Status FROM culture", {"Status": "Proclaimed"}),
        entry(2, joined, {"Status": "Inscribed"}),
        entry(3, joined, {"Status": "Proclaimed"}),
    )
    assert [checked.difference for checked in found.questions] == [None] * 4


def test_the_day_of_making_may_be_a_day_of_another_table(tmp_path: Path) -> None:
    write(tmp_path, "culture", HEAD, ROWS)
    shows = (("Mist", "Una Vik", "2025-01-26", ""), ("Rime", "Una Vik", "2025-10-03", ""))
    write(tmp_path, "shows", ("Title", "Director", "Start", "End"), shows)
    sql = SELECT + "End > '2024-12-31' AND Start > '2005-01-01'"
    found = read(tmp_path, entry(0, sql, row("Inscribed", "2008-11-04", "2025-01-26")))
    assert found.proofs[0].reading.now == "2025-01-26"
    assert found.questions[0].difference is None


def test_a_number_compares_with_its_text(tmp_path: Path) -> None:
    head = ("Title", "Director", "Release Year", "Start", "End")
    write(tmp_path, "shows", head, (("Fog", "Ann Ray", "2010", "2010-01-01", "2014-01-01"),))
    for number, value in enumerate(("2010", "'2010'")):
        sql = f'SELECT Director FROM shows WHERE "Release Year" = {value}'
        assert read(tmp_path, entry(number, sql, {"Director": "Ann Ray"})).questions[0].rows


def test_a_date_of_the_condition_is_no_value_of_the_question(tmp_path: Path) -> None:
    write(tmp_path, "culture", HEAD, ROWS)
    sql = SELECT + "Start = '2001-05-18' AND End = '2008-11-04'"
    (sample,) = samples(
        read(tmp_path, entry(0, sql, row("Proclaimed", "2001-05-18", "2008-11-04")))
    )
    assert sample.asked == {"Element": "Mask dance"}
    assert sample.others == ("Inscribed",)


MISSPELT = (
    entry(0, SELECT + "Start > '2005-01-01'", row("Inscribd", "2008-11-04", None)),
    entry(1, SELECT + "Start < '2005-01-01'", row("Proclaimed", "2001-05-18", "2008-11-04")),
)


def test_a_question_whose_stored_gold_does_not_come_out_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "culture", HEAD, ROWS)
    found = read(tmp_path, *MISSPELT)
    difference = found.questions[0].difference
    assert difference is not None
    assert difference.missing == ("end=NULL, start=2008-11-04, status=Inscribd",)
    assert difference.extra == ("end=NULL, start=2008-11-04, status=Inscribed",)
    made = published_samples(found, None)
    assert [sample.gold for sample in made.samples] == [("Proclaimed",)]
    assert made.left_out == {"questions whose statement returns other rows than those stored": 1}


def test_one_who_asks_gets_the_published_or_the_corrected_gold(tmp_path: Path) -> None:
    write(tmp_path, "culture", HEAD, ROWS)
    found = read(tmp_path, *MISSPELT)
    for differing, gold in (("stored", "Inscribd"), ("returned", "Inscribed")):
        first, second = samples(found, differing=differing)
        assert first.gold == (gold,)
        assert first.certificate is not None
        assert first.certificate.model_dump(exclude={"returned"}) == {
            "file": "culture.json", "folder": tmp_path.name, "reading": "days, open ends NULL",
            "stored": 2, "reproduced": 1, "agrees": False, "gold": differing,
        }  # fmt: skip
        assert second.certificate is not None
        assert (second.certificate.agrees, second.certificate.gold) == (True, "both")


def test_a_large_file_is_proved_on_a_part_and_checked_whole(tmp_path: Path) -> None:
    write(tmp_path, "culture", HEAD, ROWS)
    own = entry(0, SELECT + "End > '2020-01-01'", row("Inscribed", "2008-11-04", None))
    found = read(tmp_path, *({**own, "idx": n} for n in range(500)))
    proof = found.proofs[0]
    assert (proof.stored, proof.reproduced, proof.with_rows) == (500, 500, 500)
    assert proof.reading.open_end == "2262-04-11"
