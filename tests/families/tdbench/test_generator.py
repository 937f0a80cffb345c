"""Generated questions: golds checked by a second reading of the rows, balance, bytes, bad input;
and those from a user's or a published table, faults and all."""

import csv
from collections import Counter
from datetime import date
from pathlib import Path

import pytest

from agent_env.errors import ConfigError
from agent_env.families.tdbench.generator import make
from agent_env.families.tdbench.reading import read_bounds
from agent_env.families.tdbench.sample import TdbenchOptions
from agent_env.families.tdbench.score import measure
from agent_env.temporal.months import add_months
from tests.temporal.relations import HOLDS

NEVER = "9999-99-99"


def made(count, **options):
    return make(count, 7, TdbenchOptions.model_validate(options))


def holds_second_reading(sample, table):
    """Whether a plain reading of the rows finds the sample's gold."""
    at = {name: place for place, name in enumerate(table.columns)}
    golds = [
        (", ".join(str(row[at[name]]) for name in sample.answers), row[-2], row[-1])
        for row in table.rows
        if all(row[at[name]] == value for name, value in sample.asked.items())
        and HOLDS[sample.relation](row[-2], row[-1] or NEVER, sample.b_start, sample.b_end)
    ]
    return sorted((row.answer, row.start, row.end) for row in sample.golds) == sorted(golds)


@pytest.mark.parametrize(
    ("tables", "granularity"), [("fictional", "day"), ("shipped", "month"), ("fictional", "year")]
)
def test_a_second_reading_of_the_rows_finds_the_same_gold(tables, granularity):
    found = made(390, tables=tables, granularity=granularity, rows=120, phrasings=1)
    for sample in found.samples:
        assert holds_second_reading(sample, found.tables_by_digest[sample.materials[0]])
        assert set(sample.gold) == {row.answer for row in sample.golds}
        assert sample.b_end <= sample.now


def test_one_seed_gives_the_same_questions_of_each_relation():
    found = made(39 * 6, phrasings=1).samples
    counts = Counter((sample.relation, sample.cardinality) for sample in found)
    assert (len(counts), set(counts.values())) == (39, {6})
    by_query = {}
    for sample in made(234).samples:
        by_query.setdefault(sample.query, []).append(sample)
    for group in by_query.values():
        assert len(group) == len({sample.question for sample in group}) == 3
        assert len({(s.gold, s.context, s.b_start, s.sql["duckdb"]) for s in group}) == 1
        (bounds,) = {read_bounds(sample.question) for sample in group}
        assert bounds != ()
    kinds = ("relation", "current", "nth", "longest", "count", "duration", "hops")
    first, again = made(70, kinds=kinds, rows=60), made(70, kinds=kinds, rows=60)
    assert [s.model_dump_json() for s in first.samples] == [
        s.model_dump_json() for s in again.samples
    ]
    assert first.tables == again.tables
    for sample in made(30, tables="shipped", domains=("offices",), kinds=("duration",)).samples:
        (one, two) = sample.golds
        start, end = max(one.start, two.start), min(one.end, two.end)
        assert (sample.gold, sample.roles) == ((str(ordinal(end) - ordinal(start)),), ())
    assert add_months(date(2001, 3, 31), -1) == date(2001, 2, 28)
    assert add_months(date(2003, 12, 31), 2) == date(2004, 2, 29)
    with pytest.raises(OverflowError):
        add_months(date(9999, 12, 1), 1)


def ordinal(text):
    return date.fromisoformat(text).toordinal()


DATA = Path(__file__).parent / "data"
LEADERS = (DATA / "leaders.csv").read_text()
USER = {"question": ("Country", "Role"), "answer": ("Name",), "now": "2024-01-01", "phrasings": 1}
POSTS = USER | {"question": ("order",), "answer": ("who's",)}


def of_file(folder, text=LEADERS, count=9, **options):
    file = folder / "leaders.csv"
    file.write_text(text)
    return made(count, **{**USER, "tables": str(file), **options})


def test_quotes_sql_and_keywords_change_no_gold(tmp_path):
    text = """order,who's,start,end
"x'; DROP TABLE posts; --",O'Hara,2001-01-01,2003-05-05
"x'; DROP TABLE posts; --","A ""B"" C",2003-05-05,2010-01-31
y,{cond} <v0>,2002-01-01,2004-02-29
y,SELECT,2004-02-29,
"""
    found = of_file(tmp_path, text, 60, **POSTS)
    (table,) = found.tables
    assert len(found.samples) > 30
    assert all(holds_second_reading(sample, table) for sample in found.samples)


def test_defects_of_rows_are_named(tmp_path):
    rows = """a,P,2001-01-01,2000-01-01\na,Q,2002,2004-01-01\na,R,2002-02-30,
b,S,2001-01-01,2001-01-01\n"""
    with pytest.raises(ConfigError) as caught:
        of_file(tmp_path, f"order,who's,start,end\n{rows}", 3, **POSTS)
    parts = ("before its start", "by year", "2002-02-30", ":5: ends on its start", "tdbench doctor")
    assert [part for part in parts if part not in str(caught.value)] == []


def test_a_published_table_generates_once_it_is_repaired(tmp_path):
    reasons = r"(?s)ends on its start.*'nan' is not a date.*tdbench doctor"
    with pytest.raises(ConfigError, match=reasons):
        of_file(tmp_path)
    found = of_file(tmp_path, repair=("standard",))
    assert len(found.samples) == 9
    repaired = "rows of leaders repaired by"
    assert {k: n for k, n in found.left_out.items() if "repaired" in k} == {
        f"{repaired} missing-mark=blank": 1,
        f"{repaired} zero-length=drop": 1,
        f"{repaired} dependency=drop": 2,
    }


def test_questions_go_by_what_a_file_needs(tmp_path):
    text = "Land;Amt;Name;Von;Bis;Bild\n" + "".join(
        f"{land};König;{land}{name};{3 + n}.8.{1900 + 20 * n};{4 + n}.8.{1920 + 20 * n};{land}{n}\n"
        for land in "AB" for n, name in enumerate("abcd")
    )  # fmt: skip
    found = of_file(tmp_path, text, question=(), answer=())
    assert {sample.answers for sample in found.samples} == {("name",)}
    assert found.notes[:3] == (
        "leaders.csv: cells separated by ;",
        "leaders.csv: a row starts by the column von, ends by bis",
        "leaders.csv: asked by land → name (2 groups with several answers): --option question=land "
        "--option answer=name; or land → bild (2 groups with several answers)",
    )
    with pytest.raises(ConfigError, match="say what to ask: --option question=COLUMNS"):
        of_file(tmp_path, "a,b,start,end\nx,P,2000,2001\n", question=(), answer=())
    found = made(30, tables="shipped", book="closed", cardinalities=("unique",)).samples
    assert {sample.book for sample in found} == {"closed"}
    assert not any("listed" in sample.question for sample in found)


def test_no_answer_is_never_right_more_often_than_not(tmp_path):
    rows = "".join(f"{g},{g}{n},{1990 + 3 * n},{1993 + 3 * n}\n" for g in "xyz" for n in range(6))
    own = {"question": ("a",), "answer": ("b",), "kinds": ("count", "nth"), "count": 40}
    found = of_file(tmp_path, f"a,b,start,end\n{rows}x,x0,2008,2010\n", **own)
    sizes = Counter((sample.kind, sample.cardinality) for sample in found.samples)
    assert sizes["count", "none"] <= sizes["count", "unique"] == 1
    assert sizes["nth", "none"] <= sizes["nth", "unique"]
    assert found.notes[0] == "2 queries of the kind count: 1 with one answer, 0 with several " + (
        "answers, 1 with no answer"
    )


def test_an_alias_is_one_with_its_name_in_table_and_answer(tmp_path):
    (tmp_path / "names.csv").write_text("name,aliases\nShōwa,Hirohito|Emperor Hirohito\n")
    text = (
        "land,emperor,start,end\nJapan,Taishō,1912,1926\nJapan,Hirohito,1926,1950\n"
        "Japan,Shōwa,1950,1989\nJapan,Akihito,1989,2019\n"
    )
    found = of_file(
        tmp_path, text, question=("land",), answer=("emperor",), kinds=("longest",),
        aliases=str(tmp_path / "names.csv"), repair=("adjoining=coalesce",),
    )  # fmt: skip
    (sample,) = found.samples
    assert sample.gold == ("Shōwa",)
    assert sample.aliases == {"Shōwa": ("Hirohito", "Emperor Hirohito")}
    for answer in ("Hirohito, from 1926 to 1989", "Shōwa (Hirohito), from 1926 to 1989"):
        metrics = measure(sample, answer)["metrics"]
        assert (metrics["answer"], metrics["answer_time"]) == (1.0, 1.0)


def test_templates_of_the_users_own_are_read_back_and_say_no_more_of_time(tmp_path):
    own = {"repair": ("standard",), "templates": str(DATA / "templates.toml")}
    found = of_file(
        tmp_path, **own, kinds=("relation", "current"), phrasings=2, cardinalities=("unique",)
    )
    questions = [sample.question for sample in found.samples]
    assert any(q.startswith("Which President of Aland ") and "office" in q for q in questions)
    assert any(q.startswith("Give every President who, in Aland, ") for q in questions)
    assert "As of 1 January 2024, who leads Bland as King?" in questions
    file = tmp_path / "own.toml"
    file.write_text('relation = ["Who began after 1900 as {role} of {country} and {cond}?"]')
    with pytest.raises(ConfigError, match="questions of own templates that do not read back"):
        of_file(tmp_path, **own | {"templates": str(file)})


OFFICES = (DATA / "offices.csv").read_text()


@pytest.mark.parametrize("kind", ["relation", "current", "nth", "longest", "count", "duration"])
@pytest.mark.parametrize("answer", ["chair", "chair,seat", "chair,seat,deputy"])
@pytest.mark.parametrize("question", ["org", "org,post"])
def test_every_kind_asks_for_one_and_for_several_columns(tmp_path, kind, answer, question):
    own = {"question": question.split(","), "answer": answer.split(","), "kinds": (kind,)}
    found = of_file(tmp_path, OFFICES, now="2020-01-01", **own).samples
    assert {sample.kind for sample in found} == {kind}
    rows = list(csv.DictReader(OFFICES.splitlines()))
    for sample in found:
        for gold in sample.golds:
            assert gold.answer == ", ".join(rows[gold.row][name] for name in answer.split(","))
        if kind == "duration":  # the days that both rows have, counted one by one
            held = [
                set(range(ordinal(rows[g.row]["start"]), ordinal(rows[g.row]["end"])))
                for g in sample.golds
            ]
            assert sample.gold == (str(len(held[0] & held[1])),)
            assert all(gold.answer in sample.question for gold in sample.golds)
