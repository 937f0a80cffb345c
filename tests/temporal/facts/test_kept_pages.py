"""Pages of an import survive a failure, and only of the same import."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_env.errors import ConfigError, StorageError
from agent_env.temporal.facts.kept_pages import ImportQuery, ItemPage, KeptPages, Kind

QUERY = ImportQuery(
    endpoint="http://127.0.0.1/sparql",
    kinds=(Kind(name="battle", item="Q178561"),),
    languages=("en",),
    sitelinks=10,
    page_size=2,
)
PAGE = ItemPage(kind="battle", last="Q2", more=True, items=())


def test_pages_are_there_when_opened_again(tmp_path: Path) -> None:
    kept = KeptPages(tmp_path / "pages.jsonl")
    assert kept.open(QUERY) == []
    kept.add(PAGE)
    assert KeptPages(kept.file).open(QUERY) == [PAGE]


def test_a_cut_line_is_dropped_and_written_anew(tmp_path: Path) -> None:
    kept = KeptPages(tmp_path / "pages.jsonl")
    kept.open(QUERY)
    kept.add(PAGE)
    with kept.file.open("a") as file:
        file.write('{"kind":"batt')
    assert kept.open(QUERY) == [PAGE]
    kept.add(PAGE)
    assert kept.open(QUERY) == [PAGE, PAGE]


def test_pages_of_another_import_are_refused_and_kept(tmp_path: Path) -> None:
    kept = KeptPages(tmp_path / "pages.jsonl")
    kept.open(QUERY)
    kept.add(PAGE)
    with pytest.raises(ConfigError, match="of an import that asked for something else"):
        kept.open(QUERY.model_copy(update={"sitelinks": 11}))
    assert kept.open(QUERY) == [PAGE]


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "pages.jsonl"
    file.write_text("my diary\n")
    with pytest.raises(ConfigError, match="holds no pages of an import; delete it"):
        KeptPages(file).open(QUERY)
    assert file.read_text() == "my diary\n"


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"cannot write .*pages\.jsonl"):
        KeptPages(tmp_path / "nowhere/pages.jsonl").open(QUERY)
