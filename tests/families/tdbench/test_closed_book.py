"""A question without its rows has a gold that holds in the world, not in the table alone."""

from datetime import date

import pytest

from agent_env.errors import ConfigError
from agent_env.families.tdbench.completeness import is_complete
from agent_env.families.tdbench.generator import make
from agent_env.families.tdbench.prompts import wish
from agent_env.families.tdbench.sample import TdbenchOptions
from agent_env.families.tdbench.sources import SHIPPED
from agent_env.temporal.allen import FOREVER, Interval

UNLISTED = """United States|President|Herbert Hoover|1929-03-04|1933-03-04
United States|President|Franklin D. Roosevelt|1933-03-04|1945-04-12
United Kingdom|Prime Minister|Harold Macmillan|1957-01-10|1963-10-19
United Kingdom|Prime Minister|Alec Douglas-Home|1963-10-19|1964-10-16
United Kingdom|Monarch|George VI|1936-12-11|1952-02-06
France|President|René Coty|1954-01-16|1959-01-08
France|President|Alain Poher|1969-04-28|1969-06-20
France|President|Alain Poher|1974-04-02|1974-05-27
Germany|Chancellor|Willy Brandt|1969-10-22|1974-05-07
Germany|President|Heinrich Lübke|1959-09-13|1969-07-01
Canada|Prime Minister|John Diefenbaker|1957-06-21|1963-04-22
Australia|Prime Minister|Gough Whitlam|1972-12-05|1975-11-11
Netherlands|Monarch|Wilhelmina|1890-11-23|1948-09-04
Denmark|Monarch|Frederik IX|1947-04-20|1972-01-14
Japan|Emperor|Hirohito|1926-12-25|1989-01-07
Holy See|Pope|John XXIII|1958-10-28|1963-06-03
the United Nations|Secretary-General|U Thant|1961-11-30|1972-01-01
NATO|Secretary General|Jaap de Hoop Scheffer|2004-01-05|2009-08-01
the European Commission|President|José Manuel Barroso|2004-11-23|2014-11-01
the International Monetary Fund|Managing Director|Jacques de Larosière|1978-06-17|1987-01-16
the International Monetary Fund|Managing Director|Stanley Fischer|2000-02-14|2000-05-01
the International Monetary Fund|Managing Director|Anne Krueger|2004-03-04|2004-06-07
the International Monetary Fund|Managing Director|John Lipsky|2011-05-18|2011-07-05
the International Monetary Fund|Managing Director|David Lipton|2019-09-12|2019-10-01
the World Bank|President|Lewis Preston|1991-09-01|1995-05-05
the World Bank|President|Kristalina Georgieva|2019-02-01|2019-04-09
the World Trade Organization|Director-General|Renato Ruggiero|1995-05-01|1999-05-01
UNESCO|Director-General|Federico Mayor|1987-11-15|1999-11-15
the International Atomic Energy Agency|Director General|Sigvard Eklund|1961-12-01|1981-12-01
the OECD|Secretary-General|Jean-Claude Paye|1984-10-01|1996-06-01
the International Olympic Committee|President|Juan Antonio Samaranch|1980-08-03|2001-07-16
the Federal Reserve|Chair|G. William Miller|1978-03-08|1979-08-06"""
"""Who held the posts before the packaged tables begin and in their gaps, acting ones too."""
HOLDS = {
    "before": lambda s, e, b, c: e < b,
    "meets": lambda s, e, b, c: e == b,
    "overlaps": lambda s, e, b, c: s < b < e < c,
    "finished-by": lambda s, e, b, c: s < b and e == c,
    "contains": lambda s, e, b, c: s < b and e > c,
    "starts": lambda s, e, b, c: s == b and e < c,
    "equals": lambda s, e, b, c: (s, e) == (b, c),
    "started-by": lambda s, e, b, c: s == b and e > c,
    "during": lambda s, e, b, c: b < s and e < c,
    "finishes": lambda s, e, b, c: s > b and e == c,
    "overlapped-by": lambda s, e, b, c: b < s < c < e,
    "met-by": lambda s, e, b, c: s == c,
    "after": lambda s, e, b, c: s > c,
}
"""What a relation says of a row from s to e and the question's b to c, as texts."""


def world(name, now="2025-06-30"):
    lines = (SHIPPED / f"{name}.csv").read_text().splitlines()[1:]
    rows = [line.split(",") for line in lines] + [u.split("|") for u in UNLISTED.splitlines()]
    return [(*row[:3], row[3], row[4] or "9999") for row in rows if row[3] <= now]


def closed(count=390, seed=1, **options):
    values = {"tables": "shipped", "domains": ("offices", "organisations"), "book": "closed"}
    return make(count, seed, TdbenchOptions.model_validate({**values, **options}))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_golds_of_relations_hold_among_all_who_held_the_post(seed):
    everyone = {*world("offices"), *world("organisations")}
    samples = closed(seed=seed, asks="dependent").samples
    assert len(samples) == 390
    for each in samples:
        right = {
            name
            for *keys, name, start, end in everyone
            if keys == list(each.asked.values())
            if HOLDS[each.relation](start, end, each.b_start, each.b_end)
        }
        assert set(each.gold) == right, each.question
        assert each.relation != "before"  # nobody knows from the table who came before its rows
        assert wish(each, "default").startswith("Answer as of 2025-06-30. Write the answer with")


def test_golds_of_hops_and_of_now_hold_among_all_who_held_the_post():
    everyone = world("offices")
    samples = closed(120, kinds=("hops", "current"), phrasings=1).samples
    games = [line.split(",") for line in (SHIPPED / "games.csv").read_text().splitlines()[1:]]
    kinds = [each.kind for each in samples]
    assert kinds.count("hops") == 18
    assert kinds.count("current") > 10
    for each in samples:
        if each.kind == "current":
            assert len(each.gold) == 1
            continue
        key, role = each.asked.values()
        (game,) = [g for g in games if key in g]
        *_, country, start, end = game
        right = {
            name
            for nation, post, name, s, e in everyone
            if (nation, post) == (country, role) and s < end and start < e
        }
        assert right
        assert set(each.gold) == right, each.question


def test_an_invented_table_is_the_whole_world():
    relations = {s.relation for s in closed(90, tables="fictional", domains=("clubs",)).samples}
    assert "before" in relations


def test_what_a_table_cannot_know_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"before with one answer .* in what their tables cover"):
        closed(9, relations=("before",))
    file = tmp_path / "t.csv"
    rows = "".join(f"x,A{n},{1990 + n},{1991 + n}\n" for n in range(9))
    file.write_text(f"post,name,start,end\n{rows}")
    own = {"tables": str(file), "now": "2000-01-01", "domains": (), "granularity": "year"}
    own |= {"question": ("post",), "answer": ("name",)}
    with pytest.raises(ConfigError, match="unique=false leaves open whether the table lists all"):
        closed(9, **own, unique=False)
    found = {s.relation for s in closed(30, **own).samples}
    assert "equals" in found
    assert not found & {"before", "after"}  # nothing is known from 1999 on, either


def days(*years):
    return [date(year, 1, 1).toordinal() for year in years]


@pytest.mark.parametrize(
    ("relation", "b", "complete"),
    [
        ("before", (1995, 1996), False),
        ("meets", (1990, 1992), False),
        ("meets", (1991, 1992), True),
        ("overlaps", (1989, 1992), False),
        ("overlaps", (1991, 1992), True),
        ("during", (1989, 1992), False),
        ("during", (1991, 1994), True),
        ("during", (1991, 1997), False),
        ("contains", (1992, 1993), True),
        ("contains", (1988, 1989), False),
        ("met-by", (1991, 1994), True),
        ("met-by", (1991, 1995), False),
        ("after", (1991, 1993), False),
        ("after", (1997, 1998), True),
        ("equals", (1995, 1996), False),
    ],
)
def test_only_days_without_a_row_leave_a_relation_open(relation, b, complete):
    """The rows cover 1990 to 1995 and 1996 to this day."""
    one, two, three = days(1990, 1995, 1996)
    rows = [Interval(one, two), Interval(three, FOREVER)]
    assert is_complete(rows, days(2000)[0], relation, Interval(*days(*b))) is complete
