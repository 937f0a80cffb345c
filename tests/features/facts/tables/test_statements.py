"""From a query service's statements to rows: what is taken, and why the rest is left out. Pages of
an import survive a failure, and only of the same import."""

from datetime import date

import pytest

from agent_env.errors import ConfigError, StorageError
from agent_env.features.facts.tables import statements
from agent_env.features.facts.tables.statements import KeptPages, row_of
from agent_env.temporal.days import PartialDate
from tests.tables import each

NOW = date(2026, 1, 31)
WATERLOO = ("point", "1815-06-18T00:00:00Z", 11)


def item(*times, name="Battle of Waterloo", number=1):
    return statements.Item(
        id=f"Q{number}", kind="battle", names={"en": name} if name else {}, descriptions={},
        statements=tuple(stated(*time) for time in times),
    )  # fmt: skip


def stated(bound, time, precision, calendar="Q1985727"):
    given = {"bound": bound, "time": time, "precision": precision, "calendar": calendar}
    return statements.Statement.model_validate(given)


def why_left_out(thing):
    with pytest.raises(statements.LeftOut) as caught:
        row_of(thing, ("en",), NOW)
    return str(caught.value)


def test_statements_names_and_summaries_without_doubt():
    for precision, parts in ((9, (1815,)), (10, (1815, 6)), (11, (1815, 6, 18))):
        row = row_of(item((*WATERLOO[:2], precision)), ("en",), NOW)
        assert row.start == PartialDate(*parts)
    times = [("point", "1815-01-01T00:00:00Z", 9), WATERLOO, WATERLOO]
    assert row_of(item(*times), ("en",), NOW).start == PartialDate(1815, 6, 18)
    thing = item(("point", "1498-07-01T00:00:00Z", 11, "Q1985786"))
    assert why_left_out(thing) == "a date in the Julian calendar"
    thing = item(WATERLOO, name="2011 Tohoku earthquake")
    assert why_left_out(thing) == "a name with a number in it that may be its year"
    gathered = statements.Gathered(("en",), NOW)
    gathered.add([item(WATERLOO, number=n) for n in (1, 2, 3)])
    gathered.add([item(WATERLOO, name="Siege of Paris", number=4)])
    assert [row.event for row in gathered.rows(10)] == ["the Siege of Paris"]
    assert gathered.left_out == {"a name that several items bear": 3}
    thing = item(WATERLOO).model_copy(update={"names": {"de": "Schlacht bei Waterloo"}})
    assert row_of(thing, ("en", "de"), NOW).event == "Schlacht bei Waterloo"
    assert why_left_out(thing) == "no name in the languages asked for"
    last = "Napoleon's last battle"
    for text, summary in (("battle of 1815", ""), (last, last)):
        thing = item(WATERLOO).model_copy(update={"descriptions": {"en": text}})
        assert row_of(thing, ("en",), NOW).summary == summary


START = ("start", "1815-06-16T00:00:00Z", 11)
DOUBTS = {
    "no date": [[]],
    "no start or no end": [[START], [START, WATERLOO]],
    "statements that disagree": [[WATERLOO, ("point", "1815-06-19T00:00:00Z", 11)]],
    "a precision or calendar that is not known here": [
        [("point", "1810-01-01T00:00:00Z", 8)], [("point", "1815-06-18T10:00:00Z", 12)],
    ],
    "a date outside the years 1 to 9999": [
        [("point", "-0489-09-12T00:00:00Z", 9)], [("point", "0000-01-01T00:00:00Z", 9)],
        [("point", "13798000000-01-01T00:00:00Z", 9)], [("point", "t1234", 9)],
    ],
    "dates that cannot be": [
        [("point", "1815-02-30T00:00:00Z", 11)], [("point", "2026-02-01T00:00:00Z", 11)],
        [("start", "1815-01-01T00:00:00Z", 9), ("end", "1814-01-01T00:00:00Z", 9)],
    ],
}  # fmt: skip


@pytest.mark.parametrize(("times", "reason"), each(DOUBTS))
def test_what_is_in_doubt_is_left_out(times, reason):
    assert why_left_out(item(*times)) == reason


@pytest.mark.parametrize(
    "name",
    ["the Siege of Vienna", "the Falklands War", "World War II", "Operation Overlord", "the Blitz",
     "Watergate"],
)  # fmt: skip
def test_a_label_becomes_a_phrase(name):
    label = "The Blitz" if "Blitz" in name else name.removeprefix("the ")
    assert statements.with_article(label) == name


QUERY = statements.ImportQuery(
    endpoint="http://127.0.0.1/sparql", kinds=(statements.Kind(name="battle", item="Q178561"),),
    languages=("en",), sitelinks=10, page_size=2,
)  # fmt: skip
PAGE = statements.ItemPage(kind="battle", last="Q2", more=True, items=())


def test_a_cut_line_is_dropped_and_written_anew_and_another_import_is_refused(tmp_path):
    kept = KeptPages(tmp_path / "pages.jsonl")
    kept.open(QUERY)
    kept.add(PAGE)
    with pytest.raises(ConfigError, match="of an import that asked for something else"):
        kept.open(QUERY.model_copy(update={"sitelinks": 11}))
    with kept.file.open("a") as file:
        file.write('{"kind":"batt')
    assert kept.open(QUERY) == [PAGE]
    kept.add(PAGE)
    assert kept.open(QUERY) == [PAGE, PAGE]


def test_files_of_something_else_or_nowhere_are_refused(tmp_path):
    file = tmp_path / "pages.jsonl"
    file.write_text("my diary\n")
    with pytest.raises(ConfigError, match="holds no pages of an import; delete it"):
        KeptPages(file).open(QUERY)
    assert file.read_text() == "my diary\n"
    with pytest.raises(StorageError, match=r"cannot write .*pages\.jsonl"):
        KeptPages(tmp_path / "nowhere/pages.jsonl").open(QUERY)
