"""The table of a run's episodes: kept up with the traces, and read page by page."""

import pytest

from agent_env.episodes.index import NAME, Index
from agent_env.episodes.index_pages import EpisodeFilter, IndexPages
from agent_env.episodes.run_folder import RunFolder
from agent_env.tasks.sample_files import parse_where


@pytest.fixture
def folder(recorded):
    return RunFolder(recorded)


def names(index, *where):
    return [row.values["condition"] for row in index.rows([parse_where(text) for text in where])]


def test_episodes_are_filtered_and_summed_by_fields_that_there_are(folder):
    index = Index(folder)
    assert index.update() == 5
    assert names(index) == ["base", "explicit+cal", "web", "web+python", "web-once"]
    assert names(index, "exact_match=1") == ["explicit+cal", "web", "web+python"]
    assert names(index, "condition=web,base", "exact_match=1") == ["web"]
    assert names(index, "stop_reason=time") == []
    totals = index.totals([parse_where("condition=web,base")])
    assert (totals.episodes, totals.sums["steps"], totals.sums["input_tokens"]) == (2, 5, 2307)
    assert {name: of["exact_match"] for name, of in totals.metrics.items()} == {"base": 0, "web": 1}


def test_only_what_changed_is_read_again(folder):
    Index(folder).update()
    index = Index(folder)
    assert index.update() == 0
    trace = next(folder.traces())
    trace.write_bytes(b"".join(trace.read_bytes().splitlines(keepends=True)[:-1]))
    assert (index.update(), names(index, "status=unfinished")) == (1, ["base"])
    trace.unlink()
    assert index.update() == 0
    assert "base" not in names(index)


@pytest.mark.parametrize("harm", [b"", b"no database" * 1000])
def test_an_index_that_was_deleted_or_broken_is_made_again(folder, harm):
    Index(folder).update()
    for file in folder.path.glob(f"{NAME}*"):
        file.unlink()
    if harm:
        (folder.path / NAME).write_bytes(harm)
    assert Index(folder).update() == 5


def shown(pages, wanted, offset=0, limit=9):
    return [row.values["condition"] for row in pages.span(wanted, offset, limit).rows]


def test_pages_follow_each_other_without_gap_and_show_a_change(folder):
    index = Index(folder)
    index.update()
    pages = IndexPages(folder.path / NAME, "exact_match")
    everything = shown(pages, EpisodeFilter())
    assert everything == ["base", "explicit+cal", "web", "web+python", "web-once"]
    assert shown(pages, EpisodeFilter(), 0, 2) + shown(pages, EpisodeFilter(), 2, 3) == everything
    assert pages.span(EpisodeFilter(), 4, 9).total == 5
    before = pages.changes
    next((folder.path / "episodes/web").glob("*.jsonl")).unlink()
    index.update()
    index.close()
    assert pages.changes != before
    assert shown(pages, EpisodeFilter(condition="web")) == []
    pages.close()
