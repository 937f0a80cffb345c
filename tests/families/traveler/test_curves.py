"""Curves of vague adverbials: the fitted ones, and measured ones between and past their points;
files of measured curves: whole, one for each event, and what is wrong with one."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_env.errors import ConfigError, DatasetError
from agent_env.families.traveler import curves as cv
from agent_env.families.traveler.events import HOME
from tests import TESTS

FITTED = cv.Parametric({event.name: event.offset for event in HOME.events})
MINUTES = (10, 60, 480, 2880, 10080)


class Measured:
    """Curves of a file with these points."""

    def __init__(self, tmp_path, points, aggregate="median", method="linear", beyond="clamp"):
        file = tmp_path / "curves.json"
        file.write_text(json.dumps(points))
        self.curves = cv.read_curves(file, aggregate, method, beyond, FITTED)

    def at(self, minutes, event="read book"):
        return self.curves.p(event, "just", minutes)


def curve(*values):
    return {"read book": {"just": dict(zip(map(str, MINUTES), values, strict=False))}}


FADING = curve(0.95, 0.8, 0.35, 0.1, 0.05)


def test_points_between_and_past_them_are_computed(tmp_path):
    """log10 t = m + d: for `just` and wine 2.21 + 0.03."""
    assert FITTED.p("store wine bottle", "just", 10**2.24) == pytest.approx(0.5)
    assert FITTED.p("eat risotto", "long time ago", 10 ** (3.97 - 0.38)) == pytest.approx(0.5)
    assert Measured(tmp_path, FADING).at(35) == pytest.approx(0.875)
    assert Measured(tmp_path, FADING, method="log-linear").at(600**0.5) == pytest.approx(0.875)
    # by scipy.interpolate.PchipInterpolator over log10 minutes
    wanted = {20: 0.9138460143634044, 120: 0.6725385418616061, 1000: 0.2260145042704541,
              5000: 0.06906862804824038}  # fmt: skip
    for minutes, value in wanted.items():
        found = Measured(tmp_path, FADING, method="pchip").at(minutes)
        assert found == pytest.approx(value, abs=1e-12)
    x, y = [cv.log_minutes(t) for t in MINUTES], [0.1, 0.4, 0.3, 0.3, 0.9]
    slopes = cv.pchip_slopes(x, y)
    assert slopes[1:3] == [0.0, 0.0]
    value = cv.interpolate("pchip", MINUTES, y, slopes, 0, 20)
    assert value == pytest.approx(0.2695785905036836, abs=1e-12)
    assert cv.interpolate("pchip", MINUTES, y, slopes, 2, 1000) == 0.3
    fitted = FITTED.p("read book", "just", 100_000)
    for beyond, far in (("clamp", 0.05), ("parametric", fitted)):
        assert Measured(tmp_path, FADING, beyond=beyond).at(100_000) == far
    ending = Measured(tmp_path, FADING, beyond="error")
    assert ending.at(10080) == 0.05
    with pytest.raises(ConfigError, match="is measured up to 10080 minutes, not 100000"):
        ending.at(100_000)


@given(st.floats(1, 400_000), st.floats(1, 400_000), st.sampled_from(HOME.events))
def test_just_and_recently_fade_while_the_others_grow(a, b, event):
    for adverbial in cv.ADVERBIALS:
        early, late = (FITTED.p(event.name, adverbial, at) for at in sorted((a, b)))
        assert 0 <= early <= 1
        fades = adverbial in ("just", "recently")
        assert early >= late if fades else early <= late


@given(
    st.lists(st.floats(0, 1), min_size=5, max_size=5),
    st.floats(10, 10080),
    st.sampled_from(["linear", "log-linear", "pchip"]),
)
def test_no_method_leaves_the_range_of_its_two_points(values, minutes, method):
    slopes = cv.pchip_slopes([cv.log_minutes(t) for t in MINUTES], values)
    at = next(i for i in range(3, -1, -1) if MINUTES[i] <= minutes)
    given_slopes = slopes if method == "pchip" else None
    found = cv.interpolate(method, MINUTES, values, given_slopes, at, minutes)
    low, high = sorted(values[at : at + 2])
    assert low - 1e-9 <= found <= high + 1e-9


def test_votes_minutes_and_folders_are_read(tmp_path):
    points = curve([0, 0, 0.9], 0.5)
    assert Measured(tmp_path, points).at(10) == 0
    assert Measured(tmp_path, points, "mean").at(10) == pytest.approx(0.3)
    found = Measured(tmp_path, {"read book": {"just": SURVEY}})
    assert found.curves.points["read book", "just"].minutes == (10.0, 60.0, 2880.0)
    assert [found.at(minutes) for minutes in (10, 35, 60, 2880)] == [1, 0.85, 0.7, 0.2]
    files = {"eat_risotto.json": {"just": SURVEY}, "read_book.json": {"just": SURVEY}}
    found = written(tmp_path / "curves", files)
    assert set(found.points) == {("eat risotto", "just"), ("read book", "just")}
    assert found.name == "curves"
    before = cv.curves_digest(tmp_path / "curves")
    (tmp_path / "curves" / "read_book.json").write_text(json.dumps({"just": {"1": 1, "2": 0}}))
    assert cv.curves_digest(tmp_path / "curves") != before
    own = Measured(tmp_path, FADING).curves
    for curves, event, adverbial, reason in (
        (FITTED, "swim", "just", "no curve for the event 'swim'; known: watch film"),
        (FITTED, "read book", "soon", "unknown adverbial 'soon'; known: just, recently"),
        (own, "eat risotto", "just", "curves.json: no curve for the event 'eat risotto'"),
        (own, "read book", "recently", "no 'recently' for the event 'read book'; known: just"),
    ):
        with pytest.raises(ConfigError, match=reason):
            curves.p(event, adverbial, 5)


SURVEY = {"2880": [0.1, 0.2, 0.3], "10": [1, 0.9, 1], "60": [0.8, 0.7, 0.6]}
"""As published: votes, with the minutes in no order."""


def written(folder, files):
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(content))
    return cv.read_curves(folder, "median", "linear", "clamp", FITTED)


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


FUZZYLLI = TESTS / "data" / "published" / "fuzzylli"


@pytest.mark.parametrize("folder", [FUZZYLLI, FUZZYLLI / "data" / "with_event_properties"])
def test_the_folder_of_the_survey_is_read_as_published(folder):
    found = cv.read_curves(folder, "median", "linear", "clamp", FITTED)
    assert Counter(event for event, _ in found.points) == {
        "eat risotto": 4, "store wine bottle": 4, "dance lively salsa": 4, "chat with friend": 4,
        "watch film": 4, "read book": 4, "drink juice": 4, "own birthday": 2,
    }  # fmt: skip
    assert found.points["eat risotto", "just"].minutes == (5.0, 60.0, 720.0)
    for event, adverbial, values in (
        ("eat risotto", "just", (1.0, 0.5, 0.25)),
        ("dance lively salsa", "just", (1.0, 0.5, 0.25)),
        ("store wine bottle", "just", (1.0, 0.625, 0.125)),
        ("store wine bottle", "recently", (0.75, 0.25)),
    ):
        assert found.points[event, adverbial].values == values
