"""A page's tree is bounded in depth, elements, attributes and length, and says where it was cut."""

from __future__ import annotations

import time
from random import Random

import pytest

from agent_env.web import html_tree
from agent_env.web.extract import EXTRACTOR, extract
from agent_env.web.html_tree import parse

PIECES = [
    "<p>", "</p>", "<div class=nav id=x>", "</div>", "<b>", "</b>", "text ", "<table>", "<tr>",
    "<td>", "</table>", "<li>", "<a href=/x>", "</a>", "<!-- c -->", "<?pi?>", "&amp;", "<br>",
    "<script>x<y</script>", "<h1>", "<form>", "<", "é", "<svg>", "<html lang=en>", "<body>",
]  # fmt: skip


def attributes(count: int) -> str:
    return "<p " + " ".join(f"a{n}=1" for n in range(count)) + ">text</p>"


def cpu_s(source: str) -> float:
    """The less of two, so that another process does not count."""
    spent = []
    for _ in range(2):
        since = time.process_time()
        extract(source)
        spent.append(time.process_time() - since)
    return min(spent)


@pytest.mark.parametrize(
    "make",
    [
        attributes,
        lambda n: "<p " + "a='>' b=\"<\" " * n + ">x",
        lambda n: "<p " + "a=" * n,
        lambda n: "<p>" * n,
        lambda n: "<td>" * n,
        lambda n: "<b><p>" * (n // 2),
        lambda n: "<table>" + "<tr><td>x" * (n // 2),
        lambda n: "<!--" * n,
        lambda n: "&" * n,
        lambda n: "<" * n,
    ],
)
def test_four_times_the_page_takes_no_sixteen_times_the_time(make: object) -> None:
    assert callable(make)
    small, large = cpu_s(make(4_000)), cpu_s(make(16_000))
    assert large < 9 * small + 0.02


def test_an_ordinary_page_is_whole() -> None:
    assert parse("<p>one<p>two").cut == ""
    assert extract("<p>one").extractor == EXTRACTOR


@pytest.mark.parametrize(
    ("source", "cut"),
    [
        (attributes(257), "256 attributes"),
        ("<div>" * 300 + "deep", "256 levels"),
        ("<p>x" * 2_000, "1000 elements"),
        (attributes(257) + "<div>" * 300, "256 attributes, 256 levels"),
        ("x" * 10_000_001, "10000000 characters"),
    ],
)
def test_a_cut_is_recorded_with_the_page(
    source: str, cut: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(html_tree, "MOST_ELEMENTS", 1000)
    assert extract(source).extractor == f"{EXTRACTOR}; cut: {cut}"


def test_what_stands_before_the_cut_is_kept() -> None:
    found = extract(f"<title>T</title><p>before{attributes(300)}<p>after")
    assert (found.title, found.text) == ("T", "before\ntext\nafter")
    assert extract("<p>before" + "<div>" * 300 + "deep").text == "before"


def test_of_many_attributes_the_first_are_kept() -> None:
    assert extract("<p>seen</p>" + attributes(300).replace("<p ", "<p hidden ")).text == "seen"


def test_a_page_past_the_bounds_reads_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(3)
    pages = ["".join(random.choices(PIECES, k=random.randint(1, 40))) for _ in range(400)]
    texts = [extract(page).text for page in pages]
    monkeypatch.setattr(html_tree, "_Count", _Many)
    for page, text in zip(pages, texts, strict=True):
        assert extract(page).text == text, page


class _Many(html_tree._Count):
    """Says that every page is past the bounds."""

    def close(self) -> None:
        self.attributes = html_tree.MOST_ATTRIBUTES + 1
