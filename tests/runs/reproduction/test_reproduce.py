"""`agent-env reproduce`: runs, response files and files of questions beside a paper's values."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_env.runs.reproduction import pages
from tests.commands import Done, agent_env

PUZZLE = {
    "identifier": "a-1",
    "constraints": [
        "The year is a leap year.",
        "The month is February.",
        "The day of the month is 10.",
    ],
    "explicit_constraints": [
        "The year is 1984.",
        "The month is February.",
        "The day of the month is 10.",
    ],
    "constraints_meta": [
        {"type": "leap_year", "value": True},
        {"type": "month", "value": 2},
        {"type": "day_of_month_specific", "day": 10},
    ],
    "solutions": ["1984-02-10"],
    "solution_count": 1,
    "year_range": [1982, 1986],
    "seed_date": "1984-02-10",
    "noise_date": None,
}
"""By hand, in the authors' format."""


@pytest.fixture
def puzzles(tmp_path: Path) -> Path:
    other = {**PUZZLE, "identifier": "a-2", "solutions": ["1984-02-11"]}
    file = tmp_path / "puzzles.json"
    file.write_text(json.dumps([PUZZLE, other]))
    return file


@pytest.fixture
def without_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the extra is not installed: drawing takes most of a small reproduction's time."""
    monkeypatch.setattr(pages, "missing_of", lambda *names: ["matplotlib"])


def reproduce(folder: Path, *arguments: str) -> Done:
    return agent_env("reproduce", "time-puzzles", "--out", "out", *arguments, cwd=folder)


def rows(done: Done, experiment: str) -> list[dict[str, object]]:
    return json.loads(done.stdout)["experiments"][experiment][experiment]["rows"]


def outputs(folder: Path, condition: str, model: str, *responses: str | None) -> Path:
    file = folder / condition / f"{model}.json"
    file.parent.mkdir()
    keys = ("constraints", "solutions", "solution_count")
    own = [
        {"identifier": f"a-{k}", "response": text, "output_tokens": 10 * k}
        | {key: PUZZLE[key] for key in keys}
        for k, text in enumerate(responses, start=1)
    ]
    file.write_text(json.dumps(own))
    return file


def test_a_given_file_is_asked_and_each_value_has_interval_n_and_reason(
    tmp_path: Path, puzzles: Path
) -> None:
    done = reproduce(tmp_path, "--file", str(puzzles), "--only", "table1", "--json")
    assert done.returncode == 0, done.stderr
    explicit = [row for row in rows(done, "table1") if row["quantity"] == "EM explicit"]
    published, corrected = (row for row in explicit if row["row"] == "reference")
    assert (published["gold"], published["ours (95 % CI)"]["value"]) == ("published", 50.0)
    assert (corrected["gold"], corrected["ours (95 % CI)"]["value"]) == ("corrected", 100.0)
    assert published["n"] == 2
    assert published["why they differ"] == "no row of the paper; its rows have 12.3 to 80.7"
    assert (tmp_path / "out" / "report.html").exists()


@pytest.mark.usefixtures("without_figures")
def test_the_authors_outputs_are_scored_beside_their_own_row(tmp_path: Path, puzzles: Path) -> None:
    base = outputs(tmp_path, "no_tool_use", "gpt-5-2025-08-07", "MY ANSWER: 1984-02-10", None)
    explicit = outputs(
        tmp_path, "no_tool_use_with_explicit_constraints", "gpt-5-2025-08-07",
        "MY ANSWER: 1984-02-10", "MY ANSWER: 1984-02-11",
    )  # fmt: skip
    done = reproduce(
        tmp_path, "--responses", str(base), "--responses", str(explicit), "--file", str(puzzles),
        "--only", "table1", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    own = {
        (row["gold"], row["quantity"]): row
        for row in rows(done, "table1")
        if row["row"] == "gpt-5-2025-08-07"
    }
    implicit = own["published", "EM implicit"]
    assert (implicit["paper"], implicit["ours (95 % CI)"]["value"]) == (49.3, 50.0)
    assert implicit["why they differ"] == "the paper's value lies in our interval"
    assert own["published", "EM explicit"]["ours (95 % CI)"]["value"] == 100.0
    assert own["corrected", "EM explicit"]["ours (95 % CI)"]["value"] == 50.0
    assert own["published", "tokens implicit"]["ours (95 % CI)"]["value"] == 15.0


@pytest.mark.usefixtures("without_figures")
def test_the_same_command_continues_and_another_plan_is_refused(
    tmp_path: Path, puzzles: Path
) -> None:
    asked = ("--file", str(puzzles), "--only", "figure4", "--json")
    stopped = reproduce(tmp_path, *asked, "--run-tokens", "10")
    assert stopped.returncode == 1
    assert "of its 10 tokens" in stopped.stderr
    assert "the same command continues" in stopped.stderr
    done = reproduce(tmp_path, *asked, "--run-tokens", "100000")
    assert (done.returncode, "no figures and no page" in done.stderr) == (0, True)
    traces = sorted((tmp_path / "out").rglob("*.1.jsonl"))
    before = [trace.stat().st_mtime_ns for trace in traces]
    assert len(traces) == 4
    assert reproduce(tmp_path, *asked).returncode == 0
    assert [trace.stat().st_mtime_ns for trace in traces] == before
    other = reproduce(tmp_path, *asked, "--limit", "1")
    assert other.returncode == 2
    assert "has limit None, not 1; name another --out" in other.stderr


def test_what_cannot_be_run_says_why_and_keeps_nothing_else(tmp_path: Path) -> None:
    wrong = reproduce(tmp_path, "--only", "table9")
    assert wrong.returncode == 2
    assert "--only table9: the paper has table1, figure2, figure3, table3, figure4" in wrong.stderr
    file = tmp_path / "elsewhere" / "m.json"
    file.parent.mkdir()
    file.write_text("[]")
    unknown = reproduce(tmp_path, "--responses", str(file))
    assert unknown.returncode == 2
    assert "its folder 'elsewhere' names no condition; known: no_tool_use" in unknown.stderr
    listed = agent_env("reproduce", "time-puzzles", "--list").stdout
    assert "Table 3: exact match against F1 and Jaccard" in listed
