"""Pages on temporal tables: they say what they show, prove what they are said to prove, and what
misleads says so."""

from collections import Counter
from functools import cache

import pytest

from agent_env.families.tdbench.generator import make
from agent_env.families.tdbench.sample import TdbenchOptions
from agent_env.features.facts.site.sheet import LEVELS
from agent_env.features.facts.site.tables import passed_over, table_pages
from agent_env.features.facts.tables.articles import TablePages
from agent_env.records.schema import MaterialTable
from agent_env.scoring.evidence import stands_in
from agent_env.web.extract import extract

KINDS = ("relation", "current", "nth", "longest", "count", "duration", "hops")
OFFICES = MaterialTable(
    name="offices",
    columns=("country", "role", "name", "start", "end"),
    rows=(
        ("Arland", "President", "Ada Berg", "1992-05-28", "1999-05-18"),
        ("Arland", "President", "Carl Dahl", "1999-05-18", None),
        ("Arland", "Chancellor", "Ada Berg", "1990-01-01", "1992-01-01"),
        ("Borland", "President", "Eva | Fors", "2001-02-03", "2004-05-06"),
    ),
)


@cache
def questions():
    return make(105, 3, TdbenchOptions(rows=80, kinds=KINDS, phrasings=1))


@cache
def rendered(level):
    sheets = (s for table in questions().tables for s in table_pages(table, LEVELS[level]))
    return {sheet.url: sheet for sheet in sheets}


def test_rows_have_pages_proofs_and_misleading_copies():
    pages = {page.title: page.rows for page in TablePages(OFFICES)}
    assert pages == {
        "Arland": (2, 0, 1), "Borland": (3,), "President": (0, 1, 3), "Chancellor": (2,),
        "Ada Berg": (2, 0), "Carl Dahl": (1,), "Eva | Fors": (3,), "Arland, President": (0, 1),
        "Arland, Ada Berg": (2, 0),
    }  # fmt: skip
    made = list(table_pages(OFFICES, LEVELS["easy"]))
    sheets = {sheet.title: sheet for sheet in made}
    assert len(sheets) == len(made)
    sheet = sheets["Arland, President"]
    assert sheet.text.splitlines()[0] == (
        "Arland, President. All 2 entries under country Arland and role President in the list of "
        "offices, earliest first."
    )
    head, first, second = sheet.rows
    assert head == ("No.", "country", "role", "name", "from", "until")
    assert first[:4] == ("1", "Arland", "President", "Ada Berg")
    assert stands_in("1992-05-28", first[4])
    assert stands_in("1999-05-18", first[5])
    assert (second[3], second[5]) == ("Carl Dahl", "still")
    assert ("Ada Berg", sheets["Ada Berg"].url) in sheet.links
    rows = tuple(("x", f"n{n}", str(1900 + n), str(1901 + n)) for n in range(61))
    table = MaterialTable(name="t", columns=("a", "b", "start", "end"), rows=rows)
    pages = TablePages(table)
    assert (len(list(pages)), pages.passed_over, passed_over([table])) == (61, 1, 1)
    assert pages.stating({"a": "x"}) == ()
    none = [s for s in questions().samples if s.cardinality == "none" and s.kind == "relation"]
    assert len(none) > 3
    tables = {table.digest: table for table in questions().tables}
    for sample in none:
        (proof,) = sample.proofs
        rows = tables[sample.materials[0]].rows
        starts = {str(rows[place][-2]) for place in sample.relevant[0]}
        assert (starts - set(proof.dates), proof.used) == (set(), ())
    counts = []
    for level in LEVELS:
        copies, things, own = (
            [s for s in rendered(level).values() if s.url.startswith(f"https://{site}.example/")]
            for site in ("copies", "things", "tables")
        )
        assert all("is an old version, kept as it stood on " in s.text for s in copies)
        assert all(" named after " in s.text for s in things)
        assert {s.title for s in (*copies, *things)} <= {s.title for s in own}
        counts.append(len(copies) + len(things))
    assert counts[0] == 0 < counts[1] < counts[2]
    rows = tuple(("x", f"n{n}", f"{1900 + n}-01-01", f"{1901 + n}-01-01") for n in range(5))
    table = MaterialTable(name="t", columns=("a", "b", "start", "end"), rows=rows)
    sure = LEVELS["hard"].__class__("sure", 1.0, 0.0, 0.0, late_dates=0.0)
    (copy,) = (s for s in table_pages(table, sure) if s.url.startswith("https://copies"))
    assert [row[2] for row in copy.rows[1:]] == ["n0", "n1", "n2", "n3"]
    assert copy.rows[-1][-1] == "still"
    assert stands_in("1903-01-01", copy.rows[-2][-1])


@pytest.mark.parametrize("level", LEVELS)
def test_the_text_of_a_page_is_what_extraction_finds_in_its_html(level):
    for sheet in list(rendered(level).values())[::7]:
        found = extract(sheet.html.encode())
        assert (found.title, found.text) == (sheet.title, sheet.text)


@pytest.mark.parametrize("level", LEVELS)
def test_every_page_that_is_said_to_prove_an_answer_states_its_dates(level):
    sheets, seen = rendered(level), Counter[str]()
    for sample in questions().samples:
        assert sample.proofs, sample.id
        assert set(sample.evidence) == {url for proof in sample.proofs for url in proof.urls}
        for proof in sample.proofs:
            seen[sample.kind] += 1
            for url in proof.urls:
                assert proof.dates
                assert all(stands_in(date, sheets[url].text) for date in proof.dates), url
            assert set(proof.used or ()) <= set(proof.dates)
    assert set(seen) == set(KINDS)
