"""Documents of a fixed web: rows of JSON Lines or Parquet, or files of a folder, as pages.

Columns are recognised by their usual names, or named by the user. A document without an address
gets one of its identifier or file name, on a host that no resolver knows. Files are read as a
stream; what cannot be a page is given with the reason, and reading continues.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.parse import quote

import zstandard

from agent_env.sdk.commands import need_extra
from agent_env.sdk.errors import ConfigError, ToolError
from agent_env.sdk.inside import PLAIN, all_dates, declared, decode, read_content
from agent_env.sdk.web import Page, page_key

HOST = "https://corpus.invalid/"
"""Where documents without an address are."""
LONGEST = 32_000_000
"""Bytes of a document; a longer line ends the reading."""
ROWS = 500
COLUMNS: dict[str, tuple[str, ...]] = {
    "url": ("url", "link", "page_url", "source_url"),
    "id": ("id", "docid", "doc_id", "_id", "pageid", "page_id", "pid"),
    "title": ("title", "name", "headline"),
    "text": ("text", "contents", "content", "passage", "body", "article"),
    "html": ("html", "raw_html"),
}
"""What columns are called, in lower case, the likelier name first."""
FOLDER_KINDS = {
    ".html": "text/html", ".htm": "text/html", ".xhtml": "text/html", ".md": "text/markdown",
    ".markdown": "text/markdown", ".txt": "text/plain",
}  # fmt: skip
_PACKED = (".gz", ".zst")
_LINES = (".jsonl", ".ndjson", *(f"{kind}{pack}" for kind in (".jsonl", ".ndjson", ".json")
                                 for pack in _PACKED))  # fmt: skip
FORMS = ".jsonl, .jsonl.gz, .jsonl.zst, .parquet, .warc, .warc.gz, or a folder of .html, .md, .txt"


def form_of(file: Path) -> str:
    """warc, lines, parquet or folder; ConfigError where it is none of these."""
    name = file.name.lower()
    if file.is_dir():
        return "folder"
    if not file.is_file():
        raise ConfigError(f"there is no file {file}")
    if name.endswith((".warc", ".warc.gz")):
        return "warc"
    if name.endswith(_LINES):
        return "lines"
    if name.endswith((".parquet", ".pq")):
        return "parquet"
    raise ConfigError(f"{file} does not end like a file that can be imported: {FORMS}")


def parse_columns(text: str) -> dict[str, str]:
    """What the user calls them; ConfigError where a part is not ROLE=NAME."""
    named = {}
    for part in filter(None, text.split(",")):
        role, equals, name = part.strip().partition("=")
        if role not in COLUMNS or not equals or not name:
            raise ConfigError(
                f"--columns '{part}' is not ROLE=NAME, such as text=contents; roles: "
                f"{', '.join(COLUMNS)}"
            )
        named[role] = name
    return named


def source_digest(file: Path) -> str:
    """SHA-256 of a file's bytes; of a folder, over the names and bytes of its documents."""
    try:
        if file.is_file():
            with file.open("rb") as opened:
                return hashlib.file_digest(opened, "sha256").hexdigest()
        total = hashlib.sha256()
        for each in _files_of(file):
            part = hashlib.sha256(each.read_bytes()).hexdigest()
            total.update(f"{part} {each.relative_to(file).as_posix()}\n".encode())
        return total.hexdigest()
    except OSError as exc:
        raise ConfigError(f"cannot read {exc.filename or file}: {exc.strerror}") from exc


def documents(
    file: Path, named: Mapping[str, str], skipped: int, at: str
) -> Iterator[tuple[str, Page | str]]:
    """The documents of a source after the first `skipped` of them: where each stands, such as
    `row 12`, and it as a page of the time `at`, or why it is none. ConfigError where the source
    cannot be read, or not to its end."""
    rows = {"lines": _rows_of_lines, "parquet": _rows_of_parquet, "folder": _rows_of_folder}
    for place, row in rows[form_of(file)](file, named, skipped):
        try:
            yield place, row if isinstance(row, str) else _page(row, at)
        except (ValueError, ToolError) as exc:
            yield place, str(exc)


_Row = tuple[str, Mapping[str, Any] | str]
"""The place, and the values by role or what is wrong."""


def _page(row: Mapping[str, Any], at: str) -> Page:
    """ValueError where the row has no text or no address; ToolError for unreadable HTML."""
    texts = {role: _text(role, value) for role, value in row.items()}
    url = _address(texts.get("url", ""), texts.get("id", ""))
    title, text, html = texts.get("title", ""), texts.get("text", ""), texts.get("html", "")
    kind = row.get("kind") or ("text/html" if html.strip() else "text/plain")
    fields: dict[str, Any] = {"extractor": PLAIN}
    body = (html if html.strip() else text).encode()
    if kind == "text/html":
        content = read_content(body, f"{kind}; charset=utf-8", url)
        title, text = title or content.title, content.text
        fields = {
            "language": content.metadata.language,
            "published": content.metadata.published,
            "modified": content.metadata.modified,
            "dates": all_dates(content.metadata.dates, url, {}, at),
            "extractor": content.extractor,
        }
    if not text.strip():
        raise ValueError("it has no text")
    first = next(line for line in text.splitlines() if line.strip())
    return Page(
        url=url,
        status=200,
        content_type=f"{kind}; charset=utf-8",
        body=body,
        title=" ".join((title or first.lstrip("# ")).split())[:200],
        text=text,
        fetched_at=at,
        **fields,
    )


def _text(role: str, value: object) -> str:
    if isinstance(value, bytes):
        try:
            value = value.decode()
        except UnicodeDecodeError as exc:
            raise ValueError(f"its {role} is not UTF-8 at byte {exc.start}") from exc
    if isinstance(value, int) and role == "id":
        return str(value)
    if not isinstance(value, str | None):
        raise ValueError(f"its {role} is {type(value).__name__}, not text")
    text = (value or "").replace("\x00", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError as exc:
        raise ValueError(f"its {role} has half a character at {exc.start}") from exc
    if len(text) > LONGEST:
        raise ValueError(f"its {role} has more than {LONGEST:,} characters")
    return text


def _address(url: str, identifier: str) -> str:
    if url.strip():
        key = page_key(url)
        if not key.startswith(("http://", "https://")) or "://" not in key[: len(key) - 1]:
            raise ValueError(f"its address {url.strip()[:80]!r} is not http or https")
        return key
    if not identifier.strip():
        raise ValueError("it has no address")
    return HOST + quote(identifier.strip(), safe="/")


def _roles(names: Sequence[str], named: Mapping[str, str], file: Path) -> dict[str, str]:
    """The column of each role; ConfigError where there is none of the text, or of the address."""
    lower = {name.lower(): name for name in reversed(names)}
    found = {
        role: next((lower[name] for name in usual if name in lower), None)
        for role, usual in COLUMNS.items()
    }
    for role, name in named.items():
        if name not in names:
            raise ConfigError(f"{file} has no column {name}; its columns: {', '.join(names)}")
        found[role] = name
    roles = {role: name for role, name in found.items() if name is not None}
    for any_of, what in ((("text", "html"), "text"), (("url", "id"), "address")):
        if not roles.keys() & set(any_of):
            raise ConfigError(
                f"{file} has no {what} column; its columns: {', '.join(names)}; name it: "
                f"--columns {any_of[0]}=NAME"
            )
    return roles


# JSON Lines -------------------------------------------------------------------------------------


def _rows_of_lines(file: Path, named: Mapping[str, str], skipped: int) -> Iterator[_Row]:
    number, roles = 0, None
    try:
        with file.open("rb") as packed, _unpacked(file, packed) as lines:
            while line := lines.readline(LONGEST + 1):
                if len(line) > LONGEST:
                    raise ConfigError(f"{file}: line {number + 1} is longer than {LONGEST:,} bytes")
                number += 1
                if number <= skipped and roles is not None:
                    continue
                try:
                    row = json.loads(line)
                    if not isinstance(row, dict):
                        raise ValueError("not an object")
                except (ValueError, RecursionError) as exc:
                    what = "UTF-8" if isinstance(exc, UnicodeDecodeError) else "JSON"
                    reason = f"it is not {what}: {exc}" if line.strip() else "it is empty"
                    if number > skipped:
                        yield f"row {number}", reason
                    continue
                if roles is None:
                    roles = _roles(list(row), named, file)
                if number > skipped:
                    yield f"row {number}", {role: row.get(name) for role, name in roles.items()}
    except (EOFError, zstandard.ZstdError, gzip.BadGzipFile, OSError) as exc:
        what = getattr(exc, "strerror", None) or str(exc)
        raise ConfigError(f"{file} cannot be read after row {number}: {what}") from exc


def _unpacked(file: Path, packed: BinaryIO) -> BinaryIO:
    if file.suffix == ".gz":
        return cast("BinaryIO", gzip.GzipFile(fileobj=packed))
    if file.suffix == ".zst":
        from io import BufferedReader

        reader = zstandard.ZstdDecompressor(max_window_size=2**31).stream_reader(
            packed, read_across_frames=True
        )
        return BufferedReader(reader, 1 << 20)
    return packed


# Parquet ----------------------------------------------------------------------------------------


def _rows_of_parquet(file: Path, named: Mapping[str, str], skipped: int) -> Iterator[_Row]:
    need_extra("pyarrow", what=f"{file}")
    import pyarrow
    from pyarrow import parquet

    number = 0
    try:
        opened = parquet.ParquetFile(file)
        roles = _roles(opened.schema_arrow.names, named, file)
        groups = list(range(opened.num_row_groups))
        while (
            groups and (rows := opened.metadata.row_group(groups[0]).num_rows) <= skipped - number
        ):
            number, groups = number + rows, groups[1:]
        for batch in opened.iter_batches(ROWS, groups, columns=list(dict.fromkeys(roles.values()))):
            columns = {role: batch.column(name) for role, name in roles.items()}
            for place in range(batch.num_rows):
                number += 1
                if number > skipped:
                    yield (
                        f"row {number}",
                        {r: _cell(column, place) for r, column in columns.items()},
                    )
    except (OSError, pyarrow.ArrowException) as exc:
        raise ConfigError(f"{file} cannot be read after row {number}: {exc}") from exc


def _cell(column: Any, place: int) -> object:
    try:
        return column[place].as_py()
    except UnicodeDecodeError:
        return b"\xff"  # is refused as what it is


# A folder ---------------------------------------------------------------------------------------


def _rows_of_folder(folder: Path, named: Mapping[str, str], skipped: int) -> Iterator[_Row]:
    if named:
        raise ConfigError(f"--columns goes with rows; {folder} is a folder")
    files = _files_of(folder)
    if not files:
        raise ConfigError(f"{folder} has no file that ends with {', '.join(FOLDER_KINDS)}")
    for file in files[skipped:]:
        place = file.relative_to(folder).as_posix()
        kind = FOLDER_KINDS[file.suffix.lower()]
        try:
            data = file.read_bytes()
        except OSError as exc:
            yield place, f"it cannot be read: {exc.strerror}"
            continue
        if kind == "text/html":
            html = decode(data) if declared(data) else data
            yield place, {"id": place, "html": html, "kind": kind}
        else:
            yield place, {"id": place, "text": data.removeprefix(b"\xef\xbb\xbf"), "kind": kind}


def _files_of(folder: Path) -> list[Path]:
    files = (each for each in folder.rglob("*") if each.suffix.lower() in FOLDER_KINDS)
    return sorted(each for each in files if each.is_file())
