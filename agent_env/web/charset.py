"""Bytes to text: byte order mark, UTF-8 where it fits, header, declaration in the page, a guess.

Guaranteed: any bytes give a text; the same bytes and header give the same text. An encoding that
was announced but does not fit the bytes is passed over; UTF-8 goes before the announcement, since
hardly any text of another encoding is valid UTF-8 by chance. Not covered: a guess can be wrong, and
the rare encodings that the web's encoding standard leaves out are not honoured.
"""

from __future__ import annotations

import codecs
import re

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_IN_HEADER = re.compile(r"charset\s*+=\s*+[\"']?\s*+([A-Za-z0-9_.:-]{2,40})", re.I)
_IN_PAGE = re.compile(
    rb"<(?:meta|\?xml)[^<>]*?(?:charset|encoding)\s*+=\s*+[\"']?\s*+([\w.:-]{2,40})"
)
_HEAD = 4096
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
    announced = [name for name in (_from_header(content_type), declared(body)) if name]
    for name in sorted([*announced, "utf-8"], key=_order):
        try:
            return body.decode(name)
        except UnicodeError:
            continue
    return _guessed(body, announced)


def _order(name: str) -> int:
    """Encodings whose bytes can all be ASCII come before UTF-8."""
    return 0 if name.startswith(("utf-16", "iso2022")) else 1 if name == "utf-8" else 2


def _from_header(content_type: str) -> str | None:
    match = _IN_HEADER.search(content_type)
    return _python_name(match.group(1)) if match else None


def declared(body: bytes) -> str | None:
    """The encoding that the page itself names; None where it names none that is known."""
    match = _IN_PAGE.search(body[:_HEAD].lower())
    name = _python_name(match.group(1).decode("ascii", "replace")) if match else None
    return "utf-8" if name is not None and name.startswith("utf-16") else name


def _python_name(label: str) -> str | None:
    """The codec for a label; None for what is not an encoding of web pages."""
    try:
        name = codecs.lookup(label).name
    except (LookupError, ValueError):
        return None
    name = _WIDER.get(name, name)
    return name if name in _KNOWN else None


def _guessed(body: bytes, announced: list[str]) -> str:
    """No announced encoding fits: a page with a stray byte, or one that lies."""
    for name in [*announced, "utf-8"]:
        text = body.decode(name, "replace")
        if text.count("\ufffd") <= _FEW * len(text):
            return text
    return body.decode(_likeliest(body[:_GUESS_FROM]), "replace")


def _likeliest(body: bytes) -> str:
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        return "cp1252"
    best = from_bytes(body, cp_isolation=sorted(_KNOWN)).best()
    return best.encoding if best is not None else "cp1252"
