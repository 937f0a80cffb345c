"""Files of measured curves: whole, one for each event, and what is wrong with one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_env.errors import DatasetError
from agent_env.families.traveler.curve_files import curves_digest, read_curves
from agent_env.families.traveler.curves import Measured
from agent_env.families.traveler.family import Options, make_samples
from agent_env.families.traveler.sample import TravelerSample

from .test_curves import FITTED, curve, measured

SURVEY = {"2880": [0.1, 0.2, 0.3], "10": [1, 0.9, 1], "60": [0.8, 0.7, 0.6]}
"""As published: votes, with the minutes in no order."""


def written(folder: Path, files: dict[str, object]) -> Measured:
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(content))
    return read_curves(folder, "median", "linear", "clamp", FITTED)


def test_minutes_stand_in_any_order(tmp_path: Path) -> None:
    found = measured(tmp_path, {"read book": {"just": SURVEY}})
    assert found.points["read book", "just"].minutes == (10.0, 60.0, 2880.0)
    assert [found.p("read book", "just", at) for at in (10, 35, 60, 2880)] == [1, 0.85, 0.7, 0.2]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("eat_risotto.json", {"some_time_ago": SURVEY}),
        ("EatRisotto.json", {"SomeTimeAgo": SURVEY}),
        ("eat-a-risotto-curves.json", {"some time ago": SURVEY}),
        ("eat_risotto/curves.json", {"some-time-ago": SURVEY}),
        ("eat_risotto/some_time_ago.json", SURVEY),
        ("all.json", {"eat_risotto": {"some_time_ago": SURVEY}}),
    ],
)
def test_the_outer_levels_may_be_in_the_names(
    tmp_path: Path, name: str, content: dict[str, object]
) -> None:
    found = written(tmp_path / "curves", {name: content})
    assert list(found.points) == [("eat risotto", "some time ago")]
    assert found.p("eat risotto", "some time ago", 60) == 0.7


def test_a_folder_has_a_file_for_each_event(tmp_path: Path) -> None:
    files = {"eat_risotto.json": {"just": SURVEY}, "read_book.json": {"just": SURVEY}}
    found = written(tmp_path / "curves", files)
    assert set(found.points) == {("eat risotto", "just"), ("read book", "just")}
    assert found.name == "curves"
    before = curves_digest(tmp_path / "curves")
    (tmp_path / "curves" / "read_book.json").write_text(json.dumps({"just": {"1": 1, "2": 0}}))
    assert curves_digest(tmp_path / "curves") != before


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"swim.json": {"just": SURVEY}}, "it names no event, and 'swim' is none; known: watch"),
        ({"swim/just.json": SURVEY}, "just.json: it names no event, and 'swim' is none"),
        ({"a/eat_risotto.json": {"just": SURVEY}, "b/eat_risotto.json": {"just": SURVEY}},
         "b/eat_risotto.json: 'just' of 'eat risotto' stands in .*a/eat_risotto.json too"),
        ({"eat_risotto.json": {"just": SURVEY, "lately": SURVEY}},
         "unknown adverbial 'lately' of 'eat risotto'; known: just, recently"),
        ({"eat_risotto/lately.json": SURVEY}, "unknown adverbial 'lately' of 'eat risotto'"),
        ({"readme.txt": {}}, "curves: holds no curve"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_folder_is_named(
    tmp_path: Path, files: dict[str, object], reason: str
) -> None:
    with pytest.raises(DatasetError, match=reason):
        written(tmp_path / "curves", files)


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ([], "the file must be a JSON object"),
        ({}, "holds no curve"),
        ({"read book": {"lately": {"1": 0, "2": 1}}}, "unknown adverbial 'lately' of 'read book'"),
        (curve(0.5), "'just' of 'read book' needs two times or more, has 1"),
        (curve(0.5, 1.01), "at 60: 1.01 does not lie in"),
        (curve([0.5, -0.1], 0.5), "at 10: -0.1 does not lie in"),
        (curve("high", 0.5), "at 10: 'high' does not lie in"),
        (curve([], 0.5), "at 10: there are no votes"),
        ({"read book": {"just": {"10": 0.5, "10.0": 0.5}}}, "10 minutes stand twice"),
        ({"read book": {"just": {"0": 0.5, "5": 0.5}}}, "'0' is no number of minutes above 0"),
        ({"read book": {"just": {"soon": 0.5, "5": 0.5}}}, "'soon' is no number of minutes"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(tmp_path: Path, points: object, said: str) -> None:
    with pytest.raises(DatasetError, match=said):
        measured(tmp_path, points)


FUZZYLLI = Path(__file__).parents[2] / "data" / "published" / "fuzzylli"


@pytest.mark.parametrize("folder", [FUZZYLLI, FUZZYLLI / "data" / "with_event_properties"])
def test_the_folder_of_the_survey_is_read_as_published(folder: Path) -> None:
    found = read_curves(folder, "median", "linear", "clamp", FITTED)
    events: dict[str, int] = {}
    for event, _ in found.points:
        events[event] = events.get(event, 0) + 1
    assert events == {
        "eat risotto": 4, "store wine bottle": 4, "dance lively salsa": 4, "chat with friend": 4,
        "watch film": 4, "read book": 4, "drink juice": 4, "own birthday": 2,
    }  # fmt: skip
    assert found.points["eat risotto", "just"].minutes == (5.0, 60.0, 720.0)
    assert found.points["eat risotto", "just"].values == (1.0, 0.5, 0.25)
    assert found.points["dance lively salsa", "just"].values == (1.0, 0.5, 0.25)
    assert found.points["store wine bottle", "just"].values == (1.0, 0.625, 0.125)
    assert found.points["store wine bottle", "recently"].values == (0.75, 0.25)


def test_vague_questions_are_made_from_the_survey() -> None:
    options = Options(curves=FUZZYLLI, categories=("vague",), sizes=(5,))
    samples = [s for s in make_samples(12, 1, options).samples if isinstance(s, TravelerSample)]
    assert len(samples) == 12
    assert all((s.curves or "").startswith("fuzzylli ") for s in samples)
