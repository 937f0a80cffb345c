"""Curves of vague adverbials: the fitted ones, and measured ones between and past their points.

Files of measured curves: whole, one for each event, and what is wrong with one.
"""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_env.errors import ConfigError, DatasetError
from agent_env.families.traveler.curves import (
    ADVERBIALS,
    Parametric,
    curves_digest,
    interpolate,
    log_minutes,
    pchip_slopes,
    read_curves,
)
from agent_env.families.traveler.events import HOME

FITTED = Parametric({event.name: event.offset for event in HOME.events})
MINUTES = (10, 60, 480, 2880, 10080)
FALLING = (0.95, 0.8, 0.35, 0.1, 0.05)


def measured(tmp_path, points, **how):
    file = tmp_path / "curves.json"
    file.write_text(json.dumps(points))
    chosen = {"aggregate": "median", "method": "linear", "beyond": "clamp"} | how
    return read_curves(file, parametric=FITTED, **chosen)


def curve(*values):
    return {"read book": {"just": dict(zip(map(str, MINUTES), values, strict=False))}}


def test_points_votes_and_folders_are_read(tmp_path):
    """log10 t = m + d: for `just` and wine 2.21 + 0.03."""
    assert FITTED.p("store wine bottle", "just", 10**2.24) == pytest.approx(0.5)
    assert FITTED.p("eat risotto", "long time ago", 10 ** (3.97 - 0.38)) == pytest.approx(0.5)

    def at(minutes, method):
        return measured(tmp_path, curve(*FALLING), method=method).p("read book", "just", minutes)

    assert at(35, "linear") == pytest.approx(0.875)
    assert at(600**0.5, "log-linear") == pytest.approx(0.875)
    # by scipy.interpolate.PchipInterpolator over log10 minutes
    wanted = {20: 0.9138460143634044, 120: 0.6725385418616061, 1000: 0.2260145042704541,
              5000: 0.06906862804824038}  # fmt: skip
    for minutes, value in wanted.items():
        assert at(minutes, "pchip") == pytest.approx(value, abs=1e-12)
    x, y = [log_minutes(t) for t in MINUTES], [0.1, 0.4, 0.3, 0.3, 0.9]
    slopes = pchip_slopes(x, y)
    assert slopes[1:3] == [0.0, 0.0]
    value = interpolate("pchip", MINUTES, y, slopes, 0, 20)
    assert value == pytest.approx(0.2695785905036836, abs=1e-12)
    assert interpolate("pchip", MINUTES, y, slopes, 2, 1000) == 0.3

    def far(beyond):
        found = measured(tmp_path, curve(*FALLING), beyond=beyond)
        return found.p("read book", "just", 100_000)

    assert far("clamp") == 0.05
    assert far("parametric") == FITTED.p("read book", "just", 100_000)
    with pytest.raises(ConfigError, match="is measured up to 10080 minutes, not 100000"):
        far("error")
    at_last = measured(tmp_path, curve(*FALLING), beyond="error")
    assert at_last.p("read book", "just", 10080) == 0.05


@given(st.floats(1, 400_000), st.floats(1, 400_000), st.sampled_from(HOME.events))
def test_just_and_recently_fade_while_the_others_grow(a, b, event):
    near, far = min(a, b), max(a, b)
    for adverbial in ADVERBIALS:
        name = event.name
        early, late = FITTED.p(name, adverbial, near), FITTED.p(name, adverbial, far)
        assert 0 <= early <= 1
        fades = adverbial in ("just", "recently")
        assert early >= late if fades else early <= late


@given(
    st.lists(st.floats(0, 1), min_size=5, max_size=5),
    st.floats(10, 10080),
    st.sampled_from(["linear", "log-linear", "pchip"]),
)
def test_no_method_leaves_the_range_of_its_two_points(values, minutes, method):
    slopes = pchip_slopes([log_minutes(t) for t in MINUTES], values)
    at = next(i for i in range(3, -1, -1) if MINUTES[i] <= minutes)
    given_slopes = slopes if method == "pchip" else None
    found = interpolate(method, MINUTES, values, given_slopes, at, minutes)
    low, high = sorted(values[at : at + 2])
    assert low - 1e-9 <= found <= high + 1e-9


def test_votes_minutes_and_folders_are_read(tmp_path):
    points = curve([0, 0, 0.9], 0.5)
    assert measured(tmp_path, points).p("read book", "just", 10) == 0
    mean = measured(tmp_path, points, aggregate="mean")
    assert mean.p("read book", "just", 10) == pytest.approx(0.3)
    found = measured(tmp_path, {"read book": {"just": SURVEY}})
    assert found.points["read book", "just"].minutes == (10.0, 60.0, 2880.0)
    assert [found.p("read book", "just", at) for at in (10, 35, 60, 2880)] == [1, 0.85, 0.7, 0.2]
    files = {"eat_risotto.json": {"just": SURVEY}, "read_book.json": {"just": SURVEY}}
    found = written(tmp_path / "curves", files)
    assert set(found.points) == {("eat risotto", "just"), ("read book", "just")}
    assert found.name == "curves"
    before = curves_digest(tmp_path / "curves")
    (tmp_path / "curves" / "read_book.json").write_text(json.dumps({"just": {"1": 1, "2": 0}}))
    assert curves_digest(tmp_path / "curves") != before
    with pytest.raises(ConfigError, match="no curve for the event 'swim'; known: watch film"):
        FITTED.p("swim", "just", 5)
    with pytest.raises(ConfigError, match="unknown adverbial 'soon'; known: just, recently"):
        FITTED.p("read book", "soon", 5)
    found = measured(tmp_path, curve(*FALLING))
    with pytest.raises(ConfigError, match=r"curves.json: no curve for the event 'eat risotto'"):
        found.p("eat risotto", "just", 5)
    with pytest.raises(ConfigError, match="no 'recently' for the event 'read book'; known: just"):
        found.p("read book", "recently", 5)


SURVEY = {"2880": [0.1, 0.2, 0.3], "10": [1, 0.9, 1], "60": [0.8, 0.7, 0.6]}
"""As published: votes, with the minutes in no order."""


def written(folder, files):
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(content))
    return read_curves(folder, "median", "linear", "clamp", FITTED)


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
def test_the_outer_levels_may_be_in_the_names(tmp_path, name, content):
    found = written(tmp_path / "curves", {name: content})
    assert list(found.points) == [("eat risotto", "some time ago")]
    assert found.p("eat risotto", "some time ago", 60) == 0.7


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
def test_what_is_wrong_with_a_folder_is_named(tmp_path, files, reason):
    with pytest.raises(DatasetError, match=reason):
        written(tmp_path / "curves", files)


FUZZYLLI = Path(__file__).parents[2] / "data" / "published" / "fuzzylli"


@pytest.mark.parametrize("folder", [FUZZYLLI, FUZZYLLI / "data" / "with_event_properties"])
def test_the_folder_of_the_survey_is_read_as_published(folder):
    found = read_curves(folder, "median", "linear", "clamp", FITTED)
    events = {}
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
