"""A run as one file that others can check: `pack` writes it, `opened` reads it.

A pack is a zip: below run/ the files of the run that its claims rest on, and digests.json, the
SHA-256 of each. Names are sorted and times fixed, so that the same run gives the same bytes (with
the same zlib; the list of digests is the same everywhere).
Guaranteed of packs of others: a pack is data. Names that lead elsewhere, links, encrypted or
doubled entries, and more bytes than are stated are refused before anything is used; what is
unpacked goes into a new folder that is removed.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
import stat
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from pydantic import TypeAdapter, ValidationError

from agent_env.features.verify.claims import (
    REPORT,
    Case,
    Verification,
    VerifyOptions,
    report_of,
    verify,
)
from agent_env.sdk.commands import Opt
from agent_env.sdk.errors import ConfigError, DatasetError, StorageError, first_problem
from agent_env.sdk.inside import (
    BEGUN,
    LARGEST_SETTINGS,
    MOST_LINES,
    PLACES,
    check_database,
    keys_here,
    reading,
)
from agent_env.sdk.records import new_file, read_file
from agent_env.sdk.run import Run

DIGESTS: Final = "digests.json"
FOLDER = "run/"
FIXED_TIME = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip can hold."""
MOST_FILES = 1_000_000
LARGEST_FILE = 512 * 1024 * 1024
LARGEST = 8 * 1024 * 1024 * 1024
"""Bytes of all files together."""
MOST_PACKED_LINES = 10_000_000
"""Lines of all files together, databases without."""
CHUNK = 1 << 20
_PLAIN = re.compile(r"digests\.json|run(?:/[^/\\\x00-\x1f]{1,255}){1,4}")
_LISTED = TypeAdapter(dict[str, str])
"""SHA-256 in hexadecimal, by the file's name."""
_JOURNALS = ("-journal", "-wal", "-shm")

SECRETS = {
    "a private key": re.compile(rb"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----"),
    "a key of OpenAI or Anthropic": re.compile(rb"sk-(?<=\bsk-)[A-Za-z0-9_-]{20}"),
    "a key of Google": re.compile(rb"AIza(?<=\bAIza)[A-Za-z0-9_-]{35}"),
    "a key of AWS": re.compile(rb"AKIA(?<=\bAKIA)[A-Z0-9]{16}\b"),
    "a token of GitHub": re.compile(rb"gh[pousr]_(?<=\bgh[pousr]_)[A-Za-z0-9]{36}"),
    "a token of Hugging Face": re.compile(rb"hf_(?<=\bhf_)[A-Za-z0-9]{30}"),
    "a token of Slack": re.compile(rb"xox[abprs]-(?<=\bxox[abprs]-)[A-Za-z0-9-]{10}"),
    "an authorization header": re.compile(
        rb"[Aa]uthorization(?<=\b[Aa]uthorization)['\"]?: ?['\"]?Bearer [\w.-]{16}"
    ),
}
"""Patterns of what must not be given away, by what it is. Their first letters stand before the look
back to where the word begins: a search leaps to letters, and not to the beginnings of words."""
_LICENCE = re.compile(rb"""<(?:a|link)\s[^<>]{0,500}\brel=["']?license\b[^<>]{0,500}>""", re.I)
_ADDRESS = re.compile(rb"""\bhref=["']?([^"'\s<>]{1,300})""", re.I)


@dataclass(frozen=True, slots=True)
class PackOptions:
    run: Annotated[Path, Opt("A run's folder.", metavar="RUN", argument=True)]
    out: Annotated[Path | None, Opt("The file to write.", shown="RUN.zip")] = None
    allow_secrets: Annotated[
        bool, Opt("Pack it although something in it looks like a key; after you have looked.")
    ] = False


@dataclass(frozen=True, slots=True)
class Packed:
    file: Path
    sha256: str
    files: int
    pages: Counter[str]
    """Stored pages by the licence that they state; "" for those that state none."""

    def lines(self) -> Iterator[str]:
        yield f"{self.files} files in {self.file}"
        yield f"sha256 {self.sha256}"
        if self.pages:
            stated = sum(number for licence, number in self.pages.items() if licence)
            yield (
                f"it holds {self.pages.total()} pages of others; {stated} state a licence, "
                f"{self.pages['']} none: check whether you may share them"
            )
            yield from (f"  {n} pages: {name}" for name, n in sorted(self.pages.items()) if name)


def pack(options: PackOptions, note: Callable[[str], None]) -> Packed:
    """Writes the pack of a run, scored anew. ConfigError for a run that goes on, for one without an
    episode, and where something in it looks like a key."""
    from agent_env.sdk.run import score_folder

    run = Run.open(options.run)
    if run.is_locked:
        raise ConfigError(f"{run.path} is still running; pack it when it has ended")
    if next(run.traces(), None) is None:
        raise ConfigError(f"{run.path} has no episode yet")
    if run.manifest.imported is None:
        score_folder(run, note)
    out = options.out or run.path.absolute().with_name(f"{run.path.absolute().name}.zip")
    with tempfile.TemporaryDirectory(prefix="agent-env-pack-") as scratch:
        files = _files_of(run, Path(scratch))
        if not options.allow_secrets:
            _refuse_secrets(run, files)
        digests = {name: sha256_of(file) for name, file in files.items()}
        listed = Path(scratch) / DIGESTS
        listed.write_text(json.dumps(digests, indent=1, sort_keys=True) + "\n")
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            whole = {DIGESTS: listed, **files}
            with (
                new_file(out) as part,
                zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive,
            ):
                for name in sorted(whole):
                    entry = zipfile.ZipInfo(name, FIXED_TIME)
                    entry.compress_type = zipfile.ZIP_DEFLATED
                    entry.create_system = 3
                    entry.external_attr = (stat.S_IFREG | 0o644) << 16
                    archive.writestr(entry, read_file(whole[name].parent, whole[name]))
        except OSError as exc:
            raise ConfigError(f"cannot write {out}: {exc.strerror}") from exc
        pages = _licences(files.get(f"{FOLDER}pages.db"))
    return Packed(out, sha256_of(out), len(files), pages)


def _files_of(run: Run, scratch: Path) -> dict[str, Path]:
    """The files by their names in the pack; databases as copies without journals."""
    from agent_env.sdk.inside import store_path

    names = ["run.json", "samples.jsonl", "materials.jsonl", "scores.jsonl", "scored.json", BEGUN]
    names += [use.file for use in run.manifest.contexts]
    names += [
        str(file.relative_to(run.path))
        for place in PLACES
        for file in (run.path / place).glob("*/*.jsonl")
    ]
    files = {}
    for name in names:
        if (run.path / name).exists():
            run.read(name)  # DatasetError for a link that leads elsewhere, and for no plain file
            files[FOLDER + name] = run.path / name
    if run.manifest.imported is None:
        (scratch / REPORT).write_text(json.dumps(report_of(run), indent=1) + "\n")
        files[FOLDER + REPORT] = scratch / REPORT
    pages = run.pages if run.pages.exists() else store_path(run.path)
    stores = {"texts.db": run.texts, "pages.db": pages}
    for name, store in stores.items():
        if store.exists():
            files[FOLDER + name] = scratch / name
            _copy_database(store, scratch / name)
    return files


def _copy_database(source: Path, target: Path) -> None:
    """A copy without free pages and journals; the header does not say which SQLite wrote it."""
    try:
        check_database(source.parent, source)
        with closing(reading(source)) as opened:
            opened.execute("VACUUM INTO ?", (str(target),))
    except (sqlite3.Error, OSError) as exc:
        raise StorageError(f"cannot copy {source}: {exc}") from exc
    with target.open("r+b") as file:  # sqlite.org/fileformat.html, 1.3: change counter, version
        for offset in (24, 92, 96):
            file.seek(offset)
            file.write(b"\0\0\0\1")


def sha256_of(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _refuse_secrets(run: Run, files: dict[str, Path]) -> None:
    """ConfigError where something readable holds a key, or what looks like one."""
    found, ours = dict[str, None](), keys_here()
    for name, data in _contents(files):
        found |= {f"the value of {key} in {name}": None for key in ours if ours[key] in data}
        for what, pattern in SECRETS.items():
            if pattern.search(data):
                found[f"{what} in {name}"] = None
    if found:
        raise ConfigError(
            f"{run.path} is not packed, as there seems to be {'; '.join(list(found)[:5])}. "
            "Look; where it is none, --allow-secrets packs it"
        )


def _contents(files: dict[str, Path]) -> Iterator[tuple[str, bytes]]:
    """What others can read in the files; texts and pages of databases unpacked."""
    from agent_env.sdk.trace import Texts
    from agent_env.sdk.web import SqlitePages

    for name, file in files.items():
        if name == f"{FOLDER}texts.db":
            with closing(Texts(file)) as texts:
                for digest, text in texts.items():
                    yield f"the text {digest[:12]} of texts.db", text.encode(errors="replace")
        elif name == f"{FOLDER}pages.db":
            with closing(SqlitePages(file, read_only=True)) as store:
                for row in store.fetches(stands_only=False):
                    if row.digest is not None:
                        yield f"the page {row.asked}", store.body(row.digest)
                    if row.headers is not None:
                        yield f"the headers of {row.asked}", row.headers.encode()
        else:
            yield name.removeprefix(FOLDER), read_file(file.parent, file)


def _licences(store_file: Path | None) -> Counter[str]:
    """Pages by the licence that they link to; none of a sealed web, whose pages are ours."""
    from agent_env.sdk.web import SqlitePages

    licences: Counter[str] = Counter()
    if store_file is None:
        return licences
    with closing(SqlitePages(store_file, read_only=True)) as store:
        for row in store.fetches():
            if row.digest is not None and row.extractor != "rendered":
                tag = _LICENCE.search(store.body(row.digest))
                address = _ADDRESS.search(tag[0]) if tag else None
                licences[address[1].decode(errors="replace") if address else ""] += 1
    return licences


# Reading ------------------------------------------------------------------------------------------


async def verify_target(options: VerifyOptions, note: Callable[[str], None]) -> Verification:
    """Judges the claims of a pack, or of a run's folder."""
    from agent_env.sdk.inside import check_trust

    with opened(options.target) as case:
        case.dataset = options.dataset
        if options.trust_run:
            check_trust(case.run, case.run.manifest, note, confirmed=True)
        return await verify(case)


@contextmanager
def opened(target: Path) -> Iterator[Case]:
    """The run of a folder, or of a pack, for as long as it is needed."""
    if target.is_dir():
        # absolute, so that a claim's words that are taken for the path are the path
        yield Case(Run.open(target.absolute()))
        return
    with tempfile.TemporaryDirectory(prefix="agent-env-pack-") as scratch:
        digests = _unpack(target, Path(scratch))
        if digests.pop(DIGESTS, None) is None:
            raise DatasetError(target, None, f"is not a pack of a run: it has no {DIGESTS}")
        try:
            listed = read_file(Path(scratch), Path(scratch) / DIGESTS, LARGEST_SETTINGS)
            stated = _LISTED.validate_json(listed)
        except ValidationError as exc:
            reason = f"is not a list of digests: {first_problem(exc.errors())}"
            raise DatasetError(f"{target}: {DIGESTS}", None, reason) from exc
        findings = []
        for name in sorted({*digests, *stated}):
            if name not in stated:
                findings.append(f"{name.removeprefix(FOLDER)}: is not in {DIGESTS}")
            elif name not in digests:
                findings.append(f"{name.removeprefix(FOLDER)}: is missing")
            elif digests[name] != stated[name]:
                findings.append(f"{name.removeprefix(FOLDER)}: was changed after it was packed")
        run = Run.open(Path(scratch) / FOLDER)
        yield Case(run, file_findings=tuple(findings), files=len(stated))


def _unpack(file: Path, folder: Path) -> dict[str, str]:
    """The pack's files into the folder; their digests by name. DatasetError for what no pack is."""
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            for entry in entries:
                _check_entry(file, entry)
            if twice := [n for n, c in Counter(e.filename for e in entries).items() if c > 1]:
                raise DatasetError(file, None, f"has two files named {twice[0]!r}")
            size, most = sum(e.file_size for e in entries), 100 * file.stat().st_size
            if len(entries) > MOST_FILES or size > min(LARGEST, LARGEST_FILE + most):
                raise DatasetError(file, None, f"would be {size:,} bytes: larger than any pack")
            digests, lines = dict[str, str](), 0
            for entry in entries:
                digests[entry.filename], own = _extract(archive, entry, folder)
                lines += own
                if lines > MOST_PACKED_LINES:
                    raise ValueError(f"it has more than {MOST_PACKED_LINES:,} lines")
            return digests
    except FileNotFoundError as exc:
        raise ConfigError(f"there is no run and no pack {file}") from exc
    except (zipfile.BadZipFile, EOFError, NotImplementedError, OSError, RuntimeError,
            ValueError) as exc:  # fmt: skip
        raise DatasetError(file, None, f"is not a pack that can be read: {exc}") from exc


def _check_entry(file: Path, entry: zipfile.ZipInfo) -> None:
    """DatasetError for an entry that no pack has."""
    name, kind = entry.filename, stat.S_IFMT(entry.external_attr >> 16)
    size, is_packed = entry.file_size, entry.compress_type in (0, zipfile.ZIP_DEFLATED)
    most = LARGEST_SETTINGS if name in (DIGESTS, f"{FOLDER}run.json") else LARGEST_FILE
    problems = {
        "leads elsewhere": not _PLAIN.fullmatch(name) or {".", ".."} & set(name.split("/")),
        "is not a plain file": kind not in (0, stat.S_IFREG),
        "is the journal of a database": name.endswith(_JOURNALS),
        "is encrypted, or packed in a way that no pack is": entry.flag_bits & 1 or not is_packed,
        f"would be {size:,} bytes; at most {most:,} are read": size > most,
    }
    for problem, holds in problems.items():
        if holds:
            raise DatasetError(file, None, f"its entry {name!r} {problem}")


def _extract(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, folder: Path) -> tuple[str, int]:
    """Writes one file, of no more bytes than are stated; its digest and its lines."""
    target, seen, size, lines = folder / entry.filename, hashlib.sha256(), 0, 0
    target.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(entry) as packed, target.open("xb") as written:
        while data := packed.read(CHUNK):
            size += len(data)
            if size > entry.file_size:
                raise ValueError(f"{entry.filename} is larger than it says")
            if not entry.filename.endswith(".db"):
                lines += data.count(b"\n")
            if lines > MOST_LINES:
                raise ValueError(f"{entry.filename} has more than {MOST_LINES:,} lines")
            seen.update(data)
            written.write(data)
    return seen.hexdigest(), lines
