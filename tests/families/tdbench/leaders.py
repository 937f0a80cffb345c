"""Questions about one small table, with their gold, for tests of the scorer."""

from agent_env.families.tdbench.sample import GoldRow, Hop, TdbenchSample
from agent_env.records.schema import MaterialTable

TABLE = MaterialTable(
    name="leader",
    columns=("country", "role", "name", "start", "end"),
    rows=(
        ("Aland", "president", "Ada Berg", "1992-05-28", "1999-05-18"),
        ("Aland", "president", "Carl Dahl", "1999-05-18", "2006-05-15"),
        ("Aland", "president", "Eva Fors", "2006-05-15", "2015-01-14"),
        ("Aland", "president", "Gun Holm", "2015-01-14", None),
        ("Bland", "president", "Ivo Juul", "1990-01-01", None),
    ),
)
NAMES = ("Ada Berg", "Carl Dahl", "Eva Fors", "Gun Holm")


def row(number):
    """A gold row of the table."""
    _, _, name, start, end = TABLE.rows[number]
    return GoldRow(answer=str(name), start=str(start), end=end and str(end), row=number)


def question(*rows, **fields):
    """A question that these rows answer; both dates are asked for unless `fields` says so."""
    golds = tuple(row(number) for number in rows)
    gold = tuple(dict.fromkeys(g.answer for g in golds))
    cardinality = ("none", "unique")[len(golds)] if len(golds) < 2 else "multiple"
    usual = {
        "id": "td-1",
        "task": "tdbench",
        "gold": gold,
        "materials": (TABLE.digest,),
        "query": "q-1",
        "phrasing": 0,
        "question": "Who was the president of Aland then?",
        "domain": "offices",
        "kind": "relation",
        "relation": "during",
        "cardinality": cardinality,
        "asked": {"country": "Aland", "role": "president"},
        "answers": ("name",),
        "granularity": "day",
        "now": "2026-01-01",
        "golds": golds,
        "others": tuple(name for name in NAMES if name not in gold),
        "roles": ("start", "end") if golds else (),
        "context": ((0, 1, 2, 3, 4),),
    }
    return TdbenchSample.model_validate(usual | fields)


def current():
    """Who holds the office now."""
    return question(3, kind="current", relation="current", roles=("start",), outdated=NAMES[:3])


def hops():
    """Who led the host of the 7th games."""
    return question(
        1,
        kind="hops",
        relation="hops",
        hops=(
            Hop(asks="the 7th games", gold=("Winter Games of 2002",)),
            Hop(asks="their host", gold=("Aland", "2002-02-08", "2002-02-24")),
            Hop(asks="its president", gold=("Carl Dahl",)),
        ),
    )
