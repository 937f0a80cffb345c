"""generate and audit as a user types them."""

import csv
import json
from pathlib import Path

import pytest

from agent_env.features.facts.tables import tables
from tests.commands import agent_env, typed

SMALL = "event,start,end,multi_year_spans\nthe Lamp Fair,1903-05-02,1903-09-30,\n"
"""An event table in the small form."""


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


def test_the_published_format_can_be_written_and_run(tmp_path):
    out = tmp_path / "published.json"
    typed("questions generate time-puzzles --limit 4 --seed 2 --out {} --format published", out)
    assert {"identifier", "constraints_meta", "solutions"} <= json.loads(out.read_text())[0].keys()
    done = typed(
        "run time-puzzles --dataset {} --condition explicit --out {} --json", out, tmp_path / "run"
    )
    assert json.loads(done.stdout)["conditions"]["explicit"]["exact_match"] == 1.0


def test_sets_of_all_calendars_and_impossible_shapes(tmp_path):
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
    out = tmp_path / "some.jsonl"
    done = agent_env(
        "questions", "generate", "time-puzzles", "--limit", "3000", "--option", "facts=1-4",
        "--option", "solutions=7", "--out", str(out),
    )  # fmt: skip
    assert done.returncode == 2
    assert "no puzzle with 1 facts and 7 solutions was found in 4000 tries" in done.stderr
    assert not out.exists()


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--option", "facts=x"], "--option facts: 'x' is not a range; write 5 or 4-6"),
        (["--option", "solutions=5-2"], "--option solutions: '5-2' is reversed; write 2-5"),
        (
            ["--option", "solutions=5-2000"],
            "--option solutions: '5-2000' does not lie within 0-1000",
        ),
        (
            ["--option", "years=2050-1900"],
            "--option years: '2050-1900' is reversed; write 1900-2050",
        ),
        (
            ["--option", "facts_table=small.csv"],
            "small.csv:2: no column 'kind'; first make the full form",
        ),
        (["--option", "calendars=mayan"], "unknown calendar 'mayan'; known: all, chinese"),
        (["--format", "csv"], "unknown format 'csv'; known: samples, published"),
        (["--option", "facts_table=none.csv"], "none.csv: cannot be read"),
        (["--out", "/proc/x"], "cannot write to /proc/x"),
    ],
)
def test_a_mistake_is_one_line_and_exit_2(options, line, tmp_path):
    (tmp_path / "small.csv").write_text(SMALL)
    where = [] if "--out" in options else ["--out", str(tmp_path / "x.jsonl")]
    done = agent_env("questions", "generate", "time-puzzles", *where, *options, cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert line in done.stderr
