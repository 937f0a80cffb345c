"""`agent-env study reproduce traveler`: the slides' tables beside runs and responses."""

import json

import pytest

from agent_env.features.papers.traveler.reproduction import PAPER
from tests.features.papers.reproducing import reproduce, values, write_lines


@pytest.fixture(scope="module")
def whole(folder):
    return reproduce(folder, "traveler --only table6 --only figure6 --limit 33 --json")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("traveler")


def test_categories_templates_and_figures_have_their_points(whole):
    table = values(whole, "table6")
    assert table["reference", "explicit"] == (None, 1.0, 11)
    assert table["shortcut ignore-time", "when"] == (None, 1.0, 2)
    assert table["shortcut oracle", "vague"] == table["reference", "vague"]
    assert {row for row, _ in table} == {
        "reference", "shortcut constant", "shortcut majority", "shortcut ignore-time",
        "shortcut oracle",
    }  # fmt: skip
    figure = values(whole, "figure6")
    sizes = [size for row, size in figure if row == "reference"]
    assert sizes == "5 10 20 30 40 50 60 70 80 90 100".split()
    assert figure["reference", "100"][2] == 1


def test_responses_of_a_model_of_the_slides_stand_beside_its_row(whole, folder, tmp_path):
    questions = folder / "out" / "questions" / "all-sizes.jsonl"
    samples = [json.loads(line) for line in questions.read_text().splitlines()]
    said = {"setup": "all-sizes", "model": "gpt-4-0125-preview", "response": "perhaps"}
    explicit = [said | {"sample": s["id"]} for s in samples if s["category"] == "explicit"]
    file = write_lines(tmp_path / "responses.jsonl", *explicit)
    line = "traveler --responses {} --dataset all-sizes={} --only table6 --json"
    found = values(reproduce(tmp_path, line, file, questions), "table6")
    assert found["gpt-4-0125-preview", "explicit"] == (0.84, 0.0, 11)


@pytest.mark.parametrize("name", ["table5", "table6"])
def test_the_average_row_is_the_mean_of_the_models(name):
    table = next(each.published for each in PAPER.experiments if each.name == name)
    models = [values for row, values in table.items() if row != "Average"]
    means = [sum(column) / len(column) for column in zip(*models, strict=True)]
    assert means == pytest.approx(list(table["Average"]), abs=0.011)
