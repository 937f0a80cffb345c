"""A base URL belongs to compatible models, and a key to one address."""

import pytest

from agent_env.errors import ConfigError
from agent_env.models.addresses import base_urls, key_variables, moved, short_names, split_address
from tests.tables import tables

CASES = tables(__file__)
A, B = "compatible/a@https://a.example/v1", "compatible/b@http://127.0.0.1:8000/v1"


@pytest.mark.parametrize(("model", "name", "url"), CASES["split"])
def test_an_address_begins_behind_an_at_sign(model, name, url):
    assert split_address(model) == (name, url or None)


@pytest.mark.parametrize(("models", "labels"), CASES["labels"])
def test_a_label_is_the_least_of_a_name_that_tells_models_apart(models, labels):
    assert list(short_names(models).values()) == labels


def test_an_address_and_its_key_are_those_that_are_named_for_a_model():
    own = {A: "https://a.example/v1", "openai/gpt-5": None, "reference": None}
    urls = base_urls([*own, "compatible/c"], "http://c/v1")
    assert urls == own | {"compatible/c": "http://c/v1"}
    urls = base_urls(["openai/gpt-5", "compatible/c", "compatible/d"], "http://c/v1")
    assert set(key_variables(urls, ()).values()) == {None}
    urls = base_urls(["compatible/c"], "http://c/v1/chat/completions")
    assert key_variables(urls, ["C_KEY"]) == {"compatible/c": "C_KEY"}
    urls = base_urls([A, B, "openai/gpt-5"], None)
    assert key_variables(urls, ()) == {A: "", B: "", "openai/gpt-5": None}
    named = key_variables(urls, ["compatible/a=A_KEY", f"{B}=B_KEY"])
    assert named == {A: "A_KEY", B: "B_KEY", "openai/gpt-5": None}


@pytest.mark.parametrize("models", [["openai/gpt-5"], ["reference"], ["openai/gpt-5", A]])
def test_a_base_url_that_no_model_takes_is_refused(models):
    with pytest.raises(ConfigError, match="--base-url http://c/v1 belongs to a model compatible/"):
        base_urls(models, "http://c/v1")


@pytest.mark.parametrize(("named", "problem"), CASES["keys"])
def test_a_key_that_belongs_to_nobody_is_refused(named, problem):
    with pytest.raises(ConfigError, match=problem) as caught:
        key_variables(base_urls([A, B], None), [named])
    assert "sk-0123" not in str(caught.value)


def test_the_variable_of_a_key_stays_with_its_address():
    before = {"base_url": "http://a/v1", "api_key_env": "A_KEY", "top_p": 0.5}
    elsewhere = {"base_url": "http://b/v1", "top_p": 0.5}
    assert moved(before, "http://a/v1", None, False) == before
    assert moved(before, "http://b/v1", None, False) == elsewhere
    assert moved(before, "http://b/v1", "B_KEY", False) == elsewhere | {"api_key_env": "B_KEY"}
    assert moved(before, "http://b/v1", None, True) == before | {"base_url": "http://b/v1"}
    assert moved(before, None, None, False) == {"base_url": None, "top_p": 0.5}
