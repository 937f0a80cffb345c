"""Curves of vague adverbials: the fitted ones, and measured ones between and past their points."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_env.errors import ConfigError
from agent_env.families.traveler.curve_files import read_curves
from agent_env.families.traveler.curves import ADVERBIALS, Measured, Parametric
from agent_env.families.traveler.interpolation import interpolate, log_minutes, pchip_slopes
from agent_env.families.traveler.vocabulary import HOME

FITTED = Parametric({event.name: event.offset for event in HOME.events})
MINUTES = (10, 60, 480, 2880, 10080)
FALLING = (0.95, 0.8, 0.35, 0.1, 0.05)


def measured(tmp_path: Path, points: object, **how: str) -> Measured:
    file = tmp_path / "curves.json"
    file.write_text(json.dumps(points))
    chosen = {"aggregate": "median", "method": "linear", "beyond": "clamp"} | how
    return read_curves(file, parametric=FITTED, **chosen)  # type: ignore[arg-type]


def curve(*values: object) -> dict[str, object]:
    return {"read book": {"just": dict(zip(map(str, MINUTES), values, strict=False))}}


def test_half_of_the_people_agree_at_the_fitted_middle() -> None:
    """log10 t = m + d: for `just` and wine 2.21 + 0.03."""
    assert FITTED.p("store wine bottle", "just", 10**2.24) == pytest.approx(0.5)
    assert FITTED.p("eat risotto", "long time ago", 10 ** (3.97 - 0.38)) == pytest.approx(0.5)


def test_the_slides_example_curve_is_near_its_survey() -> None:
    """Risotto a long time ago: nothing after two hours, .75 after a week."""
    assert FITTED.p("eat risotto", "long time ago", 120) == pytest.approx(0.015, abs=0.005)
    assert FITTED.p("eat risotto", "long time ago", 7 * 1440) == pytest.approx(0.75, abs=0.03)


@given(st.floats(1, 400_000), st.floats(1, 400_000), st.sampled_from(HOME.events))
def test_just_and_recently_fade_while_the_others_grow(a: float, b: float, event: object) -> None:
    near, far = min(a, b), max(a, b)
    for adverbial in ADVERBIALS:
        name = event.name  # type: ignore[attr-defined]
        early, late = FITTED.p(name, adverbial, near), FITTED.p(name, adverbial, far)
        assert 0 <= early <= 1
        fades = adverbial in ("just", "recently")
        assert early >= late if fades else early <= late


def test_between_points_each_method_has_its_own_value(tmp_path: Path) -> None:
    def at(minutes: float, method: str) -> float:
        return measured(tmp_path, curve(*FALLING), method=method).p("read book", "just", minutes)

    assert at(35, "linear") == pytest.approx(0.875)
    assert at(600**0.5, "log-linear") == pytest.approx(0.875)
    # by scipy.interpolate.PchipInterpolator over log10 minutes
    wanted = {20: 0.9138460143634044, 120: 0.6725385418616061, 1000: 0.2260145042704541,
              5000: 0.06906862804824038}  # fmt: skip
    for minutes, value in wanted.items():
        assert at(minutes, "pchip") == pytest.approx(value, abs=1e-12)


def test_pchip_is_flat_where_the_points_turn() -> None:
    x, y = [log_minutes(t) for t in MINUTES], [0.1, 0.4, 0.3, 0.3, 0.9]
    slopes = pchip_slopes(x, y)
    assert slopes[1:3] == [0.0, 0.0]
    value = interpolate("pchip", MINUTES, y, slopes, 0, 20)
    assert value == pytest.approx(0.2695785905036836, abs=1e-12)
    assert interpolate("pchip", MINUTES, y, slopes, 2, 1000) == 0.3


@given(
    st.lists(st.floats(0, 1), min_size=5, max_size=5),
    st.floats(10, 10080),
    st.sampled_from(["linear", "log-linear", "pchip"]),
)
def test_no_method_leaves_the_range_of_its_two_points(
    values: list[float], minutes: float, method: str
) -> None:
    slopes = pchip_slopes([log_minutes(t) for t in MINUTES], values)
    at = next(i for i in range(3, -1, -1) if MINUTES[i] <= minutes)
    given_slopes = slopes if method == "pchip" else None
    found = interpolate(method, MINUTES, values, given_slopes, at, minutes)  # type: ignore[arg-type]
    low, high = sorted(values[at : at + 2])
    assert low - 1e-9 <= found <= high + 1e-9


def test_votes_become_their_median_or_mean(tmp_path: Path) -> None:
    points = curve([0, 0, 0.9], 0.5)
    assert measured(tmp_path, points).p("read book", "just", 10) == 0
    mean = measured(tmp_path, points, aggregate="mean")
    assert mean.p("read book", "just", 10) == pytest.approx(0.3)


def test_before_the_first_point_its_value_holds(tmp_path: Path) -> None:
    assert measured(tmp_path, curve(*FALLING)).p("read book", "just", 1) == 0.95


def test_past_the_last_point_the_stated_rule_holds(tmp_path: Path) -> None:
    def far(beyond: str) -> float:
        found = measured(tmp_path, curve(*FALLING), beyond=beyond)
        return found.p("read book", "just", 100_000)

    assert far("clamp") == 0.05
    assert far("parametric") == FITTED.p("read book", "just", 100_000)
    with pytest.raises(ConfigError, match="is measured up to 10080 minutes, not 100000"):
        far("error")
    at_last = measured(tmp_path, curve(*FALLING), beyond="error")
    assert at_last.p("read book", "just", 10080) == 0.05


def test_an_unknown_event_or_adverbial_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no curve for the event 'swim'; known: watch film"):
        FITTED.p("swim", "just", 5)
    with pytest.raises(ConfigError, match="unknown adverbial 'soon'; known: just, recently"):
        FITTED.p("read book", "soon", 5)
    found = measured(tmp_path, curve(*FALLING))
    with pytest.raises(ConfigError, match=r"curves.json: no curve for the event 'eat risotto'"):
        found.p("eat risotto", "just", 5)
    with pytest.raises(ConfigError, match="no 'recently' for the event 'read book'; known: just"):
        found.p("read book", "recently", 5)
