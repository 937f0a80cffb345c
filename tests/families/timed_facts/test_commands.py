"""TempReason and TimeQA as a user types them: generate, run, inspect, draw, compare, replay."""

import json

import pytest

from agent_env.analysis.intervals import wilson
from tests.commands import typed


def test_execution_answers_and_files_are_inspected_and_drawn_from(tmp_path):
    file = tmp_path / "q.jsonl"
    options = "--seed 3 --option levels=L2 --option per-cell=20"
    done = typed(f"questions generate tempreason {options} --out {{}}", file)
    first, shortcuts, too_easy = done.stderr.splitlines()
    assert first == f"40 questions in {file}; details: {tmp_path / 'q.summary.json'}"
    assert "latest-row 3 (7.5%), random-row 4 (10.0%), ignore-time 0 (0.0%)" in shortcuts
    easy = "tr-3-00009, tr-3-00024, tr-3-00033"
    assert f"too easy, as latest-row answers the fact that began last: {easy}" in too_easy
    ran, simulated = tmp_path / "extract-run", tmp_path / "extract-simulate"
    for run in (ran, simulated):
        asked = "run tempreason --dataset {} --strategy {} --model reference-static --out {}"
        done = typed(asked, file, run.name, run)
        assert done.returncode == 0, done.stderr
    tables = json.loads(typed("compare {} {} --by cell --json", ran, simulated).stdout)
    rows = {row["cell"]: row for row in tables["by-cell"]["rows"]}
    single, multi = (rows[f"L2-{kind}"]["extract-run base"] for kind in ("single", "multi"))
    assert (single["value"], single["high"], multi["value"]) == (1.0, 1.0, 1.0)
    assert single["low"] == pytest.approx(wilson(1.0, 20)[0])
    assert rows["L2-multi"]["extract-simulate base"]["value"] < 1.0
    extraction = tables["extraction"]["rows"][0]
    assert extraction.pop("condition") == "extract-run base"
    assert {figure["value"] for figure in extraction.values()} == {1.0}
    refused = typed("run timeqa --dataset {}", file)
    assert refused.returncode == 2
    assert refused.stderr.endswith("is a question of tempreason, not of timeqa; run that task\n")
    told = json.loads(typed("questions tempreason inspect {} --json", file).stdout)
    assert told["cells"] == {"L2-multi": 20, "L2-single": 20}
    assert told["agree"] == told["solved"] == told["cells"]
    out = tmp_path / "drawn.jsonl"
    drawn = typed("questions tempreason draw {} --per-cell 25 --out {}", file, out)
    assert "L2-multi: 20, as the file has no more (wanted 25)" in drawn.stderr
    assert len(out.read_text().splitlines()) == 40


def test_a_file_without_facts_is_neither_called_right_nor_asked_without_them(tmp_path):
    file, out = tmp_path / "timeqa_hard_timebench.jsonl", tmp_path / "run"
    record = {
        "question": "Who led Karvel in 1890?", "context": "A text.", "answer": ["Bo Lind"],
        "question_type": "in_implicit", "idx": "/wiki/Karvel#P6#0",
    }  # fmt: skip
    file.write_text(json.dumps(record))
    told = typed("questions tempreason inspect {}", file)
    assert told.returncode == 1
    assert "judged 0 of 1; the others have no readable facts" in told.stdout
    refused = typed("run timeqa --dataset {} --option setting=reasonqa --out {}", file, out)
    assert (refused.returncode, refused.stderr) == (
        2,
        "agent-env: 'timeqa-000001-wiki-Karvel-P6-0' has no context in the setting reasonqa; "
        "write --option setting=open-book or setting=closed-book\n",
    )
    assert not out.exists()
