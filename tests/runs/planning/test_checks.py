"""Conditions that can do nothing for the samples are refused before anything is made."""

import asyncio
import json
from pathlib import Path

import pytest

from agent_env.features.facts.web_cli import BuildOptions, build_web
from agent_env.records.manifest import WebSettings
from agent_env.runs.options.run_options import RunOptions
from agent_env.wiring.web import WebOptions, open_sealed
from tests.commands import agent_env, typed
from tests.plans import run_of


@pytest.mark.parametrize(
    ("task", "options"),
    [
        ("tempreason", {"web": WebOptions(pages=Path("own.db"))}),
        ("traveler", {"web": WebOptions(mode="live", search="wikipedia")}),
        ("timeqa", {"options": ("setting=closed-book",)}),
        ("tdbench", {"options": ("book=closed",)}),
    ],
)
def test_another_web_and_questions_of_which_it_may_state_something_are_asked(
    task, options, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    web = open_sealed(WebSettings(), Path("own.db"), ())
    web.store.close()
    run = asyncio.run(run_of(RunOptions(task, limit=2, conditions=("web",), **options)))
    assert run.conditions == ("web",)


@pytest.fixture(scope="module")
def invented(tmp_path_factory):
    """A fictional web, and puzzles of its facts."""
    folder = tmp_path_factory.mktemp("invented")
    web = {"world": "fictional", "entities": 240, "seed": 3, "difficulty": "medium"}
    build_web(BuildOptions(out=folder / "pages.db", facts_table=None, **web), lambda note: None)
    command = "questions generate time-puzzles --option facts_table={} --limit 2 --out {}"
    made = typed(command, folder / "pages.facts.csv", folder / "q.jsonl")
    assert made.returncode == 0
    return folder


def test_a_web_without_any_proving_page_is_refused(invented, tmp_path):
    asked = ("run", "time-puzzles", "--condition", "web", "--out", str(tmp_path / "r"))
    refused = agent_env(*asked, "--dataset", str(invented / "q.jsonl"))
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "the shipped web, which is served without --pages, holds none of" in refused.stderr
    pages = ("--pages", str(invented / "pages.db"))
    found = agent_env(*asked, "--dataset", str(invented / "q.jsonl"), *pages)
    assert (found.returncode, found.stderr.count("\n")) == (0, 2)
    other = agent_env("run", "time-puzzles", "--limit", "1", "--condition", "web", *pages)
    assert (other.returncode, "pages.db holds none of" in other.stderr) == (2, True)


def test_samples_whose_proving_pages_are_missing_are_counted(invented, tmp_path):
    first, second = (invented / "q.jsonl").read_text().splitlines()
    page = "https://encyclopedia.example/article/Nowhere"
    changed = json.loads(second) | {"evidence": [page]}
    data = tmp_path / "q.jsonl"
    data.write_text(f"{first}\n{json.dumps(changed)}\n")
    command = "run time-puzzles --condition web --dataset {} --pages {} --out {}"
    done = typed(command, data, invented / "pages.db", tmp_path / "r")
    assert done.returncode == 0
    assert done.stderr.splitlines()[0] == (
        "1 of 2 samples name proving pages that the web does not hold, the first one "
        f"{changed['id']}: {page}"
    )


def test_the_pages_of_the_samples_own_tables_are_there(tmp_path):
    done = typed("run tdbench --limit 2 --condition web --out {}", tmp_path / "r")
    assert (done.returncode, done.stderr.splitlines()[0]) == (0, f"2 episodes in {tmp_path / 'r'}")
