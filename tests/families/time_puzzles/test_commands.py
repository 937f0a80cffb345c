"""generate as a user types it."""

import json

import pytest

from tests.commands import agent_env, typed


@pytest.fixture(scope="module")
def puzzles(tmp_path_factory):
    out = tmp_path_factory.mktemp("sets") / "puzzles.jsonl"
    done = typed(
        "questions generate time-puzzles --limit 40 --seed 3 --out {} --option processes=1", out
    )
    assert done.returncode == 0, done.stderr
    assert "constant 0 (0.0%), majority 0 (0.0%), ignore-event 0 (0.0%)" in done.stderr
    return out


def test_any_number_of_processes_gives_the_same_bytes(puzzles, tmp_path):
    out = tmp_path / "again.jsonl"
    typed("questions generate time-puzzles --limit 40 --seed 3 --out {} --option processes=3", out)
    assert out.read_bytes() == puzzles.read_bytes()


def test_the_published_format_can_be_written_and_run(tmp_path):
    out = tmp_path / "published.json"
    typed("questions generate time-puzzles --limit 4 --seed 2 --out {} --format published", out)
    assert {"identifier", "constraints_meta", "solutions"} <= json.loads(out.read_text())[0].keys()
    done = typed(
        "run time-puzzles --dataset {} --condition explicit --out {} --json", out, tmp_path / "run"
    )
    assert json.loads(done.stdout)["conditions"]["explicit"]["exact_match"] == 1.0


def test_sets_of_all_calendars(tmp_path):
    out = tmp_path / "mixed.jsonl"
    done = agent_env(
        "questions", "generate", "time-puzzles", "--limit", "12", "--option", "solutions=0-2",
        "--option", "calendars=all", "--out", str(out),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [len(row["gold"]) for row in rows] == [0, 1, 2] * 4
    told = json.loads(agent_env("questions", "audit", str(out), "--json").stdout)
    assert not [row for row in told["per_puzzle"] if row["causes"]]
