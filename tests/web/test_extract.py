"""What a model gets to read of pages of all shapes.

A page's tree is bounded in depth, elements, attributes and length, and says where it was cut.
"""

import time
from random import Random

import pytest

from agent_env.web import extract as html_tree
from agent_env.web.extract import EXTRACTOR, extract
from tests.tables import tables

CASES = tables(__file__)


def lines(body, base=""):
    return extract(f"<html><body>{body}</body></html>".encode(), base).text.splitlines()


LINKED = '<p><a href="/b?c">x</a> <a href="#d">y</a> <a href="javascript:z()">z</a></p>'
CELLS = "<th>Start</th><td><p>2 April</p><p>1982</p></td><td><ul><li>a</ul></td>"


@pytest.mark.parametrize(
    ("body", "base", "expected"),
    [
        ("<div>One<br>two<div>three</div>four</div>five", "", ["One two", "three", "four", "five"]),
        (
            "<ul><li>1982<ul><li>April</li></ul></li><li><p>1983</p></li></ul>",
            "",
            ["- 1982", "- April", "- 1983"],
        ),
        (
            f"<table><tr>{CELLS}</tr><tr><td>alone</td></tr><tr></tr></table>",
            "",
            ["Start: 2 April 1982 | a", "alone"],
        ),
        (LINKED, "", ["x </b?c> y z"]),
        (LINKED, "https://a.example/q/", ["x <https://a.example/b?c> y z"]),
        ('<p><a href="http://[x">x</a></p>', "https://a.example/", ["x <http://[x>"]),
    ],
)
def test_texts_items_rows_and_links_keep_their_lines(body, base, expected):
    assert lines(body, base) == expected


@pytest.mark.parametrize(("body", "line"), CASES["numbers"])
def test_numbers_and_dates_are_those_that_a_reader_sees(body, line):
    assert lines(f"<p>{body}</p>") == [line]


def test_a_cell_that_spans_rows_stands_in_each_of_them():
    head = "<table><thead><tr><th rowspan=9>Name<th>From</thead>"
    rows = "<tbody><tr><td rowspan=2>Ann<td>1990<td rowspan=2>x<tr><td>1994<tr><td>Bob<td>1997"
    assert lines(head + rows) == ["Name: From", "Ann: 1990 | x", "Ann: 1994 | x", "Bob: 1997"]
    other = "<table><tr><td colspan=2>A<td>1<tr><td rowspan=0>x<td>y<tr><td>z"
    assert lines(other) == ["A: 1", "x: y", "x: z"]


def test_a_numbered_list_keeps_its_numbers():
    items = "<ol start=5><li>a<li>b<ul><li>c</ul><li value=9>d</ol><ol reversed><li>e<li>f</ol>"
    assert lines(items) == ["5. a", "6. b", "- c", "9. d", "2. e", "1. f"]


MENU = "<ul>" + "<li><a href=/x>Home</a></li>" * 8 + "</ul>"


@pytest.mark.parametrize("clutter", [*CASES["clutter"], MENU])
def test_clutter_is_left_out_and_what_follows_it_is_not(clutter):
    assert lines(f"<p>One.</p>{clutter}two<p>three</p>") == ["One.", "two", "three"]


def test_a_list_of_links_in_the_main_part_or_alone_is_content():
    items = "".join(f"<li><a href=/{n}>Siege {n}</a></li>" for n in range(8))
    assert len(lines(f"<nav>menu</nav><main><ul>{items}</ul></main>")) == 8
    assert lines("<nav>only this</nav>") == ["only this"]


@pytest.mark.parametrize("body", CASES["wrappers"])
def test_a_wrapper_that_looks_like_clutter_costs_no_page_its_text(body):
    found = lines(body)
    assert "Head" in found
    assert any(line.startswith("Words") for line in found)


@pytest.mark.parametrize(
    ("html", "title", "text"),
    [
        (b"", "", ""),
        (b"   ", "", ""),
        (b"plain words", "", "plain words"),
        (b"<p>unclosed <b>tags", "", "unclosed tags"),
        (b"\x00\x01<p>a\x00b", "", None),
        (b"<title>T\n &amp; U</title>", "T & U", ""),
        ("<title>Ä</title><p>日本".encode(), "Ä", "日本"),
        (b'<?xml version="1.0" encoding="koi8-r"?><html><body><p>\xc2</p></body></html>', "", "б"),
        (b"<svg><title>icon</title></svg><p>a", None, "a"),
    ],
)
def test_odd_pages_give_what_they_have(html, title, text):
    found = extract(html)
    assert title is None or found.title == title
    assert text is None or found.text == text


PIECES = [
    "<p>", "</p>", "<div class=nav id=x>", "</div>", "<b>", "</b>", "text ", "<table>", "<tr>",
    "<td>", "</table>", "<li>", "<a href=/x>", "</a>", "<!-- c -->", "<?pi?>", "&amp;", "<br>",
    "<script>x<y</script>", "<h1>", "<form>", "<", "é", "<svg>", "<html lang=en>", "<body>",
]  # fmt: skip


def attributes(count):
    return "<p " + " ".join(f"a{n}=1" for n in range(count)) + ">text</p>"


def cpu_s(source):
    """The less of two, so that another process does not count."""
    spent = []
    for _ in range(2):
        since = time.process_time()
        extract(source)
        spent.append(time.process_time() - since)
    return min(spent)


REPEATED = ("<p>", "<td>", "<form>a", "<a href=x>", "<!--", "&", "<", "<b><p>", "<ul><li>a")


@pytest.mark.parametrize(
    "make",
    [
        attributes,
        lambda n: "<p " + "a='>' b=\"<\" " * n + ">x",
        lambda n: "<p " + "a=" * n,
        lambda n: "<table>" + "<tr><td>x" * (n // 2),
        *((lambda n, part=part: part * (n // (1 + part.count("><")))) for part in REPEATED),
    ],
)
def test_four_times_the_page_takes_no_sixteen_times_the_time(make):
    small, large = cpu_s(make(4_000)), cpu_s(make(16_000))
    assert large < 9 * small + 0.02


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
def test_a_cut_is_recorded_with_the_page(source, cut, monkeypatch):
    monkeypatch.setattr(html_tree, "MOST_ELEMENTS", 1000)
    assert extract(source).extractor == f"{EXTRACTOR}; cut: {cut}"


def test_what_stands_before_the_cut_is_kept_and_past_the_bounds_reads_alike(monkeypatch):
    found = extract(f"<title>T</title><p>before{attributes(300)}<p>after")
    assert (found.title, found.text) == ("T", "before\ntext\nafter")
    assert extract("<p>before" + "<div>" * 300 + "deep").text == "before"
    random = Random(3)
    pages = ["".join(random.choices(PIECES, k=random.randint(1, 40))) for _ in range(400)]
    texts = [extract(page).text for page in pages]
    monkeypatch.setattr(html_tree, "_Count", _Many)
    for page, text in zip(pages, texts, strict=True):
        assert extract(page).text == text, page


class _Many(html_tree._Count):
    """Says that every page is past the bounds."""

    def close(self):
        self.attributes = html_tree.MOST_ATTRIBUTES + 1
