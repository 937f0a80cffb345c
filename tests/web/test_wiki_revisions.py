"""Articles of a wiki as of a day: their revision, and what was renamed, deleted, hidden."""

import pytest

from agent_env.errors import ToolError
from agent_env.web.fetch import HttpFetcher
from agent_env.web.wiki_revisions import WikiRevisions, readable
from agent_env.wiring.trust import own_call
from tests.loops import in_loop
from tests.tables import tables
from tests.web.archives import Wiki
from tests.web.test_fetch import reply, serving

CASES = tables(__file__)
WIKI = Wiki(
    {name: [(at, text or None) for at, text in rows] for name, rows in CASES["articles"].items()},
    CASES["moves"],
    CASES["deletions"],
)


@in_loop
async def read(day, title, answers=WIKI):
    async with serving(answers) as site:
        host = frozenset({site.url.removeprefix("http://")})
        http = HttpFetcher(permit=own_call(), open_hosts=host, obey_robots=False)
        try:
            page = await WikiRevisions(http, day).fetch(f"{site.url}/wiki/{title}")
        except ToolError as exc:
            return str(exc).replace(site.url, "")
    url = page.url.removeprefix(site.url)
    return page.text.replace(site.url, ""), page.title, url, page.valid_from, page.held_until


def test_the_revision_of_the_day_is_read_and_known_to_hold_until_its_end():
    assert read("2020-04-30", "Town#Mayor") == (
        "Town. The mayor is Anna </wiki/Anna_Alt>.", "Town", "/wiki/Town",
        "2012-05-01T00:00:00Z", "2020-04-30T23:59:59Z",
    )  # fmt: skip
    assert read("2020-05-01", "Town")[0] == "The mayor is Boris </wiki/Boris>."


@pytest.mark.parametrize(("day", "title", "gives"), CASES["reads"])
def test_what_was_renamed_deleted_or_not_yet_there_is_told(day, title, gives):
    result = read(day, title)
    assert result.startswith(gives) if isinstance(gives, str) else [*result[:3]] == gives


class Odd(Wiki):
    """Answers all, or all that asks for pages, with the same."""

    def __init__(self, body=None, pages=None):
        super().__init__({})
        self.body, self.pages = body, pages

    def get(self, path):
        return super().get(path) if self.body is None else reply(self.body, "application/json")

    def answer(self, query):
        return super().answer(query) if "meta" in query else {"query": {"pages": self.pages}}


@pytest.mark.parametrize("body", [b"<html>", b"[1]", b'{"query": [1]}', b'{"query": {}}', b"9" * 9])
def test_what_is_no_api_is_told_in_a_line(body):
    assert "\n" not in read("2015-01-01", "Town", Odd(body))


@pytest.mark.parametrize(
    "pages", [[7], [{"revisions": [7]}], [{"revisions": [{"content": "x"}]}], {"a": 1}, 7,
              [{"revisions": [{"timestamp": "then", "content": "x"}]}],
              [{"revisions": [{"timestamp": "9999-12-31T23:59:59-23:00", "content": "x"}]}]],
)  # fmt: skip
def test_an_answer_of_another_form_is_told_too(pages):
    said = read("2015-01-01", "Town", Odd(pages=pages))
    assert said.startswith("no wiki answers so for /wiki/Town: ")


def test_source_is_made_readable_without_references_and_what_has_no_end_is_left():
    assert readable("A <ref name=a/> b <ref>c", str) == "A  b <ref>c"
    assert readable("A <!-- b --><!-- <ref>c", str) == "A <!-- <ref>c"
    source = (
        "'''A''' is ''b''<ref name=\"x\">[http://r.example r]</ref><ref name=x /><!-- c -->.\n"
        "== Life ==\n[http://a.example The site], [[:File:X.png]] &amp; {{Infobox|a=[[B|c]]}}\n"
    )
    assert readable(source, lambda title: f"/{title}") == (
        "A is b.\n## Life\nThe site <http://a.example>, File:X.png </File:X.png> & "
        "{{Infobox|a=c </B>}}"
    )
