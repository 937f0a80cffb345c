"""One grammar of contrasts: what is read, how mistakes are named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_env.analysis.contrast_text import contrast_mistakes, parse_contrasts, planned_arms
from agent_env.analysis.study import Arm
from agent_env.errors import ConfigError
from agent_env.records.schema import Condition
from tests.tables import tables


def arms(models, conditions):
    made = [
        Condition(name=name, wording="explicit" if "explicit" in name else "implicit")
        for name in conditions.split()
    ]
    return planned_arms(models.split(), made)


ONE = arms("m", "base web python web+python web-once cited:first explicit")
TWO = arms("lab/A lab/B", "base web python web+python")


def weights(text, of=ONE):
    return [dict(each.weights) for each in parse_contrasts([text], of)]


@pytest.mark.parametrize(
    "text", ["web+python:web", "web+python-web", " web+python − web ", "(web+python):(web)"]
)
def test_after_and_before_are_parted_by_a_colon_or_a_minus(text):
    assert weights(text) == [{"web+python": 1.0, "web": -1.0}]


def test_names_and_variants_are_kept_or_refused():
    assert weights("cited:first:base") == [{"cited:first": 1.0, "base": -1.0}]
    assert weights("cited:first-web-once") == [{"cited:first": 1.0, "web-once": -1.0}]
    names = arms("m", "a b-c a-b c")
    with pytest.raises(ConfigError, match="in several ways; put parentheses around each side"):
        parse_contrasts(["a-b-c"], names)
    assert weights("(a-b)-c", names) == [{"a-b": 1.0, "c": -1.0}]
    assert weights("web:base", TWO) == [
        {"A web": 1.0, "A base": -1.0},
        {"B web": 1.0, "B base": -1.0},
    ]
    held = arms("m", "base~schema web~schema")
    assert weights("web:base", held) == [{"web~schema": 1.0, "base~schema": -1.0}]
    with pytest.raises(ConfigError, match="'web' may be web~shifted or web~removed; write one of"):
        parse_contrasts(["web:base"], arms("m", "base web~shifted web~removed"))


def test_differences_mistakes_and_names():
    (contrast,) = parse_contrasts(["(web:base)@A:(web:base)@B"], TWO)
    assert dict(contrast.weights) == {
        "A web": 1.0, "A base": -1.0, "B web": -1.0, "B base": 1.0,
    }  # fmt: skip
    assert contrast.name == "(A web − A base) − (B web − B base)"
    assert contrast.is_interaction
    assert weights("(web+python:web):(web:base)") == [{"web+python": 1.0, "web": -2.0, "base": 1.0}]
    texts = ["web-base", "python:base"]
    contrasts = parse_contrasts(texts, ONE, planned=["web:base", "nothing:base"])
    assert [each.is_exploratory for each in contrasts] == [False, True]
    with pytest.raises(ConfigError) as caught:
        parse_contrasts(["web:bse", "web:base", "web@D:web@A"], TWO)
    assert str(caught.value) == (
        "contrast 'web:bse': no condition 'bse'; contrast 'web@D:web@A': no model 'D'; "
        "known conditions: base, web, python, web+python; known models: lab/A, lab/B"
    )
    twice = tuple(arms("x/A y/A", "base web"))
    assert contrast_mistakes(["web@A:base@A"], twice) == {
        "web@A:base@A": "'A' are x/A, y/A; write one of these"
    }
    logs = tuple(
        Arm(label=name, run=name, model=f"lab/{name}", condition=Condition(name="log"),
            observations=(), asked=0)
        for name in ("small", "large")
    )  # fmt: skip
    assert weights("large:small", logs) == [{"large": 1.0, "small": -1.0}]
    assert weights("log@large:log@small", logs) == weights("lab/large:lab/small", logs)
    with pytest.raises(ConfigError, match="no log 'medium'; known logs: small, large"):
        parse_contrasts(["medium:small"], logs)


@pytest.mark.parametrize(("text", "why"), tables(__file__)["mistakes"].items())
def test_each_mistake_is_named(text, why):
    assert contrast_mistakes([text], TWO) == {text: why}


@given(st.text(alphabet="()@:-−,abew +trnd", max_size=30))
def test_any_text_is_a_contrast_whose_weights_add_up_to_0_or_a_mistake(text):
    if not contrast_mistakes([text], TWO):
        for each in parse_contrasts([text], TWO):
            assert sum(weight for _, weight in each.weights) == 0.0
