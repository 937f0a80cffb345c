"""generate as a user types it."""

import json

import pytest

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
