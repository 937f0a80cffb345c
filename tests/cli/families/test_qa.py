"""A user's file of questions, from the command line, against a served model."""

import json

import pytest

from tests.commands import agent_env, serving
from tests.fake_server.policies import script_policy
from tests.fake_server.server import FakeServer

QUESTIONS = """\
{"id": "leap", "question": "How many days has a leap year?", "answer": 366, "topic": "years"}
{"id": "week", "question": "How many days has a week?", "answer": [7, "7.0"], "topic": "weeks"}
"""
SCRIPT = """\
{"match": "leap year", "text": "MY ANSWER: 366 days"}
{"match": "week", "text": "MY ANSWER: 5"}
"""


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("qa")
    (folder / "questions.jsonl").write_text(QUESTIONS)
    (folder / "script.jsonl").write_text(SCRIPT)
    with serving(FakeServer(script_policy(folder / "script.jsonl"))) as url:
        done = agent_env(
            "run", "qa", "--dataset", "questions.jsonl", "--option", "scorer=number",
            "--model", f"compatible/m@{url}", "--condition", "base", "--condition", "cal",
            "--first-step", "auto", "--no-preflight",
            "--out", "run", "--json", cwd=folder,
        )  # fmt: skip
    return folder / "run", done


def test_each_question_is_asked_and_scored(asked):
    run, done = asked
    assert done.returncode == 0, done.stderr
    base = json.loads(done.stdout)["conditions"]["base"]
    assert (base["episodes"], base["exact_match"]) == (2, 0.5)
    samples = [json.loads(line) for line in (run / "samples.jsonl").read_text().splitlines()]
    assert [sample["gold"] for sample in samples] == [["366"], ["7", "7.0"]]


def test_a_bad_file_is_told_whole_a_line_for_each_defect(tmp_path):
    (tmp_path / "q.csv").write_text("id,question,answer\na,One?,x\nb,,2\n")
    done = agent_env("run", "qa", "--dataset", "q.csv", "--option", "scorer=number",
                     "--model", "compatible/m@http://127.0.0.1:9/v1", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "agent-env: q.csv:2: field 'answer': 'x' is not a number",
        "agent-env: q.csv:3: field 'question' is empty",
    ]


def test_rows_that_where_leaves_out_are_not_checked(tmp_path):
    """The first example of docs/qa.md: one file, a scorer for each topic."""
    (tmp_path / "q.jsonl").write_text(
        '{"id": "leap", "question": "How many days?", "answer": 366, "topic": "years"}\n'
        '{"id": "wall", "question": "When?", "answer": ["1989-11-09"], "topic": "history"}\n'
    )
    (tmp_path / "script.jsonl").write_text('{"match": "", "text": "MY ANSWER: 366"}\n')
    with serving(FakeServer(script_policy(tmp_path / "script.jsonl"))) as url:
        given = ("run", "qa", "--dataset", "q.jsonl", "--option", "scorer=number", "--no-preflight",
                 "--condition", "base", "--model", f"compatible/m@{url}", "--json")  # fmt: skip
        done = agent_env(*given, "--where", "topic=years", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "no prompt shows the columns topic" in done.stderr
        assert json.loads(done.stdout)["conditions"]["base"]["exact_match"] == 1.0
        done = agent_env(*given, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "agent-env: q.jsonl:2: field 'answer': '1989-11-09' is not a number\n"
