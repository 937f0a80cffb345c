"""Pages of a web archive: the version of the day or before, by every way in which archives name it,
and a run's web over one, recorded and served again."""

from contextlib import AsyncExitStack

import pytest

from agent_env.errors import ConfigError, ToolError
from agent_env.web.fetch import HttpFetcher
from agent_env.web.memento import MementoFetcher
from agent_env.web.opened import ProviderAccess, open_frozen, open_live
from agent_env.wiring.trust import own_call, own_plugins
from agent_env.wiring.web import WebOptions, settings_of
from tests.loops import in_loop
from tests.tables import tables
from tests.web.archives import Archive
from tests.web.test_fetch import serving

TOWN = "http://town.example/"
VERSIONS = {
    url: [(time, tuple(archived)) for time, *archived in rows]
    for url, rows in tables(__file__).items()
}


@in_loop
async def reads(archive, *asks):
    """What each (day, path) gives: text, time and address, or what is told."""
    results = []
    async with serving(archive) as archive.site:
        url = archive.site.url
        for day, path in asks:
            http = HttpFetcher(
                permit=own_call(), open_hosts=frozenset({url.removeprefix("http://")})
            )
            try:
                page = await MementoFetcher(http, day, f"{url}/web").fetch(TOWN + path)
                results.append((page.text, page.valid_from, page.url.removeprefix(TOWN)))
            except ToolError as exc:
                results.append(str(exc))
    return results


@pytest.mark.parametrize("archive", [
    Archive(VERSIONS), Archive(VERSIONS, links=()), Archive(VERSIONS, frames=True),
], ids=["prev", "timemap", "frames"])  # fmt: skip
def test_the_version_of_the_day_or_before_is_read_as_archived(archive):
    assert reads(archive, ("2010-01-01", ""), ("2015-06-30", ""), ("2015-07-02", ""),
                 ("2015-07-03", ""), ("2009-12-31", ""), ("2015-06-30", "none")) == [
        (f"Anna. New <{TOWN}new>", "2010-01-01T00:00:00Z", ""),
        ("Boris, see http://town.example/x", "2015-06-30T23:59:59Z", ""),
        ("Boris, see http://town.example/x", "2015-06-30T23:59:59Z", ""),
        ("Clara", "2015-07-03T00:00:00Z", ""),
        f"{TOWN} did not exist on 2009-12-31, as far as the archive knows; open another page",
        f"the archive has no version of {TOWN}none",
    ]  # fmt: skip


def test_archived_redirects_are_followed_within_the_day_and_archived_errors_told():
    assert reads(Archive(VERSIONS), ("2014-12-31", "old"), ("2015-01-01", "old"),
                 ("2015-01-02", "old"), ("2014-12-31", "gone"), ("2016-01-01", "gone"),
                 ("2016-01-01", "soft")) == [
        ("Old.", "2010-01-01T00:00:00Z", "old"),
        f"{TOWN}new did not exist on 2015-01-01, as far as the archive knows; open "
        "another page",
        ("New.", "2015-01-02T00:00:00Z", "new"),
        ("Here.", "2010-01-01T00:00:00Z", "gone"),
        f"{TOWN}gone answered 404 Not Found on 2015-01-01",
        f"{TOWN}soft was gone on 2010-01-01: it only said it is not a page",
    ]  # fmt: skip


async def test_a_web_recorded_as_of_two_days_is_served_as_of_each(tmp_path):
    file = tmp_path / "pages.db"

    async def text(day, gate=None):
        """The page of the day, and the hits of a search, where the archive is away."""
        async with AsyncExitStack() as stack:
            if gate:
                options = WebOptions("record", "searxng=http://127.0.0.1:9", gate, file, day)
                access = ProviderAccess(), file, print, stack, own_plugins()
                web = await open_live(settings_of(options), *access)
            else:
                options = WebOptions("frozen", pages=file, as_of=day, search="stored")
                web = open_frozen(settings_of(options), file, stack)
            first = (await web.fetcher.fetch(TOWN)).text
            return first, [] if gate else [
                hit.snippet for hit in await web.search.search("boris", 3)
            ]

    days, archive = ("2015-07-02", "2015-07-03"), Archive(VERSIONS)
    async with serving(archive) as archive.site:
        gate = f"memento={archive.site.url}/web/"
        live = [await text(day, gate) for day in days * 2]
        count = len(archive.site.heads)
        again = [await text(day) for day in days]
        assert len(archive.site.heads) == count
    boris = "Boris, see http://town.example/x"
    assert live == [(boris, []), ("Clara", [])] * 2
    assert again == [(boris, [boris]), ("Clara", [])]


@pytest.mark.parametrize(
    ("fetcher", "as_of", "said"),
    [
        ("memento", None, "--fetcher memento gives pages of a day: say which with --as-of"),
        ("http=http://x.example", "2015-01-01", "--fetcher http takes no address; memento and"),
        ("wiki-revisions=x.example", "2015-01-01", "=x.example: the address begins with http"),
        ("memnto", "2015-01-01", "unknown page fetcher 'memnto'; did you mean memento"),
    ],
)
def test_a_fetcher_of_a_day_that_cannot_be_is_refused(fetcher, as_of, said):
    with pytest.raises(ConfigError, match=said):
        settings_of(WebOptions("live", "searxng=http://127.0.0.1:9", fetcher, as_of=as_of))
