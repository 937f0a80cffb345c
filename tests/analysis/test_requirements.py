"""Requirements are judged by the whole interval, and what is unknown is never met."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_env.analysis.intervals import Estimate
from agent_env.analysis.requirements import Judged, _answer, exit_code, judge, junit
from agent_env.errors import ConfigError
from tests.analysis.studies import study_of
from tests.ended import scored as pair


def scored(condition, right, of=20):
    return [pair({"em": float(n < right)}, f"s{n}", condition) for n in range(of)]


@pytest.fixture(scope="module")
def comparison():
    return study_of([*scored("base", 4), *scored("web", 18)], ["base", "web"], ("em",))


@pytest.mark.parametrize(
    ("requirement", "answer"),
    [
        ("web-base >= 0.05", "met"), ("web:base > 0.05", "met"), ("base-web >= 0.05", "not met"),
        ("web >= 0.5", "met"), ("web < 0.5", "not met"), ("web >= 0.9", "not known yet"),
        ("failed <= 0", "met"), ("failed > 0", "not met"),
        ("cost <= 2", "not known yet"), ("tokens < 1e6", "not known yet"),
    ],
)  # fmt: skip
def test_a_requirement_is_judged_by_its_interval_or_its_sum(comparison, requirement, answer):
    assert [each.answer for each in judge([requirement], comparison)] == [answer]


@pytest.mark.parametrize(
    "requirement",
    ["web", "web >= much", "web >= nan", "web => 1", ">= 1", "nothing-base >= 0", "web = 1"],
)
def test_what_is_no_requirement_is_the_users_mistake(comparison, requirement):
    with pytest.raises(ConfigError):
        judge([requirement], comparison)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_a_requirement_and_its_opposite_are_never_both_met(one, two, bound):
    low, high = sorted((one, two))
    estimate = Estimate((low + high) / 2, low, high)
    pair = {_answer(estimate, ">=", bound), _answer(estimate, "<", bound)}
    assert pair in ({"met", "not met"}, {"not known yet"})


def test_junit_and_exit_codes():
    rows = [
        Judged("a >= 1", "met", "a", "2"),
        Judged("b >= 1", "not met", "b\x1b[31m<b>", "0"),
        Judged("cost <= 1", "not known yet", "cost", "unknown"),
    ]
    suite = ElementTree.fromstring(junit(rows, "agent-env task"))
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    assert (suite[1].get("name"), suite[1][0].tag) == ("b >= 1 (b\\u001b[31m<b>)", "failure")
    assert suite[2][0].get("message") == "not known yet: cost <= 1: cost unknown"

    codes = {("met", "met"): 0, ("met", "not known yet", "not met"): 1, ("not known yet", "met"): 3}
    for answers, code in codes.items():
        assert exit_code([Judged("x >= 1", each, "x", "") for each in answers]) == code
