"""`questions audit` as a user types it."""

import csv
import json
from pathlib import Path

import pytest

from agent_env.features.facts.tables import tables
from tests.commands import agent_env, typed


@pytest.fixture(scope="module")
def puzzles(tmp_path_factory):
    out = tmp_path_factory.mktemp("sets") / "puzzles.jsonl"
    done = typed(
        "questions generate time-puzzles --limit 40 --seed 3 --out {} --option processes=1", out
    )
    assert done.returncode == 0, done.stderr
    return out


def test_without_its_table_a_set_has_no_guess_rates(tmp_path):
    own, table = tmp_path / "own.jsonl", tmp_path / "events.csv"
    shipped = Path(tables.__file__).with_name("events.csv").read_text()
    head, *rows = csv.reader(shipped.splitlines())
    with table.open("w", newline="") as file:
        csv.writer(file).writerows([head, *([f"{row[0]} of Ys", *row[1:]] for row in rows)])
    made = typed(
        "questions generate time-puzzles --limit 4 --option facts_table={} --out {}", table, own
    )
    assert made.returncode == 0, made.stderr
    without = agent_env("questions", "audit", str(own))
    assert "guess rates: unknown" in without.stdout
    assert without.stderr == (
        "4 of 4 puzzles name events that the shipped table lacks, so guess rates are unknown; "
        "name the puzzles' own table by --facts-table EVENTS.csv\n"
    )
    told = json.loads(
        agent_env("questions", "audit", str(own), "--facts-table", str(table), "--json").stdout
    )
    assert told["guess_rates"]["ignore_event"] == 0.0


def test_an_audit_finds_and_mends_a_wrong_gold(puzzles, tmp_path):
    rows = [json.loads(line) for line in puzzles.read_text().splitlines()]
    rows[5]["gold"] = ["1999-12-31"]
    broken, mended = tmp_path / "broken.jsonl", tmp_path / "mended.jsonl"
    broken.write_text("".join(json.dumps(row) + "\n" for row in rows))
    told = json.loads(
        agent_env("questions", "audit", str(broken), "--json", "--fix", str(mended)).stdout
    )
    assert told["wrong_gold"] == 1
    assert (
        told["per_puzzle"][5]["solutions"]
        == json.loads(puzzles.read_text().splitlines()[5])["gold"]
    )
    again = json.loads(agent_env("questions", "audit", str(mended), "--json").stdout)
    assert again["wrong_gold"] == 0


def test_an_audit_that_can_judge_nothing_has_no_counts_and_exits_1(puzzles, tmp_path):
    rows = [json.loads(line) for line in puzzles.read_text().splitlines()[:3]]
    bare, mended = tmp_path / "bare.jsonl", tmp_path / "mended.jsonl"
    lines = [
        json.dumps({**row, "facts": [], "constraints": ["?"], "gold": []}) + "\n" for row in rows
    ]
    bare.write_text("".join(lines))
    done = agent_env("questions", "audit", str(bare), "--json", "--fix", str(mended))
    told = json.loads(done.stdout)
    assert (done.returncode, told["puzzles"], told["judged"]) == (1, 3, 0)
    assert (told["wrong_gold"], told["any_unnecessary"], told["guess_rates"]) == (None, None, None)
    assert [row["gold"] for row in told["per_puzzle"]] == [None, None, None]
    assert not mended.exists()
    shown = agent_env("questions", "audit", str(bare))
    assert shown.stdout.startswith("judged 0 of 3 puzzles\njudged ")
    assert "wrong" not in shown.stdout
    assert "guess" not in shown.stdout
    assert shown.stderr.startswith(
        f"nothing was judged: of no puzzle in {bare} are all facts known"
    )
