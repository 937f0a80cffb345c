"""A release: made, opened and asked, scored, revealed, and followed by the next edition."""

import json
import shutil
import subprocess
import sys

import pytest

from agent_env.extensions.release import release as releases
from agent_env.extensions.release.release import NewOptions
from tests.commands import agent_env

PARTS = ("tempreason", "temp-answers")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    out = tmp_path_factory.mktemp("release") / "dates"
    releases.new(NewOptions("dates", parts=PARTS, limit=6, doi="10.5072/test", out=out))
    return out


def private(made):
    for number in (1, 2):
        for line in (made / f"private/samples-{number}.jsonl").read_text().splitlines():
            yield json.loads(line)


def test_nothing_public_tells_a_private_question_or_a_seed(made):
    text = b"".join(file.read_bytes() for file in (made / "public").iterdir()).decode()
    questions = (made / "private/questions.jsonl").read_text().splitlines()
    assert len(questions) == 12
    assert releases.read_release(made)["commitments"]["alsoPublic"] == 0
    assert not [q for q in questions if json.loads(q)["question"] in text]
    assert not [each for each in private(made) if each["id"] in text]
    secret = json.loads((made / "private/secret.json").read_text())
    assert not [word for word in (secret["salt"], *map(str, secret["seeds"])) if word in text]


def test_public_answers_stand_in_no_plain_text_and_can_be_opened_and_asked(made, tmp_path):
    (first, second) = releases.open_public(made / "public", tmp_path / "opened")
    golds = [json.loads(line)["gold"][0] for line in first.read_text().splitlines()]
    hidden = (made / "public/answers.txt").read_text()
    assert not [gold for gold in golds if gold in hidden]
    done = agent_env(
        "run", "tempreason", "--dataset", str(first), "--condition", "base", "--out",
        str(tmp_path / "run"), "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["conditions"]["base"]["sem"] == 1.0
    assert second.with_name("samples-2.materials.jsonl").exists()


def test_what_was_revealed_proves_each_sample(made, tmp_path):
    releases.reveal(made, tmp_path / "revealed.json")
    published = shutil.copytree(made / "public", tmp_path / "published")
    assert releases.check(published, tmp_path / "revealed.json") == []
    lines = (published / "commitments.txt").read_text().splitlines()
    lines[2] = "0" * 64
    (published / "commitments.txt").write_text("\n".join(lines))
    assert releases.check(published, tmp_path / "revealed.json") == [
        "commitments.txt: its root is not the one of release.json",
        "dates-1-private-1-00003: is not the sample that was committed to",
    ]


def test_other_seeds_than_those_committed_to_are_found(made, tmp_path):
    releases.reveal(made, tmp_path / "revealed.json")
    secret = json.loads((tmp_path / "revealed.json").read_text())
    (tmp_path / "other.json").write_text(json.dumps(secret | {"seeds": [7, 8]}))
    findings = releases.check(made, tmp_path / "other.json")
    assert findings[0] == "the seeds are not those that were committed to"
    assert len(findings) == 13
    (tmp_path / "none.json").write_text(json.dumps(secret | {"seeds": "many"}))
    done = agent_env("release", "reveal", str(made), "--check", str(tmp_path / "none.json"))
    assert (done.returncode, "is not what was revealed" in done.stderr) == (2, True)


def test_responses_are_scored_and_what_is_none_is_told_by_its_line(made, tmp_path):
    rows = [*private(made)]
    lines = [json.dumps({"id": r["id"], "answer": ", ".join(r["gold"])}) for r in rows[:4]]
    lines += [lines[0], "no json", '{"id": "elsewhere-1", "answer": "x"}', '{"id": 3}', ""]
    file, notes = tmp_path / "responses.jsonl", []
    file.write_text("\n".join(lines))
    one, two = releases.score(made, file, notes.append)
    assert (one.part, one.samples, one.answered, one.right) == ("tempreason", 6, 4, 4)
    assert (two.answered, two.right, two.low) == (0, 0, 0.0)
    assert notes == [
        f"{file}:5: is a second response to its sample; left out",
        f'{file}:6: has no "id" and "answer" that are texts; left out',
        f'{file}:8: has no "id" and "answer" that are texts; left out',
        "1 responses are to no sample of the private half: elsewhere-1, …",
    ]


def test_the_next_edition_has_fresh_questions_and_names_the_old_commitments(made, tmp_path):
    release = releases.next_edition(made, tmp_path / "two", None)
    old = releases.read_release(made)
    assert (release["edition"], release["publicSeed"]) == (2, 2)
    assert release["editions"][0]["root"] == old["commitments"]["root"]
    assert release["commitments"]["root"] != old["commitments"]["root"]
    assert old["commitments"]["root"] in (tmp_path / "two/public/CHANGELOG.md").read_text()


def test_editions_are_equated_by_the_runs_of_anchor_models(made, tmp_path):
    runs = []
    for model, limit in (("reference", 4), ("reference-static", 4)):
        for seed in (1, 2):
            out = tmp_path / f"{model}-{seed}"
            agent_env("run", "tempreason", "--model", model, "--limit", str(limit), "--seed",
                      str(seed), "--condition", "base", "--out", str(out))  # fmt: skip
            runs.append(releases.Run(out))
    equating = releases.equate([(runs[0], runs[1]), (runs[2], runs[3])])
    assert equating.anchors == 2
    assert equating.error is not None
    with pytest.raises(releases.ConfigError, match="not of one model"):
        releases.equate([(runs[0], runs[2])])


VALIDATE = """
import json, sys, mlcroissant
data = mlcroissant.Dataset(jsonld=sys.argv[1])
rows = list(data.records("questions"))
errors, limitations = data.metadata.ctx.issues.errors, data.metadata.data_limitations
print(json.dumps([len(rows), list(errors), limitations]))
"""
"""In a process of its own: absl, which it imports, closes the streams of others when logging is
configured anew (absl-py 2.5.1, PythonHandler.close)."""


def test_the_croissant_file_passes_the_reference_validator(made):
    pytest.importorskip("rdflib")  # of mlcroissant, and without a handler of logs
    command = [sys.executable, "-W", "ignore", "-c", VALIDATE, made / "public/croissant.json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    rows, errors, (limitations,) = json.loads(done.stdout)
    assert (rows, errors) == (12, [])
    assert limitations.startswith("The questions are made from templates")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("new", "a/b"), "is no name of a release"),
        (("new", "x", "--limit", "0"), "limit"),
        (("new", "x", "--part", "nothing"), "nothing"),
        (("new", "x", "--part", "qa", "--part", "qa"), "named twice"),
        (("score", "nowhere", "responses.jsonl"), "is no release"),
    ],
)
def test_mistakes_are_told_in_a_line(words, problem, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = agent_env("release", *words)
    assert done.returncode == 2
    assert problem in done.stderr


def test_a_folder_that_is_not_empty_is_left_as_it_is(made):
    with pytest.raises(releases.ConfigError, match="is not empty"):
        releases.new(NewOptions("dates", out=made))
