"""TempReason and TimeQA as a user types them: generate, run, inspect, draw, compare, replay."""

import json

import pytest

from agent_env.analysis.intervals import wilson
from tests.commands import agent_env, typed


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reason")
    options = ["--option", "levels=L2", "--option", "per-cell=20"]
    done = agent_env(
        "questions",
        "generate",
        "tempreason",
        "--seed",
        "3",
        *options,
        "--out",
        str(folder / "q.jsonl"),
    )
    told = f"40 questions in {folder / 'q.jsonl'}; details: {folder / 'q.summary.json'}\n"
    first, shortcuts, too_easy = done.stderr.splitlines(keepends=True)
    assert first == told
    assert "latest-row 3 (7.5%), random-row 4 (10.0%), ignore-time 0 (0.0%)" in shortcuts
    easy = "tr-3-00009, tr-3-00024, tr-3-00033"
    assert f"too easy, as latest-row answers the fact that began last: {easy}" in too_easy
    for strategy in ("extract-run", "extract-simulate"):
        done = agent_env(
            "run", "tempreason", "--dataset", str(folder / "q.jsonl"), "--strategy", strategy,
            "--model", "reference-static", "--out", str(folder / strategy),
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    return folder


def test_execution_answers_and_files_are_inspected_and_drawn_from(made):
    told = typed("compare {} {} --by cell --json", made / "extract-run", made / "extract-simulate")
    tables = json.loads(told.stdout)
    rows = {row["cell"]: row for row in tables["by-cell"]["rows"]}
    ran = [rows[f"L2-{kind}"]["extract-run base"] for kind in ("single", "multi")]
    assert (ran[0]["value"], ran[0]["high"], ran[1]["value"]) == (1.0, 1.0, 1.0)
    assert ran[0]["low"] == pytest.approx(wilson(1.0, 20)[0])
    assert rows["L2-multi"]["extract-simulate base"]["value"] < 1.0
    extraction = tables["extraction"]["rows"][0]
    assert extraction.pop("condition") == "extract-run base"
    assert {figure["value"] for figure in extraction.values()} == {1.0}
    refused = agent_env("run", "timeqa", "--dataset", str(made / "q.jsonl"))
    assert refused.returncode == 2
    assert refused.stderr.endswith("is a question of tempreason, not of timeqa; run that task\n")
    told = json.loads(
        agent_env("questions", "tempreason", "inspect", str(made / "q.jsonl"), "--json").stdout
    )
    assert told["cells"] == {"L2-multi": 20, "L2-single": 20}
    assert told["agree"] == told["solved"] == told["cells"]
    out = made / "drawn.jsonl"
    drawn = typed("questions tempreason draw {} --per-cell 25 --out {}", made / "q.jsonl", out)
    assert "L2-multi: 20, as the file has no more (wanted 25)" in drawn.stderr
    assert len(out.read_text().splitlines()) == 40


def test_a_file_without_facts_is_neither_called_right_nor_asked_without_them(tmp_path):
    file = tmp_path / "timeqa_hard_timebench.jsonl"
    record = {
        "question": "Who led Karvel in 1890?", "context": "A text.", "answer": ["Bo Lind"],
        "question_type": "in_implicit", "idx": "/wiki/Karvel#P6#0",
    }  # fmt: skip
    file.write_text(json.dumps(record))
    told = agent_env("questions", "tempreason", "inspect", str(file))
    assert told.returncode == 1
    assert "judged 0 of 1; the others have no readable facts" in told.stdout
    out = tmp_path / "run"
    options = ("--option", "setting=reasonqa", "--out", str(out))
    refused = agent_env("run", "timeqa", "--dataset", str(file), *options)
    assert refused.returncode == 2
    assert refused.stderr == (
        "agent-env: 'timeqa-000001-wiki-Karvel-P6-0' has no context in the setting reasonqa; "
        "write --option setting=open-book or setting=closed-book\n"
    )
    assert not out.exists()
