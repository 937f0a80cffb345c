"""Questions from a user's or a published table, faults and all."""

import csv
from collections import Counter
from datetime import date

import pytest

from agent_env.errors import ConfigError
from agent_env.families.tdbench.generator import make
from agent_env.families.tdbench.sample import TdbenchOptions, TdbenchSample
from agent_env.families.tdbench.score import measure

LEADERS = """Country,Role,Name,Start,End
Aland,President,Ada Berg,1992,1999
Aland,President,Carl Dahl,1999,2006
Aland,President,Carl Dahl,2006,2006
Aland,President,Eva Fors,2006,
Bland,King,Ivo Juul,1990,nan
Cland,Chair,Ola Pohl,1990,2001
Dland,Chair,Rut Sand,1990,2001
Dland,Chair,Tor Unn,2000,2003
"""
USER = {"question": ("Country", "Role"), "answer": ("Name",), "now": "2024-01-01", "phrasings": 1}


def made(folder, text=LEADERS, count=9, **options):
    file = folder / "leaders.csv"
    file.write_text(text)
    return make(count, 7, TdbenchOptions.model_validate({**USER, "tables": str(file), **options}))


def samples(found):
    return [sample for sample in found.samples if isinstance(sample, TdbenchSample)]


def test_a_published_table_generates_once_it_is_repaired(tmp_path):
    with pytest.raises(
        ConfigError, match=r"(?s)ends on its start.*'nan' is not a date.*tdbench doctor"
    ):
        made(tmp_path)
    found = made(tmp_path, repair=("standard",))
    assert len(found.samples) == 9
    assert {k: n for k, n in found.left_out.items() if "repaired" in k} == {
        "rows of leaders repaired by missing-mark=blank": 1,
        "rows of leaders repaired by zero-length=drop": 1,
        "rows of leaders repaired by dependency=drop": 2,
    }


def test_questions_go_by_what_a_file_needs(tmp_path):
    text = "Land;Amt;Name;Von;Bis;Bild\n" + "".join(
        f"{land};König;{land}{name};{3 + n}.8.{1900 + 20 * n};{4 + n}.8.{1920 + 20 * n};{land}{n}\n"
        for land in "AB" for n, name in enumerate("abcd")
    )  # fmt: skip
    found = made(tmp_path, text, question=(), answer=())
    assert {sample.answers for sample in samples(found)} == {("name",)}
    assert found.notes[:3] == (
        "leaders.csv: cells separated by ;",
        "leaders.csv: a row starts by the column von, ends by bis",
        "leaders.csv: asked by land → name (2 groups with several answers): --option question=land "
        "--option answer=name; or land → bild (2 groups with several answers)",
    )
    with pytest.raises(ConfigError, match="say what to ask: --option question=COLUMNS"):
        made(tmp_path, "a,b,start,end\nx,P,2000,2001\n", question=(), answer=())
    options = {"tables": "shipped", "book": "closed", "cardinalities": ("unique",)}
    found = samples(make(30, 5, TdbenchOptions.model_validate(options)))
    assert {sample.book for sample in found} == {"closed"}
    assert not any("listed" in sample.question for sample in found)


def test_no_answer_is_never_right_more_often_than_not(tmp_path):
    rows = "".join(f"{g},{g}{n},{1990 + 3 * n},{1993 + 3 * n}\n" for g in "xyz" for n in range(6))
    rows += "x,x0,2008,2010\n"
    own = {"question": ("a",), "answer": ("b",), "kinds": ("count", "nth"), "count": 40}
    found = made(tmp_path, f"a,b,start,end\n{rows}", **own)
    sizes = Counter((sample.kind, sample.cardinality) for sample in samples(found))
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
    found = made(
        tmp_path, text, question=("land",), answer=("emperor",), kinds=("longest",),
        aliases=str(tmp_path / "names.csv"), repair=("adjoining=coalesce",),
    )  # fmt: skip
    (sample,) = samples(found)
    assert (sample.gold, sample.aliases) == (
        ("Shōwa",),
        {"Shōwa": ("Hirohito", "Emperor Hirohito")},
    )
    for answer in ("Hirohito, from 1926 to 1989", "Shōwa (Hirohito), from 1926 to 1989"):
        metrics = measure(sample, answer)["metrics"]
        assert (metrics["answer"], metrics["answer_time"]) == (1.0, 1.0)


TEMPLATES = """verbs = "office"
noun = "leader"
relation = ["Which {role} of {country} {cond}?", "Give every {role} who, in {country}, {cond}."]
current = ["As of {now}, who leads {country} as {role}?"]
"""


def test_templates_of_the_users_own_are_read_back_and_say_no_more_of_time(tmp_path):
    file = tmp_path / "own.toml"
    file.write_text(TEMPLATES)
    found = made(
        tmp_path, repair=("standard",), templates=str(file), kinds=("relation", "current"),
        phrasings=2, cardinalities=("unique",),
    )  # fmt: skip
    questions = [sample.question for sample in samples(found)]
    assert any(q.startswith("Which President of Aland ") and "office" in q for q in questions)
    assert any(q.startswith("Give every President who, in Aland, ") for q in questions)
    assert "As of 1 January 2024, who leads Bland as King?" in questions
    file.write_text('relation = ["Who began after 1900 as {role} of {country} and {cond}?"]')
    with pytest.raises(ConfigError, match="questions of own templates that do not read back"):
        made(tmp_path, repair=("standard",), templates=str(file))


OFFICES = """org,post,chair,seat,deputy,start,end
A,x,Ann,Bonn,Kim,2000-01-01,2003-01-01
A,x,Bob,Bonn,Lee,2003-01-01,2006-01-01
A,x,Ann,Bonn,Kim,2007-01-01,2008-01-01
A,x,Cay,Rome,"O'Hara, Sue",2008-01-01,
B,y,Dan,Oslo,Mia,2001-01-01,2004-01-01
B,y,Eve,Oslo,Ned,2004-01-01,2007-05-01
B,y,Fay,Wien,Ora,2007-05-01,
"""
ANSWERS = ["chair", "chair,seat", "chair,seat,deputy"]


@pytest.mark.parametrize("kind", ["relation", "current", "nth", "longest", "count", "duration"])
@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("question", ["org", "org,post"])
def test_every_kind_asks_for_one_and_for_several_columns(tmp_path, kind, answer, question):
    own = {"question": question.split(","), "answer": answer.split(","), "kinds": (kind,)}
    found = samples(made(tmp_path, OFFICES, now="2020-01-01", **own))
    assert found
    rows = list(csv.DictReader(OFFICES.splitlines()))
    for sample in found:
        assert sample.kind == kind
        for gold in sample.golds:
            assert gold.answer == ", ".join(rows[gold.row][name] for name in answer.split(","))
        if kind == "duration":  # the days that both rows have, counted one by one
            held = [
                set(range(ordinal(rows[g.row]["start"]), ordinal(rows[g.row]["end"])))
                for g in sample.golds
            ]
            assert sample.gold == (str(len(held[0] & held[1])),)
            assert all(gold.answer in sample.question for gold in sample.golds)


def ordinal(text):
    return date.fromisoformat(text).toordinal()
