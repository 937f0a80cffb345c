"""What a report discloses is counted, and what is unknown is missing."""

from dataclasses import replace

import pytest

import agent_env as ae
from agent_env.analysis.comparison import Comparison
from agent_env.analysis.statistics.disclosure import ITEMS, bibliography, disclosure


@pytest.fixture(scope="module")
def comparison(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "one"
    options = {"limit": 5, "conditions": ["base", "explicit"], "progress": False, "out": out}
    return ae.run_sync("time-puzzles", **options).comparison(print)


def test_the_missing_items_come_first_with_what_supplies_them(comparison):
    table = disclosure(comparison)
    rows = {row[1]: row for row in table.rows}
    assert len(rows) == len(ITEMS) == 28
    missing = [row[1] for row in table.rows if row[2] == "missing"]
    assert table.title == f"What a report discloses: {28 - len(missing)} of 28 items"
    assert [row[1] for row in table.rows][: len(missing)] == missing
    assert rows["repeats"] == ("checklist", "repeats", "missing", "agent-env run … --repeats 3")
    assert rows["cost of the run"][2] == "missing"
    assert rows["where the samples come from"][2:] == ("seed 1", None)
    assert rows["baseline without tools"][2] == "base, explicit"


def test_an_estimate_of_tokens_is_not_the_providers_count(comparison):
    rows = {row[1]: row[2] for row in disclosure(comparison).rows}
    assert rows["tokens as the provider counts them"] == "missing"


def test_an_item_that_one_run_lacks_is_missing(comparison):
    study = comparison.study
    (manifest,) = study.manifests.values()
    other = manifest.model_copy(update={"seed": None, "dataset": None})
    two = replace(study, manifests={**study.manifests, "other": other})
    rows = {row[1]: row[2] for row in disclosure(Comparison(two)).rows}
    assert rows["where the samples come from"] == "missing"
    assert rows["samples by digest"] == manifest.samples_digest[:12]


def test_the_bibliography_has_the_environment_and_the_paper(comparison):
    text = bibliography(comparison)
    assert text.count("@") == 2
    assert "eprint = {2601.07148}" in text
    assert text.count("{") == text.count("}")
