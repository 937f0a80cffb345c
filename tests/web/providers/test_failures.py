"""What goes wrong with live search, for every provider: who is told what, and never the key."""

import asyncio
import gzip

import pytest

from agent_env.errors import ConfigError, SearchError, ToolError
from agent_env.web.providers.catalogue import key_variables, make_provider
from agent_env.web.providers.client import Patience, asked_wait_s
from agent_env.wiring.trust import own_plugins
from tests.tables import tables
from tests.web.providers.services import (
    BRIEF,
    KEY,
    KEYED,
    NAMES,
    Service,
    body_of,
    name_and,
    provider_at,
    reply,
    row_of,
    search,
    two_results,
    with_service,
)

KEYS = key_variables()

KEYLESS = tuple(sorted(set(NAMES) - set(KEYED)))


def failure(name, *replies, **settings):
    """The kind and the words of the error of one search, looked through for the key, and how often
    the server was asked."""

    async def use(provider, service):
        with pytest.raises((ToolError, SearchError)) as caught:
            await provider.search("full moon", 5)
        return caught.value, len(service.asked)

    error, asked = with_service(name, replies, use, **settings)
    said = str(error)
    assert KEY not in f"{error!r} {error.__cause__!r} {error.__context__!r} {error.__dict__!r}"
    assert (KEY[:12] in said, "\n" in said, len(said) < 400) == (False, False, True)
    return type(error), said, asked


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("name", KEYED)
def test_a_refused_key_is_named_by_its_variable(name, status):
    told = {"message": f"Invalid API key {KEY}", "statusCode": status}
    words = f"HTTP {status}: Invalid API key ***"
    said = f"{name} refused access ({words}); check the key in {KEYS[name]}"
    assert failure(name, reply(told, status)) == (SearchError, said, 1)


CASES = tables(__file__)


@pytest.mark.parametrize(("name", "status", "body"), CASES["keys"])
def test_each_services_own_words_for_a_wrong_key_are_known(name, status, body):
    kind, said, _ = failure(name, reply(body, status))
    assert kind is SearchError
    assert said.endswith(f"check the key in {KEYS[name]}")


@pytest.mark.parametrize(("name", "status", "body"), CASES["spent"])
def test_an_account_without_searches_is_the_users_to_mend(name, status, body):
    kind, said, asked = failure(name, reply(body, status))
    assert (kind, asked) == (SearchError, 1)
    assert f"{name} has no searches left on this account (HTTP {status}" in said


def test_a_keyless_service_that_refuses_says_what_else_to_do():
    page = reply(b"<h1>Forbidden</h1>", 403, "text/html")
    assert "add json to search.formats" in failure("searxng", page)[1]
    assert "give a contact" in failure("wikipedia", page)[1]


LASTS = "(asked 3 times); try again later, or continue with what you have"
CHECK = "check that the base URL is right"
LOGIN = reply(b"<html>Sign in</html>", kind="text/html; charset=x")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("answer", "kind", "said", "asked"),
    [
        (
            reply({"detail": "Query too odd"}, 422),
            ToolError,
            "{} refused this query (HTTP 422: Query too odd); try other or fewer words",
            1,
        ),
        (reply({"error": f"no {KEY}"}, 429), ToolError, f"{{}} answered HTTP 429 {LASTS}", 3),
        (reply({"error": f"no {KEY}"}, 500), ToolError, f"{{}} answered HTTP 500 {LASTS}", 3),
        (LOGIN, SearchError, f"{{}} sent text/html instead of search results; {CHECK}", 1),
        (
            reply({}, 302, headers={"location": "/elsewhere"}),
            SearchError,
            f"{{}} answered HTTP 302; {CHECK}",
            1,
        ),
    ],
    ids=["a refused query", "too many requests", "a fault that lasts", "a page", "a redirect"],
)
def test_what_a_service_answers_is_told_to_who_can_mend_it(name, answer, kind, said, asked):
    assert failure(name, answer) == (kind, said.format(name), asked)


@pytest.mark.parametrize(("name", "status"), name_and([429, 500, 502, 503]))
def test_a_passing_fault_is_sat_out(name, status):
    hits, service = search(name, reply({}, status), reply(two_results(name)))
    assert len(hits) == 2
    assert len(service.asked) == 2


@pytest.mark.parametrize("case", CASES["waits"])
def test_a_wait_is_read_from_the_headers(case):
    headers, *wait_s = case
    assert asked_wait_s(headers) == (wait_s[0] if wait_s else None)


def test_neither_this_nor_another_search_starts_before_retry_after_is_over():
    async def use(provider, service):
        first = asyncio.create_task(provider.search("a", 5))
        await service.answers_given(1)
        await asyncio.sleep(0.1)  # for the client to read it
        await asyncio.gather(first, *(provider.search(f"b{n}", 5) for n in range(3)))
        return [asked.at - service.asked[0].at for asked in service.asked[1:]]

    later = with_service("exa", [busy("0.4"), reply(two_results("exa"))], use)
    assert len(later) == 4
    assert min(later) >= 0.35


def busy(wait, status=429):
    return reply({}, status, headers={"retry-after": wait})


@pytest.mark.parametrize(("name", "wait"), name_and(["86400", "9" * 9]))
def test_a_wait_beyond_patience_is_not_waited_for(name, wait):
    kind, said, asked = failure(name, busy(wait))
    assert (kind, asked) == (SearchError, 1)
    assert f"(asked once) and asks to wait {wait} s" in said


@pytest.mark.parametrize("text", ["soon", "-5", "nan", "1e99", "", "9" * 400, "Mon, 99 Foo"])
def test_a_retry_after_that_is_none_is_as_if_not_there(text):
    assert len(search("exa", busy(text, 503), reply(two_results("exa")))[0]) == 2


BROKEN = [
    b'{"results": [{"url": "https://a.exam',
    b"",
    b"[" * 100_000,
    b'{"results": "\xff\xfe"}',
    b'{"a": ' + b"9" * 10_000 + b"}",
]


@pytest.mark.parametrize(("name", "body"), name_and(BROKEN), ids=lambda value: str(value)[:20])
def test_broken_json_is_asked_for_again_and_then_told(name, body):
    kind, said, asked = failure(name, reply(body))
    assert (kind, asked) == (ToolError, 3)
    assert " (asked 3 times); try again later" in said


@pytest.mark.parametrize(("name", "body"), name_and([[], [1], "text", 7, True]))
def test_json_that_is_no_object_is_not_this_service(name, body):
    kind, said, _ = failure(name, reply(body))
    assert kind is SearchError
    assert "JSON that is not an object instead of search results" in said


@pytest.mark.parametrize("name", NAMES)
def test_a_service_that_hangs_is_given_up(name):
    hurried = Patience(attempts=2, first_wait_s=0.0, timeout_s=0.05)
    kind, said, _ = failure(name, reply({}), delay_s=0.3, patience=hurried)
    assert kind is ToolError
    assert said.startswith(f"{name} did not answer within 0.05 s (asked 2 times)")


@pytest.mark.parametrize("name", NAMES)
def test_a_connection_that_breaks_off_is_tried_again(name):
    half = reply(two_results(name))[:-5]
    assert len(search(name, half, reply(two_results(name)))[0]) == 2
    kind, said, _ = failure(name, half)
    assert (kind, "broke off" in said) == (ToolError, True)


@pytest.mark.parametrize("name", NAMES)
async def test_a_service_that_is_not_there_is_the_users_to_mend(name):
    async with Service(b"") as service:
        pass
    provider = provider_at(name, service.url)
    with pytest.raises(SearchError, match=r"cannot be reached .*check the network") as caught:
        await provider.search("moon", 5)
    assert KEY not in f"{caught.value!r} {caught.value.__context__!r}"
    await provider.close()


def test_a_body_that_swells_is_cut_off():
    swollen = reply(gzip.compress(b" " * 40_000_000), headers={"content-encoding": "gzip"})
    assert "sent more than 8388608 bytes" in failure("exa", swollen)[1]


def test_wikipedias_errors_inside_a_200_are_seen():
    lagged = reply({"error": {"code": "maxlag", "info": "Waiting: 7 seconds lagged"}})
    assert len(search("wikipedia", lagged, reply(two_results("wikipedia")))[0]) == 2
    kind, said, _ = failure("wikipedia", reply({"error": {"code": "x", "info": "Bad <b>q</b>"}}))
    assert (kind, said) == (ToolError, "wikipedia refused this query: Bad q; try other words")


@pytest.mark.parametrize("name", KEYED)
def test_a_key_that_a_service_repeats_stands_in_no_hit(name):
    row = row_of(name, f"https://a.example/?k={KEY}", f"Your {KEY}", f"<b>{KEY[:9]}</b>{KEY[9:]}")
    ((hit,), _) = search(name, reply(body_of(name, [row])))
    assert (hit.url, hit.title, hit.snippet) == ("https://a.example/?k=***", "Your ***", "***")


@pytest.mark.parametrize("name", NAMES)
def test_a_search_can_be_cancelled_while_it_waits(name):
    """It ends at once, and asks no second time."""

    async def use(provider, service):
        searching = asyncio.create_task(provider.search("moon", 5))
        await service.answers_given(1)
        searching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await searching
        return len(service.asked)

    assert with_service(name, [busy("3")], use, patience=BRIEF) == 1


@pytest.mark.parametrize("name", KEYED)
def test_a_missing_key_names_its_variable(name):
    for missing in (None, ""):
        with pytest.raises(ConfigError, match=f"{name} needs a key: set {KEYS[name]}"):
            make_provider(name, missing, plugins=own_plugins())


@pytest.mark.parametrize("key", [f"{KEY} x", f"{KEY}\r\nx: y", f"{KEY}ü"])
@pytest.mark.parametrize("name", KEYED)
def test_a_key_that_no_header_takes_is_refused_unseen(name, key):
    with pytest.raises(ConfigError, match=f"the key in {KEYS[name]} holds") as caught:
        make_provider(name, key, plugins=own_plugins())
    assert KEY not in str(caught.value)


KNOWN = "brave, tavily, exa, serper, openai, searxng, wikipedia"
ODD = ["ftp://a", "a.example", "http://", "http://[::1", "http://u:secret@a", "http://a/?k=1"]


@pytest.mark.parametrize(
    ("name", "key", "url", "said"),
    [
        ("bing", "k", None, f"unknown search provider 'bing'; known: {KNOWN}"),
        ("searxng", None, None, "set SEARXNG_BASE_URL"),
        *((name, None, url, "the search provider's base URL") for name in KEYLESS for url in ODD),
    ],
)
def test_unknown_providers_and_unsound_addresses_are_refused_and_not_repeated(name, key, url, said):
    with pytest.raises(ConfigError, match=said) as caught:
        make_provider(name, key, url, plugins=own_plugins())
    assert "secret" not in str(caught.value)
