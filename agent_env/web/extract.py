"""From a page's HTML to the text that a model reads: headings, paragraphs, tables and links.

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

import codecs
import re
from dataclasses import dataclass, field
from itertools import islice
from typing import Any
from urllib.parse import urljoin

from bs4 import BeautifulSoup
from bs4.filter import SoupStrainer
from lxml import etree  # type: ignore[import-untyped]

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
        if not self._is_full:
            self._builder.end(self._open.pop())

    def close(self) -> Any:
        """The root, with what is open ended."""
        while self._open:
            self._builder.end(self._open.pop())
        return self._builder.close() if self.elements else None


EXTRACTOR = "agent-env-html/1"
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
    head title script style noscript template svg math iframe object button select textarea input
    """.split()
)
_ASIDE = frozenset("nav aside footer".split())
_ASIDE_ROLES = frozenset("navigation banner contentinfo complementary search".split())
_ASIDE_NAME = re.compile(
    r"(?<![a-z])(nav|navbar|navbox|menu|sidebar|footer|top-?bar|cookies?|cookie-banner|breadcrumbs?"
    r"|share|social|related|ads?|advert|promo|newsletter|mw-editsection|noprint)(?![a-z])",
    re.I,
)
_HEADINGS = ("h1", "h2", "h3", "h4")
_LONGEST_ROW = 3000
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
    end = _TITLE_END.search(source, 0, _HEAD)
    head = source[: end.end() if end else 2000]
    title = BeautifulSoup(head, "lxml", parse_only=SoupStrainer("title")).find("title")
    return Extracted(
        _clean(title.get_text()) if title else "", "\n".join(text), metadata_of(document), made_by
    )


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
    cells: list[str] | None = None
    """Of the table row that is being read."""

    def lines(self, root: Any) -> list[str]:
        steps = etree.iterwalk(root, events=("start", "end"))
        skipped: Any = None
        for event, element in steps:
            if event == "start":
                if self._start(element, root):
                    skipped = element
                    steps.skip_subtree()
            else:
                if element.tag == "a" and element is not skipped:
                    self.parts.append(self._address(element.get("href", "")))
                if self.cells is not None and element.tag in ("td", "th"):
                    self.cells.append(_clean("".join(self.parts)))
                    self.parts.clear()
                elif element.tag == "tr" and self.cells is not None:
                    self._end_row(self.cells)
                if element.tag in _BLOCKS:
                    self._flush()
                    self.mark = "" if element.tag == "li" else self.mark
                if element is not root and element.tail:
                    self.parts.append(element.tail)
        self._flush()
        return self.gathered

    def _start(self, element: Any, root: Any) -> bool:
        """Whether the element is done with: left out, or written as a whole."""
        tag = element.tag
        if tag in _UNSEEN or (element is not root and not self.all and self._is_clutter(element)):
            return True
        if tag in _BLOCKS:
            self._flush()
            self.mark = "- " if tag == "li" else self.mark
        is_plain = tag == "tr" and next(element.iterdescendants("tr", *_HEADINGS), None) is None
        if is_plain and sum(map(len, element.itertext())) <= _LONGEST_ROW:
            self.cells = []
        if text := " " if tag == "br" else element.text:
            self.parts.append(text)
        return False

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
        if tag in ("header", "form"):
            return next(element.iter("h1", "p", "article"), None) is None
        named = f"{element.get('class', '')} {element.get('id', '')}"
        if len(named) > 1 and _ASIDE_NAME.search(named):
            return element.find(".//h1") is None and tag not in ("body", "a")
        return tag == "ul" and not self.bare and _is_menu(element)


def _is_menu(items: Any) -> bool:
    """Whether a list is nothing but short links."""
    links = list(items.iterdescendants("a"))
    linked = sum(len("".join(link.itertext()).strip()) for link in links)
    total = sum(map(len, "".join(items.itertext()).split()))
    return len(links) >= _MENU_LINKS and total <= linked <= _MENU_WORDS * len(links)


def _clean(text: str) -> str:
    return _LOOSE.sub(r"\1", " ".join(text.split()))


_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_IN_HEADER = re.compile(r"charset\s*+=\s*+[\"']?\s*+([A-Za-z0-9_.:-]{2,40})", re.I)
_IN_PAGE = re.compile(
    rb"<(?:meta|\?xml)[^<>]*?(?:charset|encoding)\s*+=\s*+[\"']?\s*+([\w.:-]{2,40})"
)
_DECLARED_IN = 4096
_GUESS_FROM = 64 * 1024
_FEW = 0.002

_WIDER = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
}
"""What the web means by a name that stands for less elsewhere."""
_KNOWN = frozenset(
    """
    utf-8 utf-16 utf-16-le utf-16-be cp1252 cp1254 cp874 gb18030 cp932 cp949 big5hkscs euc_jp
    iso2022_jp iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6 iso8859-7 iso8859-8 iso8859-10
    iso8859-13 iso8859-14 iso8859-15 iso8859-16 koi8-r koi8-u cp866 cp1250 cp1251 cp1253 cp1255
    cp1256 cp1257 cp1258 mac-roman mac-cyrillic
    """.split()
)


def decode(body: bytes, content_type: str = "") -> str:
    """The body's text; `content_type` is the header as it came."""
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace")
    match = _IN_HEADER.search(content_type)
    announced = [
        name
        for name in ((_python_name(match.group(1)) if match else None), _from_page(body))
        if name
    ]
    for name in sorted([*announced, "utf-8"], key=_order):
        try:
            return body.decode(name)
        except UnicodeError:
            continue
    # No announced encoding fits: a page with a stray byte, or one that lies
    for name in [*announced, "utf-8"]:
        text = body.decode(name, "replace")
        if text.count("\ufffd") <= _FEW * len(text):
            return text
    return body.decode(_likeliest(body[:_GUESS_FROM]), "replace")


def _order(name: str) -> int:
    """Encodings whose bytes can all be ASCII come before UTF-8."""
    return 0 if name.startswith(("utf-16", "iso2022")) else 1 if name == "utf-8" else 2


def _from_page(body: bytes) -> str | None:
    match = _IN_PAGE.search(body[:_DECLARED_IN].lower())
    name = _python_name(match.group(1).decode("ascii", "replace")) if match else None
    return "utf-8" if name is not None and name.startswith("utf-16") else name


def _python_name(label: str) -> str | None:
    """The codec for a label; None for what is no encoding of web pages."""
    try:
        name = codecs.lookup(label).name
    except (LookupError, ValueError):
        return None
    name = _WIDER.get(name, name)
    return name if name in _KNOWN else None


def _likeliest(body: bytes) -> str:
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        return "cp1252"
    best = from_bytes(body, cp_isolation=sorted(_KNOWN)).best()
    return best.encoding if best is not None else "cp1252"
