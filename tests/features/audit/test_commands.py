"""`questions audit` as a user types it."""

import csv
import json
from pathlib import Path

import pytest

from agent_env.features.facts.tables import tables
from tests.commands import typed


@pytest.fixture(scope="module")
def puzzles(tmp_path_factory):
    out = tmp_path_factory.mktemp("sets") / "puzzles.jsonl"
    generated("--limit 40 --seed 3 --option processes=1 --out {}", out)
    return out


def generated(line, *values):
    done = typed(f"questions generate time-puzzles {line}", *values)
    assert done.returncode == 0, done.stderr


def told(line, *values):
    """What the audit says of a file, as JSON."""
    return json.loads(typed(f"questions audit {line} --json", *values).stdout)


def test_without_its_table_a_set_has_no_guess_rates(tmp_path):
    own, table = tmp_path / "own.jsonl", tmp_path / "events.csv"
    head, *rows = csv.reader(Path(tables.__file__).with_name("events.csv").read_text().splitlines())
    with table.open("w", newline="") as file:
        csv.writer(file).writerows([head, *([f"{row[0]} of Ys", *row[1:]] for row in rows)])
    generated("--limit 4 --option facts_table={} --out {}", table, own)
    without = typed("questions audit {}", own)
    assert "guess rates: unknown" in without.stdout
    assert without.stderr == (
        "4 of 4 puzzles name events that the shipped table lacks, so guess rates are unknown; "
        "name the puzzles' own table by --facts-table EVENTS.csv\n"
    )
    assert told("{} --facts-table {}", own, table)["guess_rates"]["ignore_event"] == 0.0


def test_an_audit_finds_and_mends_a_wrong_gold(puzzles, tmp_path):
    rows = [json.loads(line) for line in puzzles.read_text().splitlines()]
    right, rows[5]["gold"] = rows[5]["gold"], ["1999-12-31"]
    broken, mended = tmp_path / "broken.jsonl", tmp_path / "mended.jsonl"
    broken.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = told("{} --fix {}", broken, mended)
    assert (found["wrong_gold"], found["per_puzzle"][5]["solutions"]) == (1, right)
    assert told("{}", mended)["wrong_gold"] == 0


def test_an_audit_that_can_judge_nothing_has_no_counts_and_exits_1(puzzles, tmp_path):
    rows = [json.loads(line) for line in puzzles.read_text().splitlines()[:3]]
    bare, mended = tmp_path / "bare.jsonl", tmp_path / "mended.jsonl"
    nothing = {"facts": [], "constraints": ["?"], "gold": []}
    bare.write_text("".join(json.dumps(row | nothing) + "\n" for row in rows))
    done = typed("questions audit {} --json --fix {}", bare, mended)
    found = json.loads(done.stdout)
    assert (done.returncode, found["puzzles"], found["judged"]) == (1, 3, 0)
    names = ("wrong_gold", "any_unnecessary", "guess_rates")
    assert [found[name] for name in names] == [None, None, None]
    assert [row["gold"] for row in found["per_puzzle"]] == [None, None, None]
    assert not mended.exists()
    shown = typed("questions audit {}", bare)
    assert shown.stdout.startswith("judged 0 of 3 puzzles\njudged ")
    assert ("wrong" in shown.stdout, "guess" in shown.stdout) == (False, False)
    assert shown.stderr.startswith(
        f"nothing was judged: of no puzzle in {bare} are all facts known"
    )
