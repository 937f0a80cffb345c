"""What makes the sealed web worth searching, as figures: its articles are long, no sentence fills
or says what the page is, search finds by prose, and the reference needs few searches."""

import re
from collections import Counter
from functools import cache
from pathlib import Path
from random import Random
from statistics import median

import pytest

from agent_env.families.time_puzzles import reference_lookups as lookups
from agent_env.families.time_puzzles.candidates import event_facts
from agent_env.families.time_puzzles.day_sets import DaySets
from agent_env.families.time_puzzles.guarantees import proofs_of
from agent_env.families.time_puzzles.shift import moved_by_years, with_event
from agent_env.families.time_puzzles.wording import Wording
from agent_env.features.facts.fiction.world import make_world
from agent_env.features.facts.sealed import SealedWeb
from agent_env.features.facts.site.render import render_all
from agent_env.features.facts.site.sheet import LEVELS, stories
from agent_env.features.facts.tables.articles import article_url, event_title
from agent_env.features.facts.tables.tables import shipped_tables
from agent_env.features.reference.turns import History, _hits
from agent_env.scoring.evidence import dates_in
from agent_env.temporal.days import PUZZLE_DAYS
from agent_env.temporal.written import WEEKDAYS
from agent_env.tools.builtin.open_page import OpenPage
from agent_env.tools.builtin.web_search import WebSearch

TABLES = shipped_tables()
WORLDS = {"real": TABLES, "fictional": make_world(400, seed=3)}
ADDRESS = re.compile(r" <https?://[^>]*>")
MADE_UP = re.compile(
    r"made[ -]up|invent(?:ed|ion) (?:of|by) this|imaginary|sealed web|no such|table of facts"
    r"|fiction|this site|test page|keywords:"
)
"""In small letters."""


@cache
def pages(world, level="medium"):
    return tuple(render_all(WORLDS[world], LEVELS[level]))


def plain(sheet):
    return ADDRESS.sub("", sheet.text)


@pytest.mark.parametrize("name", WORLDS)
def test_articles_are_long_and_say_nothing_of_what_they_are(name):
    own = {article_url(event_title(row.event)) for row in WORLDS[name].events if row.start}
    assert median([len(plain(sheet).split()) for sheet in pages(name) if sheet.url in own]) >= 400
    for level in LEVELS:
        for sheet in pages(name, level):
            assert not MADE_UP.search(f"{sheet.title}\n{sheet.text}".lower()), sheet.url
            assert sheet.truth, sheet.url
            assert "sealed-web" in sheet.html


@pytest.mark.parametrize("name", WORLDS)
def test_no_sentence_stands_on_many_pages(name):
    sentences = Counter()
    for sheet in pages(name):
        ended = (line for line in plain(sheet).splitlines() if line[-1:] in ".!?")
        parts = (re.split(r"(?<=[.!?]) (?=[A-Z])", line) for line in ended)
        sentences.update({each.strip() for part in parts for each in part})
    worst, count = sentences.most_common(1)[0]
    assert count <= 0.02 * len(pages(name)), worst


def test_a_page_has_one_style_of_dates_and_pages_differ():
    styles = Counter()
    for sheet in pages("real"):
        if sheet.style == "almanac":
            continue
        text = plain(sheet).split("Calendar: ")[0]
        british = bool(re.search(r"\b\d{1,2} [A-Z][a-z]+ \d{4}", text))
        american = bool(re.search(r"\b[A-Z][a-z]+ \d{1,2}, \d{4}", text))
        assert not (british and american), sheet.url
        styles[british, american] += 1
    assert min(styles[True, False], styles[False, True]) > 600


@pytest.mark.parametrize("name", WORLDS)
def test_weekdays_lengths_and_ages_are_right(name):
    """By a reader that computes them anew from the dates beside them."""
    from agent_env.features.evidence.attack_pages import mentions
    from tests.features.evidence.refuting import contradictions

    checked = 0
    for sheet in pages(name, "hard"):
        assert contradictions(sheet.text) == (), sheet.url
        checked += sum(each.weekday is not None for each in mentions(sheet.text))
        for line in plain(sheet).splitlines():
            for born, age in re.findall(r"born ([^)(]*?\d{4})\D{1,8}then (\d+)\)", line):
                then = int(re.findall(r"\d{4}", born)[0]) + int(age)
                assert any(abs(int(day[:4]) - then) <= 1 for day in dates_in(sheet.text)), line
    assert checked > 500


@pytest.fixture(scope="module", params=WORLDS)
def world(request):
    tables = WORLDS[request.param]
    built = SealedWeb.build(Path(":memory:"), tables)
    yield tables, built
    built.close()


async def test_a_description_finds_the_proving_page_near_the_top_but_not_always_first(world):
    tables, web = world
    first = found = 0
    for row in tables.events:
        urls = [hit.url for hit in await web.search.search(row.hint or row.event, 10)]
        found += article_url(event_title(row.event)) in urls
        first += urls[:1] == [article_url(event_title(row.event))]
    assert found / len(tables.events) >= 0.95
    assert first / len(tables.events) <= 0.95
    hidden = [row for row in tables.events if row.hint]
    for row in hidden:  # told in other words, and not by the hint's own
        assert row.hint.lower() not in stories().get(row.event, "").lower()
    hits = [hit for row in hidden for hit in await web.search.search(row.hint, 3)]
    assert 0.2 < sum(bool(dates_in(hit.snippet)) for hit in hits) / len(hits) < 0.95


async def test_the_reference_finds_the_proof_by_four_searches(world):
    tables, web = world
    sets = DaySets(PUZZLE_DAYS, tables)
    wording = Wording(tables, sets)
    search, browse = WebSearch(web.search), OpenPage(web)
    facts = [next(iter(event_facts(row)), None) for row in tables.events]
    few, known = 0, [fact for fact in facts if fact is not None]
    for fact in known:
        lookup, history = lookups.read_constraint(wording.implicit(fact)), History()
        tools = {"web_search", "open_page"}
        while (state := lookups.find_thoroughly(lookup, history, tools)).call:
            name, arguments = state.call
            if name == "web_search":
                output = (await search.run(dict(arguments))).output
                history.searches[arguments["query"]] = _hits(output)
            else:
                history.pages[arguments["url"]] = (await browse.run(dict(arguments))).output
        proof, most = proofs_of([fact], sets)[0], min(4, len(lookups.queries(lookup)))
        few += state.url in proof.urls and len(history.searches) <= most
    assert few / len(known) >= 0.95


# Shifted worlds ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WORLDS)
def test_a_shifted_world_has_no_trace_of_the_true_date(name):
    """On no page that names the event stands one of its dates beside the name, in any notation, in
    another calendar, as a weekday or an anniversary; nor does what was computed from one."""
    tables = WORLDS[name]
    rows = [row for row in tables.events if row.start and row.end and row.start.year < 1990]
    for row in Random(5).sample(rows, 8):
        if (moved := moved_by_years(row, 13)) is None:
            continue
        title = event_title(row.event).casefold()
        true, word = list(traces(name, row)), max(title.split(), key=len)
        assert len(true) > 3
        for sheet in render_all(with_event(tables, moved), LEVELS["hard"]):
            if word not in f"{sheet.title} {sheet.text}".casefold():
                continue  # it does not name the event
            about = title in sheet.title.casefold()
            for line in plain(sheet).splitlines():
                if about or title in line.casefold():
                    assert not [each for each in true if each in line], (sheet.url, line)


def traces(name, row):
    """What the plain article states and no table without the event would: its days in words, with
    weekdays, and in other calendars."""
    url = article_url(event_title(row.event))
    (article,) = (sheet for sheet in pages(name, "hard") if sheet.url == url)
    for line in plain(article).splitlines():
        if re.match(r"(?:Julian|Hebrew|Persian|Coptic|Ethiopic|ISO week): ", line):
            yield from line.partition(": ")[2].split(" | ")
    for day in (row.start.first, row.end.first):
        month = day.strftime("%B")
        yield from (str(day), f"{WEEKDAYS[day.weekday()]}, {day.day} {month} {day.year}")
        for years in (0, 1, 10, 25, 50, 100):
            year = day.year + years
            yield from (f"{day.day} {month} {year}", f"{month} {day.day}, {year}")
