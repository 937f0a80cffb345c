"""The table of episodes a page at a time."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_env.episodes.index import NAME, Index
from agent_env.episodes.index_pages import EpisodeFilter, IndexPages
from agent_env.episodes.run_folder import RunFolder

RUN = Path(__file__).parents[1] / "data/runs/version-1"


@pytest.fixture
def pages(tmp_path: Path) -> Iterator[IndexPages]:
    shutil.copytree(RUN, tmp_path / "run")
    index = Index(RunFolder(tmp_path / "run"))
    index.update()
    index.close()
    found = IndexPages(tmp_path / "run" / NAME, "exact_match")
    yield found
    found.close()


def names(pages: IndexPages, wanted: EpisodeFilter, offset: int = 0, limit: int = 9) -> list[str]:
    return [row.values["condition"] for row in pages.span(wanted, offset, limit).rows]


def test_pages_follow_each_other_without_gap(pages: IndexPages) -> None:
    everything = names(pages, EpisodeFilter())
    assert everything == ["base", "explicit+cal", "web", "web+ci", "web-once"]
    assert names(pages, EpisodeFilter(), 0, 2) + names(pages, EpisodeFilter(), 2, 3) == everything
    assert pages.span(EpisodeFilter(), 4, 9).total == 5


def test_verdicts_are_those_of_the_main_metric(pages: IndexPages) -> None:
    assert names(pages, EpisodeFilter(verdict="right")) == ["explicit+cal", "web", "web+ci"]
    assert names(pages, EpisodeFilter(verdict="wrong")) == ["base", "web-once"]
    assert names(pages, EpisodeFilter(verdict="unscored")) == []


def test_rows_are_sorted_by_figures_and_metrics(pages: IndexPages) -> None:
    steps = [r.values["steps"] for r in pages.span(EpisodeFilter(sort="-steps"), 0, 9).rows]
    assert steps == sorted(steps, reverse=True)
    assert names(pages, EpisodeFilter(sort="exact_match"), 0, 2) == ["base", "web-once"]
    assert names(pages, EpisodeFilter(sort="no such thing")) == names(pages, EpisodeFilter())


def test_neighbours_are_those_within_the_filter(pages: IndexPages) -> None:
    row = pages.span(EpisodeFilter(condition="web"), 0, 1).rows[0].values["episode"]
    before, after = pages.around(row, EpisodeFilter(verdict="right"))
    assert before is not None
    assert after is not None
    assert (before.split("/")[0], after.split("/")[0]) == ("explicit+cal", "web+ci")
    assert pages.around("web/none.1", EpisodeFilter()) == (None, None)


def test_groups_count_and_average(pages: IndexPages) -> None:
    found = {group.condition: group for group in pages.groups()}
    assert found["web"].counts == {"finished": 1}
    assert found["web"].metrics["exact_match"] == 1.0
    assert found["base"].metrics["exact_match"] == 0.0
    assert pages.metrics[0] == "exact_match"


def test_a_change_is_seen_and_nothing_is_written(pages: IndexPages, tmp_path: Path) -> None:
    before = pages.changes
    trace = next((tmp_path / "run/episodes/web").glob("*.jsonl"))
    trace.unlink()
    index = Index(RunFolder(tmp_path / "run"))
    index.update()
    index.close()
    assert pages.changes != before
    assert names(pages, EpisodeFilter(condition="web")) == []
