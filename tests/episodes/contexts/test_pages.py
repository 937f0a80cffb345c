"""Which pages an episode names, and as what."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_env.episodes.contexts.pages import NamedPage, named_pages, page_url, urls_in
from agent_env.episodes.trace.reader import read_trace
from agent_env.records.schema import PageRef
from agent_env.records.trace_events import Event
from agent_env.tasks.contexts import KINDS
from tests.episodes.runs import make_run, opened, returned, write_episode

A, B, C, D = (f"https://{name}.example/page" for name in "abcd")


def events(path: Path, **episode: object) -> list[Event]:
    folder = make_run(path / "run", ["one"])
    write_episode(folder, "one", **episode)  # type: ignore[arg-type]
    return read_trace(folder.path / "episodes/web/one.1.jsonl")


def test_a_page_stands_once_under_the_strongest_thing_that_it_is(tmp_path: Path) -> None:
    met = [returned(A), returned(B), returned(C), opened(C, "c1"), opened(A, "a1"), opened(A, "a2")]
    found = named_pages(events(tmp_path, answer=f"By {A}.\nMY ANSWER: None", tool_pages=met), KINDS)
    assert found == [
        NamedPage(A, "cited", "a1"),
        NamedPage(C, "opened", "c1"),
        NamedPage(B, "returned"),
    ]


def test_only_the_wished_kinds_are_given_and_an_opened_page_is_not_merely_returned(
    tmp_path: Path,
) -> None:
    met = [returned(A), returned(B), opened(B, "b1")]
    assert named_pages(events(tmp_path, tool_pages=met), ("returned",)) == [
        NamedPage(A, "returned")
    ]


def test_a_hosted_search_counts_by_its_annotations_and_actions(tmp_path: Path) -> None:
    hosted = [returned(A), opened(B), returned(C)]
    cited = [f"{D}?utm_source=openai", f"{A}#part"]
    found = named_pages(events(tmp_path, citations=cited, hosted=hosted), KINDS)
    assert found == [
        NamedPage(D, "cited"),
        NamedPage(A, "cited"),
        NamedPage(B, "opened"),
        NamedPage(C, "returned"),
    ]


def test_a_page_that_a_guard_kept_from_the_model_is_marked(tmp_path: Path) -> None:
    blocked = PageRef.model_construct(url=A, how="blocked", digest=None)
    folder = make_run(tmp_path / "run", ["one"])
    write_episode(folder, "one", answer=f"{A} MY ANSWER: None")
    seen = read_trace(folder.path / "episodes/web/one.1.jsonl")
    result = seen[1].result.model_copy(update={"pages": (blocked,)})  # type: ignore[attr-defined]
    seen[1] = seen[1].model_copy(update={"result": result})
    assert named_pages(seen, KINDS) == [NamedPage(A, "cited", blocked=True)]


@pytest.mark.parametrize(
    ("text", "urls"),
    [
        ("See https://a.example/x, and (https://b.example).",
         ["https://a.example/x", "https://b.example"]),
        ("[it](https://a.example/War_(1982)) **https://b.example**",
         ["https://a.example/War_(1982)", "https://b.example"]),
        ("By https://a.example/x?a=1&b=2; https://a.example/%27s",
         ["https://a.example/x?a=1&b=2", "https://a.example/%27s"]),
        ("<https://a.example/x> `https://b.example`",
         ["https://a.example/x", "https://b.example"]),
        ("no address here: a.example/x", []),
    ],
)  # fmt: skip
def test_addresses_are_read_out_of_prose_and_markdown(text: str, urls: list[str]) -> None:
    assert urls_in(text) == urls


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://a.example/x?utm_source=openai", "https://a.example/x"),
        ("https://a.example/x?b=%20&utm_source=openai#s", "https://a.example/x?b=%20"),
        ("https://a.example/George_V%27s?", "https://a.example/George_V%27s?"),
        ("https://[broken", "https://[broken"),
    ],
)
def test_an_address_is_kept_as_a_store_knows_it(url: str, kept: str) -> None:
    assert page_url(url) == kept
