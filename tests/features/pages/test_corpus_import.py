"""Documents of other programs become pages that a run searches; what cannot is named."""

import gzip
import json
from unittest.mock import patch

import pyarrow
import pytest
import zstandard
from pyarrow import parquet

from agent_env.errors import ConfigError, StorageError
from agent_env.features.pages.corpus_import import import_files
from agent_env.web.built import BuiltWeb
from agent_env.web.page_store import SqlitePages
from agent_env.web.store_merge import problems

ROWS = [
    {"url": "https://wiki.example/Ada", "title": "Ada", "text": "Born on 10 December 1815."},
    {"url": "https://wiki.example/Bob", "title": "Bob", "text": "Bob came later."},
    {"url": "https://wiki.example/Cid", "title": "Cid", "text": "Cid rode in 1094."},
]


def lines(rows):
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def written(file, data):
    file.write_bytes(data)
    return file


def imported(tmp_path, *files, columns="", strict=False):
    """The last state of each source, the store and what was said."""
    notes, sources = [], {}
    for source in import_files(tmp_path / "c.db", files, columns, notes.append, strict):
        sources[source.name] = source
    return sources, SqlitePages(tmp_path / "c.db", read_only=True), notes


def texts(store):
    return {url: (title, text) for url, title, text in store.texts()}


WANTED = {row["url"]: (row["title"], row["text"]) for row in ROWS}


def as_parquet(file, rows):
    parquet.write_table(pyarrow.Table.from_pylist(rows), file, row_group_size=2)
    return file


def frames(data):
    """Two of them, as tools that append write them."""
    pack, half = zstandard.ZstdCompressor().compress, len(lines(ROWS[:1]))
    return pack(data[:half]) + pack(data[half:])


PACKED = {"jsonl": bytes, "ndjson": bytes, "jsonl.gz": gzip.compress, "jsonl.zst": frames}


@pytest.mark.parametrize("form", [*PACKED, "parquet"])
def test_rows_of_every_form_are_the_same_pages(tmp_path, form):
    file = tmp_path / f"c.{form}"
    if form == "parquet":
        as_parquet(file, ROWS)
    else:
        written(file, PACKED[form](lines(ROWS)))
    sources, store, notes = imported(tmp_path, file)
    source = sources[file.name]
    assert (source.documents, source.pages, source.left_out, source.is_whole) == (3, 3, 0, True)
    assert (texts(store), notes, list(problems(store))) == (WANTED, [], [])


@pytest.mark.parametrize(
    ("row", "columns", "url", "title"),
    [
        ({"docid": 7, "contents": "Seven\nIt is a number."}, "", "corpus.invalid/7", "Seven"),
        ({"_id": "a b/c", "text": "x", "title": "T"}, "", "corpus.invalid/a%20b/c", "T"),
        ({"Link": "HTTPS://Ex.org/ä#top", "Body": "x"}, "", "ex.org/%C3%A4", "x"),
        ({"id": "1", "url": "https://e.org/1", "text": "x"}, "", "e.org/1", "x"),
        ({"href": "https://e.org/2", "prose": "x"}, "url=href,text=prose", "e.org/2", "x"),
        ({"id": "1", "text": "no", "long": "Long.\nx"}, "text=long", "corpus.invalid/1", "Long."),
        ({"id": "1", "html": "<title>Head</title><p>Body of it"}, "", "corpus.invalid/1", "Head"),
    ],
)
def test_columns_are_recognised_or_named(tmp_path, row, columns, url, title):
    _, store, _ = imported(tmp_path, written(tmp_path / "c.jsonl", lines([row])), columns=columns)
    ((found, (found_title, _)),) = texts(store).items()
    assert (found, found_title) == (f"https://{url}", title)


def test_a_folder_gives_its_files_by_name_with_html_extracted(tmp_path):
    folder = tmp_path / "docs"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.md").write_text("# Head\n\nText of 1901.")
    (folder / "deep/b.html").write_bytes("<title>B</title><nav>menu</nav><p>Körper".encode())
    (folder / "c.txt").write_bytes(b"\xef\xbb\xbfplain")
    (folder / "bad.txt").write_bytes(b"\xff\xfe")
    (folder / "left.png").write_bytes(b"png")
    sources, store, notes = imported(tmp_path, folder)
    assert texts(store) == {
        "https://corpus.invalid/a.md": ("Head", "# Head\n\nText of 1901."),
        "https://corpus.invalid/deep/b.html": ("B", "Körper"),
        "https://corpus.invalid/c.txt": ("plain", "plain"),
    }
    assert notes == ["left out docs, bad.txt: its text is not UTF-8 at byte 0"]
    assert store.body(next(f for f in store.fetches() if "deep" in f.url).digest).endswith(b"rper")
    assert (sources["docs"].documents, sources["docs"].left_out) == (4, 1)


BAD = [
    ({"text": "no address"}, "it has no address"),
    ({"url": "https://e.org/2"}, "it has no text"),
    ({"url": "https://e.org/3", "text": "  \n"}, "it has no text"),
    ({"url": "ftp://e.org/4", "text": "x"}, "its address 'ftp://e.org/4' is not http or https"),
    ({"url": "e.org/5", "text": "x"}, "its address 'e.org/5' is not http or https"),
    ({"url": "https://", "text": "x"}, "its address 'https://' is not http or https"),
    ({"url": "https://e.org/6", "text": ["x"]}, "its text is list, not text"),
    ({"url": "https://e.org/7", "text": "half \ud800"}, "its text has half a character at 5"),
    (b"{'url': 1}", "it is not JSON: "),
    (b'{"url": "https://e.org/8", "text": "\xff"}', "it is not UTF-8: "),
    (b"[1, 2]", "it is not JSON: not an object"),
    (b"", "it is empty"),
    (ROWS[0] | {"text": "another"}, "another document has its address https://wiki.example/Ada"),
]


@pytest.mark.parametrize(("row", "reason"), BAD)
def test_a_row_that_cannot_be_a_page_is_named_and_stops_only_a_strict_import(tmp_path, row, reason):
    bad = row + b"\n" if isinstance(row, bytes) else lines([row])
    file = written(tmp_path / "c.jsonl", lines(ROWS[:1]) + bad + lines(ROWS[1:]))
    sources, store, (note,) = imported(tmp_path, file)
    assert texts(store) == WANTED
    assert note.startswith(f"left out c.jsonl, row 2: {reason}")
    assert (sources["c.jsonl"].documents, sources["c.jsonl"].left_out) == (4, 1)
    (tmp_path / "c.db").unlink()
    with pytest.raises(ConfigError) as error:
        imported(tmp_path, file, strict=True)
    assert str(error.value).startswith(f"c.jsonl, row 2: {reason}")
    assert "https://wiki.example/Ada" in texts(SqlitePages(tmp_path / "c.db"))


def test_bytes_that_are_no_text_in_parquet_are_named(tmp_path):
    column = pyarrow.array([b"good", b"\xff\xfe"]).view(pyarrow.utf8())
    parquet.write_table(pyarrow.table({"id": ["a", "b"], "text": column}), tmp_path / "c.parquet")
    _, store, notes = imported(tmp_path, tmp_path / "c.parquet")
    assert list(texts(store)) == ["https://corpus.invalid/a"]
    assert notes == ["left out c.parquet, row 2: its text is not UTF-8 at byte 0"]


def many(count):
    return [{"id": f"{n}", "text": f"page {n}"} for n in range(count)]


def test_a_file_that_is_cut_off_keeps_what_was_read_and_the_whole_one_goes_on(tmp_path):
    packed = gzip.compress(lines(many(1300)), mtime=0)
    cut = written(tmp_path / "c.jsonl.gz", packed[: len(packed) // 2])
    with pytest.raises(ConfigError, match=r"c\.jsonl\.gz cannot be read after row (\d+): Compr"):
        imported(tmp_path, cut)
    count = SqlitePages(tmp_path / "c.db").size()
    assert 0 < count < 1300
    with pytest.raises(ConfigError, match=rf"holds {count} documents of c\.jsonl\.gz and not"):
        BuiltWeb.opened(tmp_path / "c.db")
    sources, store, _ = imported(tmp_path, written(tmp_path / "c.jsonl.gz", packed))
    source = sources["c.jsonl.gz"]
    assert (source.pages, source.duplicates, store.size()) == (1300 - count, count, 1300)
    BuiltWeb.opened(tmp_path / "c.db").close()


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_what_was_stopped_goes_on_where_it_was_and_what_is_whole_is_not_read_again(tmp_path, form):
    file = tmp_path / f"c.{form}"
    as_parquet(file, many(1300)) if form == "parquet" else written(file, lines(many(1300)))
    states = import_files(tmp_path / "c.db", [file], "", print)
    assert [next(states).documents for _ in range(3)] == [0, 500, 1000]
    states.close()  # as Ctrl-C does
    again = [source.documents for source in import_files(tmp_path / "c.db", [file], "", print)]
    assert again == [1000, 1300, 1300]
    sources, store, _ = imported(tmp_path, file)
    assert sources[file.name].pages == store.size() == 1300


def test_a_disk_that_is_full_keeps_what_was_imported(tmp_path):
    file = written(tmp_path / "c.jsonl", lines(many(5000)))
    states = import_files(tmp_path / "c.db", [file], "", print)
    assert [next(states).documents for _ in range(2)] == [0, 500]
    original = SqlitePages.put_new

    def on_a_full_disk(store, *arguments):
        store.connection.execute("PRAGMA max_page_count = 10")
        return original(store, *arguments)

    with (
        patch.object(SqlitePages, "put_new", on_a_full_disk),
        pytest.raises(StorageError, match=r"cannot write the page store .*full"),
    ):
        list(states)
    assert SqlitePages(tmp_path / "c.db").size() == 500
    assert imported(tmp_path, file)[1].size() == 5000


def test_html_of_a_folder_is_read_in_the_encoding_that_it_names(tmp_path):
    folder = tmp_path / "site"
    folder.mkdir()
    page = '<html><head><meta charset="{}"><title>Łódź</title></head><p>Żółw, 3 May.</p></html>'
    written(folder / "a.html", page.format("iso-8859-2").encode("iso-8859-2"))
    written(folder / "b.html", page.format("utf-8").encode())
    written(folder / "c.html", "<html><p>Żółw</p></html>".encode("iso-8859-2"))
    _, store, notes = imported(tmp_path, folder)
    assert {title for title, _ in texts(store).values()} == {"Łódź"}
    assert all("Żółw, 3 May." in text for _, text in texts(store).values())
    assert notes == ["left out site, c.html: its html is not UTF-8 at byte 9"]


def test_many_documents_without_the_faster_index_say_what_makes_search_fast(tmp_path, monkeypatch):
    monkeypatch.setattr("agent_env.web.built.MANY", 2)
    monkeypatch.setattr("agent_env.web.built.find_spec", lambda name: None)
    _, _, notes = imported(tmp_path, written(tmp_path / "c.jsonl", lines(ROWS)))
    assert notes == ["3 pages are searched by FTS5; faster: pip install 'agent-env[search]'"]


def test_parquet_without_a_text_column_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"has no text column; its columns: id, n"):
        imported(tmp_path, as_parquet(tmp_path / "c.parquet", [{"id": "1", "n": 2}]))


def test_a_plain_document_is_stored_once(tmp_path):
    _, store, _ = imported(tmp_path, written(tmp_path / "c.jsonl", lines(ROWS)))
    assert store.connection.execute("SELECT count(*) FROM bodies").fetchone() == (0,)
    row = next(store.fetches())
    assert (row.digest, store.body(row.digest)) == (row.text_digest, ROWS[0]["text"].encode())
