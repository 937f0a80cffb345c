"""A user's file of questions, from the command line, against a served model."""

import json

from tests.commands import agent_env, serving, typed
from tests.fake_server.policies import script_policy
from tests.fake_server.server import FakeServer


def test_a_bad_file_is_told_whole_a_line_for_each_defect(tmp_path):
    (tmp_path / "q.csv").write_text("id,question,answer\na,One?,x\nb,,2\n")
    done = agent_env("run", "qa", "--dataset", "q.csv", "--option", "scorer=number",
                     "--model", "compatible/m@http://127.0.0.1:9/v1", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "agent-env: q.csv:2: field 'answer': 'x' is not a number",
        "agent-env: q.csv:3: field 'question' is empty",
    ]


def test_each_row_is_asked_and_scored_and_those_that_where_leaves_out_are_not_checked(tmp_path):
    """The first example of docs/qa.md: one file, a scorer for each topic."""
    (tmp_path / "q.jsonl").write_text(
        '{"id": "leap", "question": "Days of a leap year?", "answer": 366, "topic": "years"}\n'
        '{"id": "wall", "question": "When?", "answer": ["1989-11-09"], "topic": "history"}\n'
        '{"id": "week", "question": "Of a week?", "answer": [7, "7.0"], "topic": "years"}\n'
    )
    (tmp_path / "script.jsonl").write_text(
        '{"match": "leap year", "text": "MY ANSWER: 366 days"}\n'
        '{"match": "week", "text": "MY ANSWER: 5"}\n'
    )
    with serving(FakeServer(script_policy(tmp_path / "script.jsonl"))) as url:
        given = (
            "run qa --dataset q.jsonl --option scorer=number --no-preflight --condition base "
            "--condition cal --first-step auto --out run --json --model {}"
        )
        done = typed(f"{given} --where topic=years", f"compatible/m@{url}", cwd=tmp_path)
        again = typed(given, f"compatible/m@{url}", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "no prompt shows the columns topic" in done.stderr
    base = json.loads(done.stdout)["conditions"]["base"]
    assert (base["episodes"], base["exact_match"]) == (2, 0.5)
    samples = map(json.loads, (tmp_path / "run/samples.jsonl").read_text().splitlines())
    assert [sample["gold"] for sample in samples] == [["366"], ["7", "7.0"]]
    error = "agent-env: q.jsonl:2: field 'answer': '1989-11-09' is not a number\n"
    assert (again.returncode, again.stderr) == (2, error)


def test_answers_scored_by_a_judge_have_their_scores_once_it_has_been_asked(tmp_path):
    """The loop of docs/qa.md: run, judge some, judge the rest, compare."""
    (tmp_path / "open.jsonl").write_text(
        '{"question": "Who founded Rome?", "answer": "Romulus"}\n'
        '{"question": "Who founded Carthage?", "answer": "Dido"}\n'
        '{"question": "Who founded Thebes?", "answer": "Cadmus"}\n'
    )
    (tmp_path / "script.jsonl").write_text(
        '{"match": "Right answer:\\nRomulus", "text": "Same.\\nVERDICT: CORRECT"}\n'
        '{"match": "Right answer:\\nDido", "text": "Another.\\nVERDICT: INCORRECT"}\n'
        '{"match": "Right answer:\\nCadmus", "text": "Who knows?"}\n'
        '{"match": "founded", "text": "MY ANSWER: the elder twin"}\n'
    )
    with serving(FakeServer(script_policy(tmp_path / "script.jsonl"))) as url:
        model = f"compatible/fake@{url}"
        asked = "run open.jsonl --option scorer=judge --model {} --condition base --condition cal"
        done = typed(f"{asked} --first-step auto --no-preflight --out run", model, cwd=tmp_path)
        judge = "episodes judge run --model {} --metric judged_right --json"
        some = json.loads(typed(f"{judge} --limit 2", model, cwd=tmp_path).stdout)
        rest = json.loads(typed(judge, model, cwd=tmp_path).stdout)
        none = json.loads(typed(judge, model, cwd=tmp_path).stdout)
    assert (done.returncode, "no verdict yet: agent-env episodes judge" in done.stderr) == (0, True)
    kept = [(each["chosen"], each["kept"]) for each in (some, rest, none)]
    assert kept == [(2, 0), (6, 2), (6, 6)]
    (judge,) = none["judges"]
    assert (judge["answers"], judge["judged"], judge["unparsable"]) == (6, 4, 2)
    table = typed("compare run --table conditions --to csv", cwd=tmp_path).stdout
    rows = [row.split(",") for row in table.splitlines()[1:]]
    assert [(row[0], row[1], row[3]) for row in rows] == [
        ("condition", "n", "judged_right"), ("base", "2", "0.5"), ("cal", "2", "0.5"),
    ]  # fmt: skip
    assert "no verdict of the judge is right or wrong" in typed("show run", cwd=tmp_path).stderr
