"""A page store as a WARC file, and the pages of any WARC file as a page store.

What we write: a `response` record for each page (its bytes unpacked, so without the headers that
tell how they were packed), a `conversion` record with the text as models read it, and a `metadata`
record with all else, failures and searches included: read back, the store has the same digest.
What we read: that, and the `response` and `revisit` records of other programs' files, whose text we
extract. Each capture is a version of its address, from its WARC-Date on; one that leads on, or that
says that there is no page any more, is a version without a page.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from http import HTTPStatus
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from pydantic import TypeAdapter, ValidationError

from agent_env.sdk.commands import need_extra
from agent_env.sdk.errors import ConfigError, StorageError, ToolError, first_problem
from agent_env.sdk.inside import (
    GONE,
    MOVED,
    Fetch,
    Search,
    add_search,
    all_dates,
    day_of,
    is_challenge_page,
    is_error_page,
    packed_days,
    read_content,
    shortened_url,
    utc_second,
)
from agent_env.sdk.records import new_file
from agent_env.sdk.web import SqlitePages, page_key

LONGEST_BODY = 32_000_000
_FETCH, _SEARCH = TypeAdapter(Fetch), TypeAdapter(Search)
_KIND = "application/vnd.agent-env.fetch+json"
_SEARCH_KIND = "application/vnd.agent-env.search+json"
_PACKING = frozenset({"content-encoding", "content-length", "transfer-encoding", "connection"})


@dataclass(frozen=True, slots=True)
class WarcImport:
    """What was taken from a WARC file."""

    pages: int
    searches: int
    left_out: dict[str, int]
    """Records by the reason why they were not taken."""
    without_page: dict[str, int] = field(default_factory=dict)
    """Captures that tell of an address at a time and hold no page, by kind."""
    ties: int = 0
    """Versions that the store passes over, as another of the same second was stored later."""


def export_warc(store: SqlitePages, file: Path) -> int:
    """Write all rows and searches; how many pages were written. `.gz` at the end packs it."""
    warcio = _warcio("warcwriter")
    pages = 0
    try:
        with new_file(file) as part, part.open("wb") as out:
            writer = warcio.WARCWriter(out, gzip=file.suffix == ".gz")
            for row in store.fetches(stands_only=False):
                pages += _write_row(writer, store, row)
            for search in store.searches():
                _write_search(writer, search)
    except OSError as exc:
        raise StorageError(f"cannot write {file}: {exc.strerror}") from exc
    return pages


def import_warc(store: SqlitePages, file: Path, note: Callable[[str], None]) -> WarcImport:
    """Add what the file holds; `note` gets a line for each page that could not be read."""
    counts: Counter[str] = Counter()
    ties = store.ties()
    left_out: Counter[str] = Counter()
    waiting = _Waiting()
    for record in chain(_records(file), [None]):
        try:
            for row, body, text in waiting.rows(record):
                counts[_kind_of(row)] += store.add(row, body, text)
            if record is not None and record.rec_type == "revisit":
                counts["pages"] += _add_again(store, record)
            if record is not None and _is(record, "metadata", _SEARCH_KIND):
                add_search(store, _stored(_SEARCH, record))
                counts["searches"] += 1
        except (ToolError, ValueError, OverflowError) as exc:
            is_empty = isinstance(exc, ToolError)
            left_out["pages without text" if is_empty else "records that are broken"] += 1
            note(f"a record was left out: {exc}")
    left_out += waiting.left_out
    pages, searches = counts.pop("pages", 0), counts.pop("searches", 0)
    return WarcImport(pages, searches, dict(left_out), dict(+counts), store.ties() - ties)


def _kind_of(row: Fetch) -> str:
    if row.leads_on:
        return "redirects"
    return "pages that were gone" if row.error and row.valid_from else "pages"


def _add_again(store: SqlitePages, record: Any) -> bool:
    """Store the version that a later capture found unchanged, as one of that time, and whether it
    was new; ValueError where the store does not hold it."""
    head = record.rec_headers
    url, at = head.get_header("WARC-Target-URI") or "", head.get_header("WARC-Date") or ""
    first = head.get_header("WARC-Refers-To-Date") or at
    earlier = page_key(head.get_header("WARC-Refers-To-Target-URI") or url)
    row = store.version(earlier, utc_second(first) or "")
    if row is None or (begin := utc_second(at)) is None:
        raise ValueError(f"the store lacks the page that {url} still was at {at}")
    row = replace(row, asked=page_key(url), fetched_at=at, valid_from=begin, held_until=None)
    body = None if row.digest is None else store.body(row.digest)
    text = None if row.text_digest is None else store.text(row.text_digest)
    return store.add(replace(row, as_of=None, stands=False), body, text)


def _write_row(writer: Any, store: SqlitePages, row: Fetch) -> bool:
    payload = json.dumps({k: v for k, v in asdict(row).items() if v is not None}).encode()
    headers = {"WARC-Date": row.valid_from or row.fetched_at}
    if row.digest is not None and row.text_digest is not None:
        response = writer.create_warc_record(
            row.url,
            "response",
            payload=io.BytesIO(store.body(row.digest)),
            http_headers=_http_headers(row),
            warc_headers_dict=_dated(headers["WARC-Date"]),
        )
        writer.write_record(response)
        headers["WARC-Refers-To"] = response.rec_headers.get_header("WARC-Record-ID")
        text = store.text(row.text_digest).encode()
        _write(writer, row.url, "conversion", "text/plain; charset=utf-8", text, headers)
    _write(writer, row.asked, "metadata", _KIND, payload, headers)
    return row.digest is not None


def _http_headers(row: Fetch) -> Any:
    status = row.status or 200
    try:
        line = f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        line = f"{status} Unknown"
    headers: dict[str, str] = json.loads(row.headers) if row.headers else {}
    headers.setdefault("content-type", row.content_type or "")
    kept_headers = [
        (name, value) for name, value in headers.items() if name not in _PACKING and value
    ]
    return _warcio("statusandheaders").StatusAndHeaders(line, kept_headers, protocol="HTTP/1.1")


def _write_search(writer: Any, search: Search) -> None:
    hits = None if search.hits is None else [hit.model_dump() for hit in search.hits]
    payload = json.dumps({**asdict(replace(search, hits=None)), "hits": hits}).encode()
    address = f"urn:agent-env:search:{search.provider}"
    _write(writer, address, "metadata", _SEARCH_KIND, payload, {"WARC-Date": search.searched_at})


def _write(
    writer: Any, url: str, kind: str, content_type: str, data: bytes, headers: dict[str, str]
) -> None:
    all_headers = {**headers, **_dated(headers["WARC-Date"])}
    writer.write_record(
        writer.create_warc_record(
            url,
            kind,
            payload=io.BytesIO(data),
            warc_content_type=content_type,
            warc_headers_dict=all_headers,
        )
    )


def _dated(at: str) -> dict[str, str]:
    """The date as WARC wants it; what is not a time is left to the writer."""
    try:
        moment = datetime.fromisoformat(at).astimezone(UTC)
    except ValueError:
        return {}
    return {"WARC-Date": moment.strftime("%Y-%m-%dT%H:%M:%SZ")}


def _records(file: Path) -> Iterator[Any]:
    archive = _warcio("archiveiterator")
    try:
        with file.open("rb") as opened:
            yield from archive.ArchiveIterator(opened, check_digests=True)
    except OSError as exc:
        raise ConfigError(f"cannot read {file}: {exc.strerror or exc}") from exc
    except Exception as exc:  # a foreign parser over foreign bytes raises what it likes
        raise ConfigError(f"{file} is not a valid WARC file: {exc}") from exc


@dataclass(frozen=True, slots=True)
class _Response:
    """A page as a response record tells it."""

    identifier: str
    url: str
    at: str
    status: int
    headers: dict[str, str]
    body: bytes


_Row = tuple[Fetch, bytes | None, str | None]


class _Waiting:
    """The response whose further records may come yet: ours are told whole by the metadata that
    follows, of others' the text is extracted."""

    def __init__(self) -> None:
        self.left_out: Counter[str] = Counter()
        self._response: _Response | None = None
        self._text: str | None = None

    def rows(self, record: Any) -> Iterator[_Row]:
        """The rows that are whole with this record, or with the file's end (None)."""
        if record is None or record.rec_type in ("response", "revisit"):
            before, self._text = self._response, None
            is_response = record is not None and record.rec_type == "response"
            self._response = self._read(record) if is_response else None
            if before is not None:
                yield _extract(before)
        elif record.rec_type == "conversion" and self._belongs(record):
            self._text = _content(record).decode()
        elif _is(record, "metadata", _KIND):
            row: Fetch = _stored(_FETCH, record)
            if row.error is not None:
                yield row, None, None
            elif self._response is not None and self._text is not None and self._belongs(record):
                body, self._response = self._response.body, None
                if hashlib.sha256(body).hexdigest() != row.digest:
                    raise ValueError(f"the bytes of {row.asked} are not those of its digest")
                yield row, body, self._text
        elif record.rec_type not in ("warcinfo", "request", "metadata", "conversion"):
            self.left_out[f"{record.rec_type} records"] += 1

    def _belongs(self, record: Any) -> bool:
        refers = record.rec_headers.get_header("WARC-Refers-To")
        return self._response is not None and refers == self._response.identifier

    def _read(self, record: Any) -> _Response | None:
        head, http = record.rec_headers, record.http_headers
        url = head.get_header("WARC-Target-URI") or ""
        status = int(http.get_statuscode() or 0) if http is not None else 0
        if not url.startswith(("http://", "https://")):
            self.left_out["responses that are no pages"] += 1
            return None
        if not (200 <= status < 300 or status in GONE or status in MOVED):
            self.left_out[f"answers with status {status}"] += 1
            return None
        body = record.content_stream().read(LONGEST_BODY + 1)
        if len(body) > LONGEST_BODY:
            self.left_out[f"pages above {LONGEST_BODY / 1e6:g} MB"] += 1
            return None
        if record.digest_checker.passed is False:
            self.left_out["pages that are cut off or changed"] += 1
            return None
        headers = {
            name.lower(): value for name, value in http.headers if "cookie" not in name.lower()
        }
        identifier = head.get_header("WARC-Record-ID") or ""
        return _Response(identifier, url, head.get_header("WARC-Date") or "", status, headers, body)


def _extract(response: _Response) -> _Row:
    """ToolError where the page has no text that can be read."""
    day = response.at[:10]
    if response.status in MOVED:
        target = page_key(urljoin(response.url, response.headers.get("location", "")))
        return _without_page(response, target, f"led to {target} on {day}, which is not stored")
    if response.status in GONE:
        return _without_page(response, None, f"was gone on {day}: it answered {response.status}")
    kind = response.headers.get("content-type", "")
    content = read_content(response.body, kind, response.url)
    if is_challenge_page(content.title, content.text):
        raise ToolError("it shows programs a check and not its content")
    if is_error_page(content.title, content.text):
        return _without_page(response, None, f"was gone on {day}: it only said it is not a page")
    row = Fetch(
        asked=page_key(response.url),
        url=response.url,
        fetched_at=response.at,
        status=response.status,
        content_type=kind,
        headers=json.dumps(response.headers),
        digest=None,  # told by what is stored
        text_digest=None,
        extractor=content.extractor,
        title=content.title,
        language=content.metadata.language,
        published=content.metadata.published,
        modified=content.metadata.modified or day_of(response.headers.get("last-modified")),
        dates=packed_days(
            all_dates(content.metadata.dates, response.url, response.headers, response.at)
        ),
        valid_from=utc_second(response.at),
    )
    return row, response.body, content.text


def _without_page(response: _Response, target: str | None, what: str) -> _Row:
    """A version that is not a page; what the address gives without a day stays as it is."""
    asked = page_key(response.url)
    row = Fetch(
        asked=asked,
        url=target or asked,
        fetched_at=response.at,
        status=response.status,
        error=f"{shortened_url(asked)} {what}",
        valid_from=utc_second(response.at),
        stands=False,
    )
    return row, None, None


def _is(record: Any, kind: str, content_type: str) -> bool:
    return bool(record.rec_type == kind and record.content_type == content_type)


def _stored(kind: TypeAdapter[Any], record: Any) -> Any:
    """What we wrote as JSON; ValueError where it is another thing, or too long."""
    try:
        return kind.validate_json(_content(record))
    except ValidationError as exc:
        raise ValueError(first_problem(exc.errors())) from exc


def _content(record: Any) -> bytes:
    data: bytes = record.content_stream().read(LONGEST_BODY + 1)
    if len(data) > LONGEST_BODY:
        raise ValueError(f"it holds more than {LONGEST_BODY / 1e6:g} MB")
    return data


def _warcio(module: str) -> Any:
    need_extra("warcio", what="a WARC file")
    return import_module(f"warcio.{module}")
