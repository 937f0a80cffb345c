"""Generated questions: golds checked by a second reading of the rows, balance, bytes, bad input."""

from collections import Counter
from datetime import date

import pytest

from agent_env.errors import ConfigError
from agent_env.families.tdbench.generator import make
from agent_env.families.tdbench.reading import read_bounds
from agent_env.families.tdbench.sample import TdbenchOptions, TdbenchSample
from agent_env.temporal.months import add_months

NEVER = "9999-99-99"

# Each relation by its bounds alone, on the texts of the table itself.
ORACLE = {
    "before": lambda s, e, b, c: e < b,
    "meets": lambda s, e, b, c: e == b,
    "overlaps": lambda s, e, b, c: s < b < e < c,
    "finished-by": lambda s, e, b, c: s < b and e == c,
    "contains": lambda s, e, b, c: s < b and c < e,
    "starts": lambda s, e, b, c: s == b and e < c,
    "equals": lambda s, e, b, c: s == b and e == c,
    "started-by": lambda s, e, b, c: s == b and c < e,
    "during": lambda s, e, b, c: b < s and e < c,
    "finishes": lambda s, e, b, c: b < s and e == c,
    "overlapped-by": lambda s, e, b, c: b < s < c < e,
    "met-by": lambda s, e, b, c: s == c,
    "after": lambda s, e, b, c: c < s,
}


def made(count, **options):
    return make(count, 7, TdbenchOptions.model_validate(options))


def samples(found):
    return [sample for sample in found.samples if isinstance(sample, TdbenchSample)]


def gold_of(sample, table):
    """Who answers, by a plain reading of the rows."""
    at = {name: place for place, name in enumerate(table.columns)}
    rows = [r for r in table.rows if all(r[at[k]] == v for k, v in sample.asked.items())]
    holds = ORACLE[sample.relation]
    return sorted(
        (", ".join(str(row[at[name]]) for name in sample.answers), row[-2], row[-1])
        for row in rows
        if holds(row[-2], row[-1] or NEVER, sample.b_start, sample.b_end)
    )


@pytest.mark.parametrize(
    ("tables", "granularity"), [("fictional", "day"), ("shipped", "month"), ("fictional", "year")]
)
def test_a_second_reading_of_the_rows_finds_the_same_gold(tables, granularity):
    found = made(390, tables=tables, granularity=granularity, rows=120, phrasings=1)
    table = {each.digest: each for each in found.tables}
    for sample in samples(found):
        golds = sorted((row.answer, row.start, row.end) for row in sample.golds)
        assert golds == gold_of(sample, table[sample.materials[0]])
        assert set(sample.gold) == {row.answer for row in sample.golds}
        assert sample.b_end <= sample.now


def test_one_seed_gives_the_same_questions_of_each_relation():
    found = samples(made(39 * 6, phrasings=1))
    counts = Counter((sample.relation, sample.cardinality) for sample in found)
    assert len(counts) == 39
    assert set(counts.values()) == {6}
    by_query = {}
    for sample in samples(made(234)):
        by_query.setdefault(sample.query, []).append(sample)
    for group in by_query.values():
        assert len(group) == 3
        assert len({sample.question for sample in group}) == 3
        assert len({(s.gold, s.context, s.b_start, s.sql["duckdb"]) for s in group}) == 1
        bounds = {read_bounds(sample.question) for sample in group}
        assert len(bounds) == 1
        assert bounds != {()}
    kinds = ("relation", "current", "nth", "longest", "count", "duration", "hops")
    first, again = made(70, kinds=kinds, rows=60), made(70, kinds=kinds, rows=60)
    assert [s.model_dump_json() for s in first.samples] == [
        s.model_dump_json() for s in again.samples
    ]
    assert first.tables == again.tables
    found = samples(made(30, tables="shipped", domains=("offices",), kinds=("duration",)))
    for sample in found:
        (one, two) = sample.golds
        start, end = max(one.start, two.start), min(one.end, two.end)
        days = (date.fromisoformat(end) - date.fromisoformat(start)).days
        assert sample.gold == (str(days),)
        assert sample.roles == ()
    assert add_months(date(2001, 3, 31), -1) == date(2001, 2, 28)
    assert add_months(date(2003, 12, 31), 2) == date(2004, 2, 29)
    with pytest.raises(OverflowError):
        add_months(date(9999, 12, 1), 1)


def write(folder, *lines):
    file = folder / "posts.csv"
    file.write_text("\n".join(("order,who's,start,end", *lines)) + "\n")
    return file


USER = {"question": ("order",), "answer": ("who's",), "now": "2024-01-01", "phrasings": 1}


def test_quotes_sql_and_keywords_change_no_gold(tmp_path):
    file = write(
        tmp_path,
        "\"x'; DROP TABLE posts; --\",O'Hara,2001-01-01,2003-05-05",
        '"x\'; DROP TABLE posts; --","A ""B"" C",2003-05-05,2010-01-31',
        "y,{cond} <v0>,2002-01-01,2004-02-29",
        "y,SELECT,2004-02-29,",
    )
    found = made(60, tables=str(file), **USER)
    assert len(found.samples) > 30
    (table,) = found.tables
    for sample in samples(found):
        golds = sorted((row.answer, row.start, row.end) for row in sample.golds)
        assert golds == gold_of(sample, table)


def test_defects_of_rows_are_named(tmp_path):
    file = write(
        tmp_path, "a,P,2001-01-01,2000-01-01", "a,Q,2002,2004-01-01", "a,R,2002-02-30,",
        "b,S,2001-01-01,2001-01-01",
    )  # fmt: skip
    with pytest.raises(ConfigError) as caught:
        made(3, tables=str(file), **USER)
    for part in (
        "before its start",
        "by year",
        "2002-02-30",
        ":5: ends on its start",
        "tdbench doctor",
    ):
        assert part in str(caught.value)
