"""`agent-env study reproduce traveler`: the slides' tables beside runs and responses."""

import json

import pytest

from agent_env.features.papers.traveler.reproduction import PAPER
from tests.commands import agent_env


def rows(done, name):
    """By row and quantity: the paper's value, ours, n."""
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["experiments"][name][name]["rows"]
    return {
        (row["row"], row["quantity"]): (row["paper"], row["ours (95 % CI)"]["value"], row["n"])
        for row in found
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("traveler")


@pytest.fixture(scope="module")
def whole(folder):
    only = ("--only", "table6", "--only", "figure6", "--limit", "33")
    return agent_env("study", "reproduce", "traveler", "--out", "a", *only, "--json", cwd=folder)


def test_categories_templates_and_figures_have_their_points(whole):
    table = rows(whole, "table6")
    assert table["reference", "explicit"] == (None, 1.0, 11)
    assert table["shortcut ignore-time", "when"] == (None, 1.0, 2)
    assert table["shortcut oracle", "vague"] == table["reference", "vague"]
    assert {row for row, _ in table} == {
        "reference", "shortcut constant", "shortcut majority", "shortcut ignore-time",
        "shortcut oracle",
    }  # fmt: skip
    figure = rows(whole, "figure6")
    sizes = [size for row, size in figure if row == "reference"]
    assert sizes == "5 10 20 30 40 50 60 70 80 90 100".split()
    assert figure["reference", "100"][2] == 1


def test_responses_of_a_model_of_the_slides_stand_beside_its_row(whole, folder):
    questions = folder / "a" / "questions" / "all-sizes.jsonl"
    samples = [json.loads(line) for line in questions.read_text().splitlines()]
    explicit = [sample["id"] for sample in samples if sample["category"] == "explicit"]
    lines = [
        {"setup": "all-sizes", "model": "gpt-4-0125-preview", "sample": name, "response": "perhaps"}
        for name in explicit
    ]
    file = folder / "responses.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    done = agent_env(
        "study", "reproduce", "traveler", "--out", "b", "--responses", str(file),
        "--dataset", f"all-sizes={questions}", "--only", "table6", "--json", cwd=folder,
    )  # fmt: skip
    assert rows(done, "table6")["gpt-4-0125-preview", "explicit"] == (0.84, 0.0, 11)


@pytest.mark.parametrize("name", ["table5", "table6"])
def test_the_average_row_is_the_mean_of_the_models(name):
    table = next(each.published for each in PAPER.experiments if each.name == name)
    models = [values for row, values in table.items() if row != "Average"]
    means = [sum(column) / len(column) for column in zip(*models, strict=True)]
    assert means == pytest.approx(list(table["Average"]), abs=0.011)
