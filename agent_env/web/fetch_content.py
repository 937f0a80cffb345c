"""What a body says, by its content type: HTML, plain text and the like, PDF with an extra.

Guaranteed: a type that is none of these is refused before its body is read; a type that is not
told is found from the first bytes; a PDF is read in the worker, where its time and its memory are
bounded. Not covered: scanned pages have no text.
"""

from __future__ import annotations

import re
from base64 import b64encode
from importlib.util import find_spec
from typing import Literal

from agent_env.errors import ToolError
from agent_env.web.charset import decode
from agent_env.web.extract import Extracted, extract
from agent_env.web.metadata import Metadata, day_of, stated
from agent_env.worker.host import WorkerFailed, worker

Kind = Literal["html", "text", "pdf", "untold"]

_HTML = ("text/html", "application/xhtml+xml")
_TEXT = ("application/json", "application/xml", "application/yaml", "application/javascript")
_MAGIC = (
    b"\x89png",
    b"gif8",
    b"\xff\xd8\xff",
    b"pk\x03\x04",
    b"\x1f\x8b",
    b"riff",
    b"\xd0\xcf\x11\xe0",
)
"""First bytes, in small letters, of images and archives."""
PLAIN = "agent-env-text/1"
_PDF_DAY = re.compile(r"D:(\d{4})(\d{2})(\d{2})")
_PDF_TIME_S = 20.0


def kind_of(content_type: str) -> Kind:
    """What the header promises; ToolError for what cannot be read."""
    media = content_type.partition(";")[0].strip().lower()
    if media in _HTML:
        return "html"
    if media == "application/pdf":
        if find_spec("pypdf") is None:
            raise ToolError("the page is a PDF, which cannot be read here; look for an HTML page")
        return "pdf"
    is_text = media.endswith(("+xml", "+json")) and not media.startswith(("image/", "model/"))
    if is_text or media.startswith("text/") or media in _TEXT:
        return "text"
    if media in ("", "application/octet-stream", "unknown/unknown"):
        return "untold"
    raise ToolError(f"the address holds {media[:60]}, not a page with text")


def read_content(body: bytes, content_type: str, url: str) -> Extracted:
    """Title and text; slow on large pages, so to be called in a thread."""
    kind = _sniffed(body, kind_of(content_type))
    if kind == "pdf":
        try:
            pdf = worker("pdf").call({"body": b64encode(body).decode()}, timeout_s=_PDF_TIME_S)
        except WorkerFailed as exc:
            raise ToolError(f"the PDF cannot be read: that {exc}") from exc
        created, changed = _pdf_day(pdf["CreationDate"]), _pdf_day(pdf["ModDate"])
        dates = (stated(created, "published", "pdf"), stated(changed, "modified", "pdf"))
        metadata = Metadata(
            None, created, changed, tuple(each for each in dates if each is not None)
        )
        title = " ".join(pdf["Title"].split())
        written = pdf["text"].encode("utf-8", "replace").decode()
        return Extracted(title, written, metadata, f"pypdf/{pdf['version']}")
    text = decode(body, content_type)
    if kind == "html":
        return extract(text, url)
    return Extracted("", text.replace("\x00", "\ufffd"), extractor=PLAIN)


def _sniffed(body: bytes, told: Kind) -> Kind:
    """What the first bytes say: servers send PDFs and images as text/html."""
    head = body[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if head.startswith(b"%pdf-"):
        return kind_of("application/pdf")
    is_wide = body.startswith((b"\xff\xfe", b"\xfe\xff"))
    if head.startswith(_MAGIC) or (told == "untold" and b"\x00" in head and not is_wide):
        raise ToolError("the address holds a binary file, not a page with text")
    if told != "untold":
        return told
    is_html = head.startswith((b"<!doctype html", b"<html", b"<head", b"<body", b"<!--"))
    return "html" if is_html else "text"


def _pdf_day(value: str) -> str | None:
    match = _PDF_DAY.match(value)
    return day_of("-".join(match.groups())) if match else None
