"""From a page's HTML to the text that a model reads: headings, paragraphs, tables and links.

Numbers stay what a reader sees: the mark of a note is in brackets (`1989[1]`), an exponent
behind `^`; deleted text is left out; a cell that spans rows is in each of them; numbered lists
keep their numbers; the digits of elements side by side do not join. A `time` element whose words do
not state its year has its date behind them; images and formulas are their texts.

Guaranteed: any bytes give a text, without recursion and in time that grows with the page; where
nothing looks like the main part, all of the page is given. lxml walks the page and Beautiful Soup
reads its title: a walk by Beautiful Soup takes four times as long (benchmarks/extraction.py). Of a
page at most 10,000,000 characters, 200,000 elements, 256 levels and 256 attributes of each element
are kept, and `Tree.cut` says which bound was met; the parser's time grows with the square of the
attributes of one element, so a pass that builds no tree counts them first.
Not covered: text that scripts write, hiding by style sheets; what counts as clutter is a rule of
thumb.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import islice
from typing import Any
from urllib.parse import urljoin

from bs4 import BeautifulSoup
from bs4.filter import SoupStrainer
from lxml import etree  # type: ignore[import-untyped]

from agent_env.web.charset import decode
from agent_env.web.metadata import NOTHING, Metadata, metadata_of

MOST_CHARACTERS = 10_000_000
MOST_ELEMENTS = 200_000
MOST_ATTRIBUTES = 256
DEEPEST = 256
"""The parser's own bound; it leaves out what follows."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


@dataclass(frozen=True, slots=True)
class Tree:
    """What is kept of a page."""

    root: Any
    """An element of lxml; None where the page holds nothing."""
    cut: str = ""
    """The bounds that the page met, such as `256 levels`; empty where it is whole."""


def parse(source: str) -> Tree:
    """The page's tree, without comments."""
    data = source[:MOST_CHARACTERS].encode("utf-8", "replace")
    cuts = [f"{MOST_CHARACTERS} characters"] if len(source) > MOST_CHARACTERS else []
    count = _Count()
    _parse(data, count)
    if count.elements <= MOST_ELEMENTS and count.attributes <= MOST_ATTRIBUTES:
        root, is_deep = _parse(data)
    else:
        part = _Part()
        root, _ = _parse(data, part)
        is_deep = part.is_deep
        cuts += [f"{MOST_ELEMENTS} elements"] * (part.elements > MOST_ELEMENTS)
        cuts += [f"{MOST_ATTRIBUTES} attributes"] * (count.attributes > MOST_ATTRIBUTES)
    return Tree(root, ", ".join(cuts + [f"{DEEPEST} levels"] * is_deep))


def _parse(data: bytes, target: object = None) -> tuple[Any, bool]:
    """The root, or None where there is nothing; whether the page is too deep for the parser."""
    parser = etree.HTMLParser(
        encoding="utf-8", remove_comments=True, remove_pis=True, target=target
    )
    try:
        root = etree.fromstring(data, parser=parser)
    except (etree.LxmlError, ValueError):
        return None, False
    return root, any(error.type_name == "ERR_RESOURCE_LIMIT" for error in parser.error_log)


class _Count:
    """Counts elements, and the attributes of the one that has most; names are lxml's."""

    def __init__(self) -> None:
        self.elements = self.attributes = 0

    def start(self, tag: str, attributes: Any) -> None:
        """Count an element."""
        self.elements += 1
        self.attributes = max(self.attributes, len(attributes))

    def close(self) -> None:
        """Nothing is built."""


class _Part:
    """Builds the tree up to the bounds; names are lxml's. Attributes of odd names are left out, an
    element of an odd name is a `span`."""

    def __init__(self) -> None:
        self.elements = 0
        self.is_deep = False
        self._builder = etree.TreeBuilder()
        self._open: list[str] = []
        self._is_full = False

    def start(self, tag: str, attributes: Any) -> None:
        """An element begins."""
        if self._is_full:
            return
        self.elements += 1
        self.is_deep = len(self._open) >= DEEPEST
        self._is_full = self.is_deep or self.elements > MOST_ELEMENTS
        if not self._is_full:
            self._open.append(tag if _NAME.fullmatch(tag) else "span")
            named = ((k, v) for k, v in attributes.items() if _NAME.fullmatch(k))
            self._builder.start(self._open[-1], dict(islice(named, MOST_ATTRIBUTES)))

    def data(self, text: str) -> None:
        """Text of the element that is open."""
        if self._open and not self._is_full:
            self._builder.data(text)

    def end(self, tag: str) -> None:
        """An element ends."""
        if not self._is_full:
            self._builder.end(self._open.pop())

    def close(self) -> Any:
        """The root, with what is open ended."""
        while self._open:
            self._builder.end(self._open.pop())
        return self._builder.close() if self.elements else None


EXTRACTOR = "agent-env-html/3"
"""Goes up with every change that makes another text of the same bytes."""

_BLOCKS = frozenset(
    """
    address article blockquote body caption center dd details div dl dt fieldset figcaption figure
    footer form h1 h2 h3 h4 h5 h6 header hr li main ol p section summary table tbody td tfoot th
    thead tr ul
    """.split()
)
_UNSEEN = frozenset(
    """
    head title script style noscript template svg iframe object button select textarea input del s
    strike rp
    """.split()
)
_ASIDE = frozenset("nav aside footer".split())
_ASIDE_ROLES = frozenset("navigation banner contentinfo complementary search".split())
_ASIDE_NAME = re.compile(
    r"(?<![a-z])(nav|navbar|navbox|menu|sidebar|footer|top-?bar|cookies?|cookie-banner|breadcrumbs?"
    r"|share|social|related|ads?|advert|promo|newsletter|mw-editsection|noprint)(?![a-z])",
    re.I,
)
_HIDDEN = re.compile(r"display\s*:\s*none", re.I)
_HEADINGS = ("h1", "h2", "h3", "h4")
_LONGEST_ROW = 3000
_MOST_CARRIED = 20_000
"""Cells of a page that are repeated, as they span rows."""
_TYPOGRAPHIC = frozenset("abbr b big em font i mark small strong tt u".split())
_SEAM, _FINE_SEAM = "\x1f", "\x1e"
"""Where two elements meet without a space; of typographic ones only digits do not join."""
_JOINED = re.compile(
    rf"[{_SEAM}{_FINE_SEAM}](?=\d)(?<=\d.)|{_SEAM}(?:(?=\w)(?<=[\d>].)|(?=\d)(?<=\w.))"
)
_NOTE = re.compile(r"(?<![a-z])(reference|footnote|noteref|fn|cite)(?![a-z])", re.I)
_EXPONENT = re.compile(r"[-+−–]?[\d.,*†‡§]+|[nkxyim]")
_DAY_OR_MONTH = re.compile(r"(\d{4,})(-\d\d(-\d\d)?)?(?=[T ]|$)")
_MENU_LINKS = 6
_MENU_WORDS = 40
_TITLE_END = re.compile(r"</title\s{0,9}>", re.I)
_HEAD = 200_000
_LOOSE = re.compile(r" ([,.;:)])")


@dataclass(frozen=True, slots=True)
class Extracted:
    """A page's readable part."""

    title: str
    text: str
    """Blocks, one per line; table rows as `key: value`, links followed by their address."""
    metadata: Metadata = NOTHING
    extractor: str = EXTRACTOR
    """With the bounds that the page met, where it met any."""


def extract(html: bytes | str, base: str = "") -> Extracted:
    """The main part of a page; navigation, scripts and the like are left out.

    Addresses of links are made whole where `base`, the page's own URL, is given.
    """
    source = decode(html) if isinstance(html, bytes) else html
    source = source.encode("utf-8", "replace").decode()  # half letters are none
    tree = parse(source)
    document = tree.root
    if document is None:
        return Extracted("", "")
    element = document.find("body")
    body = document if element is None else element
    root = _main_part(body)
    text = _Walk(base, bare=root is not body).lines(root) or _Walk(base, all=True).lines(body)
    made_by = f"{EXTRACTOR}; cut: {tree.cut}" if tree.cut else EXTRACTOR
    return Extracted(_title(source), "\n".join(text), metadata_of(document), made_by)


def _title(source: str) -> str:
    """From the head alone, as Beautiful Soup reads it."""
    end = _TITLE_END.search(source, 0, _HEAD)
    head = source[: end.end() if end else 2000]
    title = BeautifulSoup(head, "lxml", parse_only=SoupStrainer("title")).find("title")
    return _clean(title.get_text()) if title else ""


def _main_part(body: Any) -> Any:
    """`main`, or the only article, where it holds a fair part of the text."""
    whole = _length(body)
    articles = body.findall(".//article")
    marked = body.xpath("(.//main | .//*[@role='main'])[1]")
    for part in [*marked, *(articles if len(articles) == 1 else [])]:
        if _length(part) * 10 >= whole:
            return part
    return body


def _length(element: Any) -> int:
    """Characters of text, scripts and styles not counted."""
    texts = element.xpath(".//text()[not(parent::script or parent::style)]")
    return sum(len(text) for text in texts)


@dataclass
class _Table:
    """The row that is being read, and the cells that last from rows above."""

    row: int = 0
    spans: dict[int, tuple[int, str | None]] = field(default_factory=dict)
    """By column, the last row of the cell and its text."""
    carried: int = 0

    def add(self, cells: list[str | None], element: Any, text: str) -> None:
        """Puts a cell in, behind those that last from above."""
        self.carry(cells)
        rows, width = (_number(element.get(name), 1) for name in ("rowspan", "colspan"))
        row: list[str | None] = [text, *[None] * (min(width, MOST_ATTRIBUTES) - 1)]
        if rows != 1:  # 0 is to the end
            last = self.row + rows - 1 if rows else MOST_ELEMENTS
            self.spans |= {len(cells) + n: (last, each) for n, each in enumerate(row)}
        cells += row

    def carry(self, cells: list[str | None]) -> None:
        """Puts in the cells that last from above, up to the next place that is free."""
        while (span := self.spans.get(len(cells))) and span[0] >= self.row:
            if self.carried == _MOST_CARRIED:
                return
            self.carried += 1
            cells.append(span[1])


@dataclass
class _Walk:
    """One pass over a part of the page that gathers its lines."""

    base: str
    bare: bool = False
    """The part was marked as the main one, so that lists of links belong to it."""
    all: bool = False
    """Leave nothing out but what is never seen."""
    gathered: list[str] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    mark: str = ""
    """Put before the next line."""
    cells: list[str | None] | None = None
    """Of the table row that is being read; None where a cell spans columns."""
    tables: list[_Table] = field(default_factory=lambda: [_Table()])
    """Those that are open, behind one for rows without a table."""
    lists: list[tuple[int, int] | None] = field(default_factory=list)
    """Of each list that is open, the next number and the step; None where it has none."""
    begun: list[int] = field(default_factory=list)
    """Where the text of each open `sup`, `sub` and `time` begins among the parts."""
    ended: str = ""
    """The element that ended right before, without text behind it."""

    def lines(self, root: Any) -> list[str]:
        steps = etree.iterwalk(root, events=("start", "end"))
        skipped: Any = None
        for event, element in steps:
            if event == "start":
                if self._start(element, root):
                    skipped = element
                    steps.skip_subtree()
            else:
                self._end(element, root, left_out=element is skipped)
        self._flush()
        return self.gathered

    def _start(self, element: Any, root: Any) -> bool:
        """Whether the element is done with: left out, or written as a whole."""
        tag = element.tag
        if tag in _UNSEEN or (element is not root and not self.all and self._is_clutter(element)):
            return True
        if self.ended and tag not in _BLOCKS and not {tag, self.ended} & {"sup", "sub", "wbr"}:
            is_fine = bool({tag, self.ended} & _TYPOGRAPHIC)
            self.parts.append(_FINE_SEAM if is_fine else _SEAM)
        self.ended = ""
        if tag in ("math", "img"):
            self.parts.append(_alternative(element, self.parts))
            return True
        if tag in _BLOCKS:
            self._flush()
        if tag in ("sup", "sub", "time"):
            self.begun.append(len(self.parts))
        elif tag in ("ol", "ul"):
            self.lists.append(_numbering(element) if tag == "ol" else None)
        elif tag == "li":
            self.mark = self._item(element)
        elif tag == "table":
            self.tables.append(_Table())
        elif tag in ("tbody", "thead", "tfoot"):
            self.tables[-1].spans.clear()
        elif tag == "tr":
            self.tables[-1].row += 1
            self.cells = [] if _is_data(element) else self.cells
        if text := " " if tag == "br" else element.text:
            self.parts.append(text)
        return False

    def _end(self, element: Any, root: Any, left_out: bool) -> None:
        tag = element.tag
        if not left_out:
            self._close(element)
        if tag in _BLOCKS:
            self._flush()
            self.mark = "" if tag == "li" else self.mark
        if element is not root and element.tail:
            self.parts.append(element.tail)
            self.ended = ""
        elif not left_out or tag in ("math", "img"):
            self.ended = "" if tag in _BLOCKS or tag == "br" else tag

    def _close(self, element: Any) -> None:
        """What an element that was read adds at its end."""
        tag = element.tag
        if tag == "a":
            self.parts.append(self._address(element.get("href", "")))
        elif tag in ("sup", "sub", "time"):
            begin = self.begun.pop()
            text = _clean("".join(self.parts[begin:]))
            if tag == "time":
                self.parts.append(_unstated(element, text))
            elif text:
                self.parts[begin:] = [_raised(element, text, "".join(self.parts[:begin][-1:]))]
        elif tag in ("ol", "ul") and self.lists:
            self.lists.pop()
        elif tag == "table":
            self.tables.pop()
        elif self.cells is not None and tag in ("td", "th"):
            self.tables[-1].add(self.cells, element, _clean("".join(self.parts)))
            self.parts.clear()
        elif tag == "tr" and self.cells is not None:
            self.tables[-1].carry(self.cells)
            self._end_row([cell for cell in self.cells if cell is not None])

    def _item(self, element: Any) -> str:
        """What is before an item: its number, or a dash."""
        if not self.lists or (place := self.lists[-1]) is None:
            return "- "
        number = _number(element.get("value"), place[0])
        self.lists[-1] = number + place[1], place[1]
        return f"{number}. "

    def _flush(self) -> None:
        if self.cells is not None:
            self.parts.append(" ")
            return
        if not self.parts:
            return
        line = _clean("".join(self.parts))
        if line:
            self.gathered.append(self.mark + line)
            self.mark = ""
        self.parts.clear()

    def _end_row(self, cells: list[str]) -> None:
        line = f"{cells[0]}: {' | '.join(cells[1:])}" if len(cells) > 1 else " ".join(cells)
        self.gathered += [line] if any(cells) else []
        self.cells = None
        self.parts.clear()

    def _address(self, href: str) -> str:
        href = href.strip()
        if not href or href.startswith(("#", "javascript:", "data:", "mailto:")):
            return ""
        try:
            return f" <{urljoin(self.base, href)}>"
        except ValueError:
            return f" <{href}>"

    def _is_clutter(self, element: Any) -> bool:
        tag = element.tag
        if tag in _ASIDE or element.get("role") in _ASIDE_ROLES or "hidden" in element.attrib:
            return True
        if _HIDDEN.search(element.get("style", "")):
            return True
        if tag in ("header", "form"):
            return next(element.iter("h1", "p", "article"), None) is None
        named = f"{element.get('class', '')} {element.get('id', '')}"
        if len(named) > 1 and _ASIDE_NAME.search(named):
            return element.find(".//h1") is None and tag not in ("body", "a")
        return tag == "ul" and not self.bare and _is_menu(element)


def _number(text: str | None, default: int) -> int:
    """A whole number from 0 on, as an attribute has it; the default where it is none."""
    text = (text or "").strip()
    return int(text) if text.isdecimal() and len(text) < 7 else default


def _numbering(items: Any) -> tuple[int, int]:
    """The first number of a numbered list, and the step to the next."""
    is_reversed = "reversed" in items.attrib
    first = len(items.findall("li")) if is_reversed else 1
    return _number(items.get("start"), first), -1 if is_reversed else 1


def _raised(element: Any, text: str, before: str) -> str:
    """What is above or below the line: the mark of a note in brackets, a number behind `^`
    or `_` where it would join another, else as it is: 1st, Mme, H2O."""
    named = f"{element.get('class', '')} {element.get('role', '')} {element.get('id', '')}"
    links = element.xpath(
        "boolean(.//a[starts-with(@href, '#')]|ancestor::a[starts-with(@href,'#')])"
    )
    if element.tag == "sup" and (links or _NOTE.search(named)):
        return f"[{_clean(''.join(element.itertext())).strip('[]()')}]"
    if not before[-1:].isalnum() or not _EXPONENT.fullmatch(text):
        return text
    if element.tag == "sub":
        return f"_{text}" if before[-1:].isdigit() else text
    return f"^{text}"


def _unstated(element: Any, text: str) -> str:
    """The date of a `time` element, in brackets, where its words do not state the year."""
    day = _DAY_OR_MONTH.match((element.get("datetime") or "").strip())
    return f" ({day[0]})" if day and day[1] not in text else ""


def _alternative(element: Any, before: list[str]) -> str:
    """The text that stands for an image or a formula; an image of the formula right before, such
    as Wikipedia has, is none."""
    if element.tag == "img":
        text = _clean(element.get("alt") or "")
        return f" {text} " if text and text not in "".join(before[-3:]) else ""
    text = element.get("alttext") or "".join(element.itertext())
    return f" {_clean(text)} "


def _is_data(row: Any) -> bool:
    """Whether a row is one of a table and not of a page's layout."""
    if next(row.iterdescendants("tr", *_HEADINGS), None) is not None:
        return False
    return sum(map(len, row.itertext())) <= _LONGEST_ROW


def _is_menu(items: Any) -> bool:
    """Whether a list is nothing but short links."""
    links = list(items.iterdescendants("a"))
    linked = sum(len("".join(link.itertext()).strip()) for link in links)
    total = sum(map(len, "".join(items.itertext()).split()))
    return len(links) >= _MENU_LINKS and total <= linked <= _MENU_WORDS * len(links)


def _clean(text: str) -> str:
    if _SEAM in text or _FINE_SEAM in text:
        text = _JOINED.sub(" ", text).replace(_SEAM, "").replace(_FINE_SEAM, "")
    return _LOOSE.sub(r"\1", " ".join(text.split()))
