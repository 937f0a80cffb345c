"""CPU time of the HTML extraction on pages that are made to cost time.

    python benchmarks/degenerate_pages.py [CHARACTERS]

Prints, slowest first, the milliseconds at a quarter, a half and all of CHARACTERS (1,000,000), the
factor of the last doubling (2 is linear), and the bound that the page met. The figures are in
RESULTS.md; tests/web/test_html_tree.py has the short form.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

from agent_env.web.extract import extract

REPEATED = (
    "<td>", "<div>", "<b>", "<table>", "<p>", "<a>", "<li>", "<font>", "<form>", "<svg>", "<h1>",
    "<table><tr><td>", "<b><i></b></i>", "<b><p>", "<a href=x>y", "<ul><li><a href=x>y</a>", "</p>",
    "<", "&", "<!--", "<!", "<?", "<![CDATA[", "&amp;", "&#x41;", "<p>x</p>", "<br>",
    "<a href=u>x</a> ", "<article>x</article>", "<meta name=date content=2001-01-01>", "<title>",
    '<script type="application/ld+json">{}</script>', "<time datetime=2001>x</time>", "\0", " ",
    "\n", "word ", "1 January 2001 ", "<base href=x>", "<dt>a<dd>b", "<script>", "<textarea>",
)  # fmt: skip
WITHIN = {
    "rows of a table": ("<table>", "<tr><td>x"),
    "cells of a row": ("<table><tr>", "<td>x"),
    "a menu": ("<ul>", "<li><a href=x>y</a></li>"),
    "attributes without a quote": ("<p ", "a="),
    "the same attribute": ("<p ", "a=1 "),
    "a comment of dashes": ("<!--", "-"),
    "a name of an entity": ("&", "a"),
    "a class": ("<div class='", "nav "),
    "an address": ("<a href='", "a/../"),
    "JSON in a script": ('<script type="application/ld+json">', '{"a":'),
}


def pages(size: int) -> Iterator[tuple[str, str]]:
    """Each page of about `size` characters, with its name."""
    yield "attributes", "<p " + " ".join(f"a{n}=1" for n in range(size // 9)) + ">x"
    quoted = " ".join(f"a{n}='>'" for n in range(size // 11))
    yield "attributes with > in them", f"<p {quoted}>x"
    for piece in REPEATED:
        yield repr(piece), piece * (size // len(piece))
    for name, (head, piece) in WITHIN.items():
        yield name, head + piece * (size // len(piece))


def main(size: int) -> None:
    """Print the table."""
    spent: dict[str, list[float]] = {}
    cuts: dict[str, str] = {}
    for part in (size // 4, size // 2, size):
        for name, page in pages(part):
            since = time.process_time()
            cuts[name] = extract(page).extractor.partition("; ")[2]
            spent.setdefault(name, []).append(1000 * (time.process_time() - since))
    for name, times in sorted(spent.items(), key=lambda item: -item[1][-1]):
        told = " ".join(f"{ms:7.0f}" for ms in times)
        print(f"{name:50} {told}  x{times[-1] / max(times[-2], 0.1):.1f}  {cuts[name]}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
