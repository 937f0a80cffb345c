"""Contexts of a run's pages: built, copied, and compared between runs."""

import json
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address

import pytest

from agent_env.episodes.trace.lines import read_trace
from agent_env.errors import ConfigError
from agent_env.features.contexts.commands import BuildOptions, build, verify
from agent_env.features.contexts.pages import NamedPage, named_pages, urls_in
from agent_env.models.tokenizers import Estimate
from agent_env.records.schema import PageRef
from agent_env.tasks import contexts
from agent_env.testing import page
from agent_env.web.fetch import HttpFetcher
from agent_env.web.page_store import SqlitePages
from agent_env.wiring.trust import own_call
from tests.commands import typed
from tests.episodes.runs import make_run, opened, returned, started_with, write_episode
from tests.noting_server import answering

A, B, C, D = (f"https://{name}.example/page" for name in "abcd")


def built(folder, **options):
    return build(BuildOptions(folder.path, folder.path.parent / "pages.jsonl", **options))


@pytest.fixture
def folder(tmp_path):
    """Three samples: one cites A and opens B, one names only what nobody kept, one failed."""
    folder = make_run(tmp_path / "run", ["one", "two", "three"])
    body = sha256(page(B, "Text of B.").body).hexdigest()
    write_episode(folder, "one", f"{A} MY ANSWER: None", [returned(C), opened(B, body)])
    write_episode(folder, "two", f"{B}/lost MY ANSWER: None")
    write_episode(folder, "three", f"{A} MY ANSWER: None", failed=True)
    store = SqlitePages(folder.pages)
    store.put_all(page(url, f"Text of {name}.") for url, name in zip((A, B, C), "ABC", strict=True))
    store.close()
    return folder


def test_cited_pages_come_first_and_kinds_are_chosen(folder):
    one = built(folder).contexts.by_sample["one"]
    pages = [(p.url, p.kind, p.cut, p.store) for p in one.pages]
    assert pages == [(A, "cited", "whole", "run"), (B, "opened", "whole", "run")]
    assert one.text.index("Text of A.") < one.text.index("Text of B.")
    assert "Text of C." not in one.text
    assert one.pages[1].digest == sha256(b"<p>Text of B.</p>").hexdigest()
    assert one.pages[1].read_digest is None
    one = built(folder, kinds=("returned", "cited")).contexts.by_sample["one"]
    assert [(p.url, p.kind) for p in one.pages] == [(A, "cited"), (C, "returned")]


def test_what_is_missing_is_named_and_the_same_run_gives_the_same_bytes(folder):
    made = built(folder)
    two, three = made.contexts.by_sample["two"], made.contexts.by_sample["three"]
    assert (two.text, two.missing) == ("", (contexts.MissingPage(url=f"{B}/lost", kind="cited"),))
    assert (three.episode, three.text, three.pages) == ("failed", "", ())
    header = made.contexts.header
    assert (header.samples, header.empty, header.missing) == (3, 2, 1)
    assert made.counts() == {"cited": 2, "opened": 1, "whole": 2, "not_stored": 1}
    out = folder.path.parent / "pages.jsonl"
    first = out.read_bytes()
    built(folder)
    assert out.read_bytes() == contexts.read_contexts(out).data() == first
    (folder.path / "episodes/web/one.1.jsonl").write_text("garbage\n")
    (folder.path / "episodes/web/two.1.jsonl").unlink()
    endings = {name: row.episode for name, row in built(folder).contexts.by_sample.items()}
    assert endings == {"one": "unreadable", "two": "missing", "three": "failed"}


class Site(BaseHTTPRequestHandler):
    asked: list[str]

    def do_GET(self):
        self.asked.append(self.path)
        if self.path == "/old":
            self.send_response(301)
            self.send_header("Location", "/new")
            self.end_headers()
            return
        self.send_response(200 if self.path in ("/new", "/plain") else 404)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(f"<title>A page</title><p>Here is {self.path}.</p>".encode())

    def log_message(self, format, *args):
        pass


@contextmanager
def site():
    asked = []
    handler = type("Here", (Site,), {"asked": asked})
    with answering(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as (server,):
        yield f"http://127.0.0.1:{server.server_port}", asked


def at_home():
    return HttpFetcher(allow=lambda address: address == ip_address("127.0.0.1"), permit=own_call())


def test_hosted_pages_are_fetched_once_and_dead_links_are_named(tmp_path):
    folder = make_run(tmp_path / "run", ["one", "two"], web=None)
    with site() as (url, asked):
        write_episode(folder, "one", citations=[f"{url}/old"], hosted=[opened(f"{url}/plain")])
        write_episode(folder, "two", citations=[f"{url}/gone?utm_source=openai"])
        options = BuildOptions(folder.path, tmp_path / "pages.jsonl", fetch=True)
        first = build(options, at_home())
        fetched = asked.copy()
        build(options, at_home())
    data = (tmp_path / "pages.jsonl").read_bytes()
    one = first.contexts.by_sample["one"]
    pages = [(p.url.removeprefix(url), p.kind, p.store) for p in one.pages]
    assert pages == [("/old", "cited", "fetched"), ("/plain", "opened", "fetched")]
    assert "Here is /new." in one.text
    assert "may differ from what the model read" in (first.contexts.header.note or "")
    assert list(first.dead) == [f"{url}/gone"]
    assert "404" in first.dead[f"{url}/gone"]
    assert [path for path in asked if path == "/new"] == ["/new"]
    assert asked[len(fetched) :] == ["/robots.txt", "/gone"]
    assert not folder.pages.exists()
    build(BuildOptions(folder.path, tmp_path / "later.jsonl"))
    assert (tmp_path / "later.jsonl").read_bytes() == data


def test_a_host_of_ones_own_network_is_fetched_from_only_where_it_is_allowed(tmp_path):
    folder = make_run(tmp_path / "run", ["one"], web=None)
    with site() as (url, asked):
        write_episode(folder, "one", citations=[f"{url}/plain"])
        options = BuildOptions(folder.path, tmp_path / "pages.jsonl", fetch=True)
        assert (list(build(options).dead), asked) == ([f"{url}/plain"], [])
        host = url.removeprefix("http://")
        allowed = build(replace(options, allow_hosts=(host,)))
    assert "Here is /plain." in allowed.contexts.by_sample["one"].text
    with pytest.raises(ConfigError, match="say --fetch too"):
        build(replace(options, fetch=False, allow_hosts=(host,)))
    with pytest.raises(ConfigError, match="'http://x' is not HOST:PORT"):
        build(replace(options, allow_hosts=("http://x",)))
    closed = make_run(tmp_path / "closed", ["one"], web="sealed")
    with pytest.raises(ConfigError, match="condition 'web' had a sealed web"):
        built(closed, fetch=True)


def test_a_store_is_read_from_where_the_run_says_and_the_command_names_every_gap(folder, tmp_path):
    done = typed("web context build run --out pages.jsonl", cwd=folder.path.parent)
    assert done.stdout == (
        "3 contexts in pages.jsonl, 2 of them empty; "
        "pages of web: 2 cited, 1 opened, 2 whole, 1 not stored\n"
    )
    assert done.stderr.splitlines() == [
        f"missing: two: cited {B}/lost: not stored",
        "empty: two: the episode names no page that could be given; it is asked without pages",
        "empty: three: the episode failed; it is asked without pages",
    ]
    folder.pages.rename(tmp_path / "shared.db")
    told = json.loads((folder.path / "run.json").read_text())
    told["web_settings"] = {"pages": str(tmp_path / "shared.db")}
    (folder.path / "run.json").write_text(json.dumps(told))
    with pytest.raises(ConfigError, match=r"asks for: page store .*shared\.db"):
        built(folder)
    assert built(folder, trust_run=True).counts()["whole"] == 2
    assert built(folder).counts()["whole"] == 2


def events(path, **episode):
    folder = make_run(path / "run", ["one"])
    write_episode(folder, "one", **episode)
    return read_trace(folder.path / "episodes/web/one.1.jsonl")


def named(events):
    return named_pages(events, contexts.KINDS)


def test_a_page_stands_once_under_the_strongest_thing_that_it_is(tmp_path):
    met = [returned(A), returned(B), returned(C), opened(C, "c1"), opened(A, "a1"), opened(A, "a2")]
    found = named(events(tmp_path, answer=f"By {A}.\nMY ANSWER: None", tool_pages=met))
    own = [NamedPage(A, "cited", "a1"), NamedPage(C, "opened", "c1"), NamedPage(B, "returned")]
    assert found == own


def test_a_hosted_search_counts_by_its_annotations_and_actions(tmp_path):
    hosted = [returned(A), opened(B), returned(C)]
    cited = [f"{D}?utm_source=openai", f"{A}#part"]
    found = named(events(tmp_path, citations=cited, hosted=hosted))
    kinds = {D: "cited", A: "cited", B: "opened", C: "returned"}
    assert found == [NamedPage(url, kind) for url, kind in kinds.items()]


def test_a_page_that_a_guard_kept_from_the_model_is_marked(tmp_path):
    blocked = PageRef.model_construct(url=A, how="blocked", digest=None)
    seen = events(tmp_path, answer=f"{A} MY ANSWER: None")
    result = seen[1].result.model_copy(update={"pages": (blocked,)})
    seen[1] = seen[1].model_copy(update={"result": result})
    assert named(seen) == [NamedPage(A, "cited", blocked=True)]


X, HOME = "https://a.example/x", "https://b.example"


@pytest.mark.parametrize(
    ("text", "urls"),
    [
        (f"See {X}, and ({HOME}).", [X, HOME]),
        (f"[it](https://a.example/War_(1982)) **{HOME}**", ["https://a.example/War_(1982)", HOME]),
        (f"By {X}?a=1&b=2; https://a.example/%27s", [f"{X}?a=1&b=2", "https://a.example/%27s"]),
        (f"<{X}> `{HOME}`", [X, HOME]),
        ("no address here: a.example/x", []),
    ],
)
def test_addresses_are_read_out_of_prose_and_markdown(text, urls):
    assert urls_in(text) == urls


def given(text):
    page = contexts.PageText("https://a.example/", "A", text)
    context = contexts.write_context([page], 500, 500, Estimate().count).text
    return contexts.put_before(context, "When?"), contexts.text_digest(context)


def test_the_same_bytes_in_two_runs_are_equal_and_none_is_equal_to_none(tmp_path):
    said = {"one": given("x"), "two": ("When?", contexts.text_digest(""))}
    for name in "ab":
        started_with(tmp_path / name, said)
    rows = verify([tmp_path / "a", tmp_path / "b"])
    equal = [(row.context, row.sample, row.is_equal) for row in rows]
    assert equal == [("cited", "one", True), ("cited", "two", True)]


def test_other_bytes_and_absent_samples_are_told_apart(tmp_path):
    started_with(tmp_path / "a", dict.fromkeys(("one", "two", "three"), given("x")))
    started_with(tmp_path / "b", {"one": given("y"), "two": given("x")})
    one, three, two = verify([tmp_path / "a", tmp_path / "b"])
    assert (one.is_equal, len(one.digests)) == (False, 2)
    assert (three.is_equal, three.absent) == (False, (str(tmp_path / "b"),))
    assert two.is_equal


def test_a_text_that_is_not_what_the_trace_states_proves_nothing(tmp_path):
    text, digest = given("x")
    started_with(tmp_path / "a", {"one": (text.replace("x\n", "z\n"), digest)})
    (row,) = verify([tmp_path / "a"])
    assert (row.is_equal, row.broken) == (False, (f"{tmp_path / 'a'} cited/one.1",))
