"""The sealed web of a day: a reader of dates that shares nothing with the writer finds none that is
later; a page is the one that it was."""

from contextlib import closing
from datetime import date
from functools import cache

import pytest

from agent_env.episodes.results import episodes_of
from agent_env.errors import ConfigError
from agent_env.families.tdbench.generator import make
from agent_env.families.tdbench.sample import TdbenchOptions
from agent_env.features.clock import ClockOptions
from agent_env.features.facts import sealed
from agent_env.features.facts.fiction.world import make_world
from agent_env.features.facts.sealed import AgingWorld, open_sealed
from agent_env.features.facts.site.render import render_all
from agent_env.features.facts.site.sheet import LEVELS
from agent_env.features.facts.tables import as_of
from agent_env.features.facts.tables.articles import article_url
from agent_env.features.facts.tables.as_of import material_as_of, tables_as_of
from agent_env.features.facts.tables.tables import shipped_tables
from agent_env.features.facts.web_cli import BuildOptions, build_web
from agent_env.runs.options.run_options import RunOptions
from agent_env.runs.start import start_run
from benchmarks.aging_worlds import later_dates, leaks
from tests.plans import QUIET

DAYS = [date(1866, 12, 31), date(1936, 8, 5), date(1995, 6, 1)]


@cache
def worlds():
    tables = make(20, 3, TdbenchOptions(rows=40)).tables
    return {
        "shipped": AgingWorld(shipped_tables(), LEVELS["medium"]),
        "fictional": AgingWorld(make_world(150, 6), LEVELS["hard"], tables),
    }


def pages_of(web):
    return [(sheet.url, sheet.title, sheet.text, "") for sheet in web.sheets.values()]


@pytest.mark.parametrize("world", ["shipped", "fictional"])
@pytest.mark.parametrize("day", DAYS, ids=str)
def test_no_page_of_a_day_says_a_later_date_but_what_is_planned(world, day):
    assert leaks(pages_of(worlds()[world].on(day)), day) == []


def test_the_reader_finds_a_leak_that_is_planted(monkeypatch):
    monkeypatch.setattr(as_of, "_past", lambda end, today: end)
    world, day = AgingWorld(shipped_tables(), LEVELS["medium"]), date(1995, 6, 1)
    found = leaks(pages_of(world.on(day)), day)
    assert "Presidency_of_Bill_Clinton" in found[0]
    assert "2001" in found[0]
    assert any("List_of_presidents" in leak and "2001" in leak for leak in found)


@pytest.mark.parametrize(
    ("sentence", "later"),
    [
        ("It ended on June 2, 1995.", ["June 2, 1995"]),
        ("It ended on 1 June 1995, and 31 May 1995.", []),
        ("Born 2 June 1995 | 1995-06-02", ["2 June 1995", "1995-06-02"]),
        ("https://gazette.example/1995/06/02/x", ["1995/06/02"]),
        ("since July 1995, in the 2000s, by 1996", ["July 1995", "2000s", "1996"]),
        ("It is planned and will end on 2 June 1995.", []),
        ("It is planned for 1 May 1995.", ["1 May 1995"]),
        ("tables.example/x-0c6f2292 and 12345", []),
    ],
)
def test_what_the_reader_takes_for_a_later_date(sentence, later):
    assert [leak.split(" in: ")[0] for leak in later_dates(sentence, date(1995, 6, 1))] == later


def page_on(day, title, world="shipped"):
    sheet = worlds()[world].on(date.fromisoformat(day)).sheets.get(article_url(title))
    return None if sheet is None else sheet.text


async def test_each_day_is_rendered_alike_and_knows_no_later_one():
    title = "Presidency of Bill Clinton"
    assert page_on("1993-01-19", title) is None
    assert "a term that still lasts" in page_on("1995-06-01", title)
    assert "2001" in page_on("2003-01-01", title)
    title = "Men's football World Cup in England"
    assert page_on("1960-01-01", title) is None
    planned = page_on("1966-07-10", title)
    assert "is planned and will begin on 11 July 1966 and end on 30 July 1966." in planned
    assert "still lasts" in page_on("1966-07-11", title)
    told = page_on("1966-07-30", title)
    assert [word in told for word in ("planned", "still", "July")] == [False, False, True]
    (hit,) = await worlds()["shipped"].on(date(1966, 7, 10)).search(title, 1)
    assert hit.snippet.startswith("The men's football World Cup in England is planned")
    text = page_on("1900-01-01", "Marie Curie")
    words = ("was born on", "died", "Died", "radioactivity")
    assert [word in text for word in words] == [True, False, False, False]
    assert page_on("1880-01-01", "Marie Curie") is None
    assert "radioactivity" in page_on("1934-07-04", "Marie Curie")
    for day in (date(1948, 8, 1), date(2020, 1, 1)):
        sheets = worlds()["shipped"].on(day).sheets
        (news,) = (s for u, s in sheets.items() if "/1948/07/30/austerity-games" in u)
        assert news.text.splitlines()[1].endswith("began on Thursday, 29 July 1948.")
    tables, fresh = make(20, 3, TdbenchOptions(rows=40)).tables, make_world(150, 6)
    for day in (DAYS[2], DAYS[0], DAYS[1]):
        then = [material_as_of(table, day) for table in tables]
        alone = list(render_all(tables_as_of(fresh, day), LEVELS["hard"], then))
        assert list(worlds()["fictional"].on(day).sheets.values()) == alone
    with pytest.raises(ConfigError, match="--today 1700-01-01 is before the world"):
        worlds()["fictional"].on(date(1700, 1, 1))
    web = worlds()["fictional"].on(date(2200, 1, 1))
    assert not any("planned and" in s.text or "still lasts" in s.text for s in web.sheets.values())
    web = worlds()["shipped"].on(DAYS[1])
    page = await web.fetch(next(iter(web.sheets)) + "#top")
    assert page.fetched_at == "1936-08-05T00:00:00Z"


@pytest.mark.parametrize("world", ["shipped", "fictional"])
def test_links_lead_to_pages_of_the_day(world):
    sheets = worlds()[world].on(date(1936, 8, 5)).sheets
    linked = {u for s in sheets.values() for _, u in s.links if "almanac.example" not in u}
    assert linked
    assert linked - sheets.keys() == set()


def test_built_worlds_are_known_again_or_built_for_one_day(tmp_path):
    wanted, day = {"world": "fictional", "entities": 150, "seed": 6}, date(1936, 8, 5)
    files = (tmp_path / "f.db", tmp_path / "unused.db")
    build_web(BuildOptions(files[0], difficulty="hard", **wanted), print)
    with closing(open_sealed(*files)) as web:
        made = AgingWorld(make_world(150, 6), LEVELS["hard"]).on(day)
        assert pages_of(web.on(str(day))) == pages_of(made)
    (tmp_path / "f.facts.csv").unlink()
    other = pytest.raises(ConfigError, match=r"f\.db has other pages than its tables give")
    with closing(open_sealed(*files)) as web, other:
        web.on(str(day))
    built = build_web(BuildOptions(tmp_path / "d.db", today=str(day), **wanted), print)
    made = AgingWorld(make_world(150, 6), LEVELS["medium"]).on(day)
    assert (built.pages, built.facts) == (len(made.sheets), None)


async def test_a_run_on_a_day_reads_that_days_pages(tmp_path, monkeypatch):
    monkeypatch.setattr(sealed, "KEPT_DAYS", 1)
    days = ("1989-06-01", "2015-06-01")
    options = RunOptions(
        "tdbench", limit=2, conditions=("web",), out=tmp_path / "run",
        options=("rows=40", "domains=offices", "kinds=current", "book=closed"),
        features={"clock": ClockOptions(today=days)},
    )  # fmt: skip
    read = {day: [] for day in days}
    for episode in episodes_of(await start_run(options, QUIET), print):
        texts = [message.content for message in episode.messages if message.role == "tool"]
        read[episode.condition.removeprefix("web~on-")] += texts
    for day, texts in read.items():
        assert len(texts) > 1
        assert list(later_dates("\n".join(texts), date.fromisoformat(day))) == []
    assert read[days[0]] != read[days[1]]
