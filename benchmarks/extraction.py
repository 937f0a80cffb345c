"""Compare extractors of main text on 20 pages shaped like those of the web.

    python benchmarks/extraction.py

The pages are built from a seed: an encyclopedia's article, a newspaper's, a list page, a forum
and a personal page in old HTML, four of each, with menus, banners, sidebars and footers around
the text. Every sentence that belongs to the page and every one that does not is known, so that
what an extractor keeps and drops can be counted. Prints per extractor: sentences kept, table rows
kept with their key beside the value, link addresses kept, clutter kept, CPU time per 100 kB.
Then 20 shapes of markup in which real pages write dates and names, each within a page of its own:
an extractor gets a shape right if it keeps the date that a reader of the page sees, and no other.
resiliparse, trafilatura, markdownify and inscriptis are compared where they are installed. The
figures are in RESULTS.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from random import Random

from agent_env.web.extract import extract

WORDS = (
    "river council treaty harbour bridge winter festival minister garden railway election museum "
    "letter island army voyage painter market station valley engine school record summer court"
).split()
SIZE = 100_000


@dataclass
class Built:
    """A page and what is in it."""

    kind: str
    html: str = ""
    text: list[str] = field(default_factory=list)
    rows: list[tuple[str, str]] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    clutter: list[str] = field(default_factory=list)


class Writer:
    """Writes sentences, each with a number of its own, and keeps account of them."""

    def __init__(self, kind: str, seed: int) -> None:
        self.rng = Random(f"{kind}/{seed}")
        self.page = Built(kind)
        self.count = 0

    def words(self, count: int) -> str:
        self.count += 1
        drawn = " ".join(self.rng.choice(WORDS) for _ in range(count))
        return f"{drawn.capitalize()} {self.rng.randint(1000, 9999)}x{self.count}"

    def text(self) -> str:
        said = self.words(self.rng.randint(8, 22)) + "."
        self.page.text.append(said)
        return said

    def texts(self, count: int) -> str:
        return " ".join(self.text() for _ in range(count))

    def clutter(self) -> str:
        said = self.words(self.rng.randint(2, 5))
        self.page.clutter.append(said)
        return said

    def link(self) -> str:
        address = f"/wiki/{self.words(1).replace(' ', '_')}"
        self.page.links.append(address)
        return f'<a href="{address}" class="l">{self.text()}</a>'

    def row(self) -> tuple[str, str]:
        pair = self.words(1), self.words(3)
        self.page.rows.append(pair)
        return pair

    def menu(self, count: int, item: str = "li") -> str:
        return "".join(
            f'<{item} class="m"><a href="#">{self.clutter()}</a></{item}>' for _ in range(count)
        )


def encyclopedia(w: Writer) -> str:
    box = "".join(
        f"<tr><th scope=row>{k}</th><td>{v}</td></tr>" for k, v in (w.row() for _ in "1234567")
    )
    body = ""
    while len(body) < SIZE * 0.8:
        body += (
            f'<h2><span>{w.text()}</span><span class="mw-editsection">[<a href="#">edit'
            f"</a>]</span></h2>"
        )
        body += "".join(
            f'<p>{w.texts(3)} {w.link()}<sup class="reference"><a href="#c">[1]</a></sup></p>'
            for _ in range(4)
        )
        items = (f"<li>{w.text()}<ul><li>{w.text()}</li></ul></li>" for _ in range(3))
        body += f"<ul>{''.join(items)}</ul>"
    return (
        f'<div id="sidebar"><ul>{w.menu(40)}</ul></div>'
        f'<div id="content" role="main"><h1>{w.text()}</h1>'
        f'<table class="infobox">{box}</table>{body}'
        f'<div class="navbox" role="navigation"><table><tr>{w.menu(60, "td")}</tr>'
        f"</table></div></div>"
        f"<footer><ul>{w.menu(12)}</ul></footer>"
    )


def newspaper(w: Writer) -> str:
    body = ""
    while len(body) < SIZE * 0.4:
        body += (
            f"<div class='para'><p>{w.texts(3)}</p></div><figure><figcaption>{w.text()}"
            f"</figcaption></figure>"
        )
        body += f"<blockquote>{w.text()}</blockquote><p>{w.text()} {w.link()}</p>"
    cards = "".join(
        f"<div class='card'><h3><a href='/n'>{w.clutter()}</a></h3></div>" for _ in range(60)
    )
    script = "<script>window.data=" + "'abc';" * 5000 + "</script>"
    return (
        f"<div class='cookie-banner'><p>{w.clutter()}</p></div><header>"
        f"<nav>{w.menu(30, 'div')}</nav></header>"
        f"{script}<article><h1>{w.text()}</h1><time datetime=2020-01-01>{w.text()}"
        f"</time>{body}</article>"
        f"<aside class='related'>{cards}</aside><footer>{w.menu(20, 'p')}</footer>"
    )


def list_page(w: Writer) -> str:
    rows = ""
    while len(rows) < SIZE * 0.8:
        key, value = w.row()
        rows += f"<tr><td>{key}</td><td>{value}</td><td>{w.text()}</td><td>{w.link()}</td></tr>"
    return (
        f"<nav><ul>{w.menu(30)}</ul></nav><main><h1>{w.text()}</h1><p>{w.texts(3)}</p>"
        f"<table><thead><tr><th>A</th><th>B</th></tr></thead><tbody>{rows}</tbody></table></main>"
        f"<footer>{w.menu(10, 'p')}</footer>"
    )


def forum(w: Writer) -> str:
    posts = ""
    while len(posts) < SIZE * 0.6:
        posts += f"<div class='post'><div class='body'>{w.texts(2)}<br><br>{w.texts(2)}</div></div>"
    return (
        f"<div class='topbar'><ul>{w.menu(25)}</ul></div><div id='wrap'>"
        f"<h1>{w.text()}</h1>{posts}</div>"
        f"<div class='footer'><ul>{w.menu(15)}</ul></div>"
    )


def personal(w: Writer) -> str:
    body = ""
    while len(body) < SIZE * 0.3:
        body += (
            f"<H3><FONT COLOR=red>{w.text()}</FONT></H3>{w.texts(3)}<BR>{w.texts(2)}"
            f"<P>{w.text()}<HR>"
        )
        body += f"<DL><DT>{w.text()}<DD>{w.text()}</DL>"
    return (
        f"<TABLE WIDTH=100%><TR><TD WIDTH=120><UL>{w.menu(12)}</UL></TD><TD>{body}"
        f"</TD></TR></TABLE>"
    )


KINDS: tuple[Callable[[Writer], str], ...] = (encyclopedia, newspaper, list_page, forum, personal)


def pages() -> Iterator[Built]:
    for make in KINDS:
        for seed in range(4):
            writer = Writer(make.__name__, seed)
            body = make(writer)
            writer.page.html = (
                f"<!doctype html><html><head><meta charset=utf-8>"
                f"<title>{make.__name__} {seed}</title>"
                f"<style>{'.a{b:c}' * 500}</style></head><body>{body}</body></html>"
            )
            yield writer.page


_HIDDEN = '<span style="display:none">0001989</span>'
SHAPES: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "footnote": ("<p>It fell in 1989<sup>1</sup>.</p>", ("1989",), ("19891",)),
    "reference": ('<p>In 1989<sup class="reference"><a href="#n">[1]</a></sup>.</p>',
                  ("1989",), ("19891",)),
    "exponent": ("<p>About 10<sup>5</sup> people came in 1989.</p>", ("1989",), ("105",)),
    "correction": ("<p>On <del>8</del><ins>9</ins> November 1989.</p>",
                   ("9 November 1989",), ("89 November", "8 November", "8 9 November")),
    "struck out": ("<p>On <s>8</s> 9 November 1989.</p>", ("9 November 1989",),
                   ("8 9 November",)),
    "time": ('<p>It fell <time datetime="1989-11-09">that night</time>.</p>', ("1989-11-09",), ()),
    "spans": ("<p><span>1989</span><span>1990</span></p>", ("1989", "1990"), ("19891990",)),
    "cells": ("<table><tr><td>1989</td><td>1990</td></tr></table>", ("1989", "1990"),
              ("19891990",)),
    "rowspan": ('<table><tr><th>Name</th><th>From</th></tr><tr><td rowspan="2">Ann Berg</td>'
                "<td>1989</td></tr><tr><td>1994</td></tr></table>", ("Ann Berg#1994",), ()),
    "colspan": ('<table><tr><td colspan="2">1989</td></tr><tr><td>Ann</td><td>Berg</td></tr>'
                "</table>", ("1989",), ("1989Ann",)),
    "infobox": ("<table><tr><th>Born</th><td>9 November 1989</td></tr></table>",
                ("Born#9 November 1989",), ()),
    "numbered from 5": ("<ol start=5><li>Ann Berg</li><li>Carl Dahl</li></ol>",
                        ("5#Ann Berg", "6#Carl Dahl"), ()),
    "terms": ("<dl><dt>1989</dt><dd>The wall falls</dd></dl>", ("1989", "The wall falls"),
              ("1989The",)),
    "breaks": ("<p>9 November 1989<br>10 November 1990</p>",
               ("9 November 1989", "10 November 1990"), ("198910",)),
    "blanks": ("<p>9&nbsp;November&nbsp;1989&ndash;1990</p>", ("9 November 1989",), ()),
    "image": ('<p>Opened <img src="d.png" alt="9 November 1989">.</p>', ("9 November 1989",), ()),
    "formula": ("<p>It took <math><mn>28</mn><mo>+</mo><mn>3</mn></math> years.</p>",
                ("28",), ("283",)),
    "sort key": (f"<table><tr><td>{_HIDDEN}9 November 1989</td></tr></table>",
                 ("9 November 1989",), ("0001989",)),
    "caption": ("<figure><img src=x><figcaption>The wall on 9 November 1989</figcaption></figure>",
                ("9 November 1989",), ()),
    "soft hyphen": ("<p>9 Novem&shy;ber 19<wbr>89</p>", ("9 November 1989",), ()),
}  # fmt: skip
"""By name: the markup, what a reader sees, and what nobody sees; `a#b` stand on one line."""
AROUND = (
    "The history of the city has been told many times, by those who were there and by those who "
    "came later, and every account begins with the same evening at the river. "
) * 4


def dated(run: Callable[[str], str]) -> tuple[list[str], float]:
    """The shapes that the extractor gets wrong, and CPU seconds for all of them once."""
    wrong, since = [], time.process_time()
    for name, (body, wanted, unwanted) in SHAPES.items():
        html = (
            f"<!doctype html><html><head><title>A page</title></head><body><article><h1>A page</h1>"
            f"<p>{AROUND}</p>{body}<p>{AROUND}</p></article></body></html>"
        )
        text = run(html).replace("\u00ad", "").replace("\u200b", "")
        lines = [" ".join(line.split()) for line in text.splitlines()]
        flat = " ".join(lines)
        is_kept = all(
            any(
                all(part in line for part in each.split("#"))
                for line in (lines if "#" in each else [flat])
            )
            for each in wanted
        )
        if not is_kept or any(each in flat for each in unwanted):
            wrong.append(name)
    return wrong, time.process_time() - since


def extractors() -> Iterator[tuple[str, Callable[[str], str]]]:
    yield "agent-env", lambda html: extract(html.encode()).text
    yield "bs4 + lxml, all text", _soup
    if find_spec("resiliparse"):
        module = import_module("resiliparse.extract.html2text")
        yield (
            "resiliparse",
            lambda html: str(module.extract_plain_text(html, main_content=True, links=True)),
        )
    if find_spec("trafilatura"):
        trafilatura = import_module("trafilatura")
        yield (
            "trafilatura",
            lambda html: str(trafilatura.extract(html, include_links=True, include_tables=True)),
        )

    if find_spec("markdownify"):
        yield "markdownify", import_module("markdownify").markdownify
    if find_spec("inscriptis"):
        yield "inscriptis", import_module("inscriptis").get_text


def _soup(html: str) -> str:
    soup = import_module("bs4").BeautifulSoup(html, "lxml")
    return str(soup.get_text(" "))


def main() -> None:
    built = list(pages())
    print(f"{len(built)} pages, {sum(len(page.html) for page in built) / 1e3:.0f} kB")
    print(f"{'':22}{'':14}{'text':>7}{'rows':>7}{'links':>7}{'clutter':>9}{'ms/100kB':>10}")
    for name, run in extractors():
        for kind in [make.__name__ for make in KINDS] + ["all"]:
            measure(name, kind, [p for p in built if kind in (p.kind, "all")], run)
    print(f"\n{len(SHAPES)} shapes of dates")
    for name, run in extractors():
        dated(run)
        wrong, spent = dated(run)
        right = len(SHAPES) - len(wrong)
        print(f"{name:22}{right:>3} right, {1e3 * spent:.0f} ms; wrong: {', '.join(wrong) or '-'}")


def measure(name: str, kind: str, built: list[Built], run: Callable[[str], str]) -> None:
    run(built[0].html)
    since = time.process_time()
    texts = [run(page.html) for page in built]
    spent = time.process_time() - since
    lines = [[" ".join(line.split()) for line in text.splitlines()] for text in texts]
    flat = [" ".join(found) for found in lines]
    kept = [
        share([said in text for page, text in zip(built, flat, strict=True) for said in page.text]),
        share(
            [
                any(key in line and value in line for line in found)
                for page, found in zip(built, lines, strict=True)
                for key, value in page.rows
            ]
        ),
        share([a in text for page, text in zip(built, flat, strict=True) for a in page.links]),
        share([s in text for page, text in zip(built, flat, strict=True) for s in page.clutter]),
    ]
    size = sum(len(page.html) for page in built)
    print(
        f"{name:22}{kind:14}{kept[0]:>7}{kept[1]:>7}{kept[2]:>7}{kept[3]:>9}"
        f"{spent * 1e3 / size * 1e5:>10.1f}"
    )


def share(found: list[bool]) -> str:
    return f"{100 * sum(found) / len(found):.0f}%" if found else "-"


if __name__ == "__main__":
    main()
