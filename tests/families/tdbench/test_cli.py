"""Questions from temporal tables as a user types them: generate, run, import."""

import json
import shlex

import pytest

from tests.commands import agent_env


def typed(*arguments):
    done = agent_env(*map(str, arguments))
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A set and a run of it by the reference."""
    out = tmp_path_factory.mktemp("td")
    small = ("--option", "rows=60", "--option", "domains=clubs,laws")
    made = typed(
        "questions", "generate", "tdbench", "--limit", 12, "--out", out / "td.jsonl", *small
    )
    assert made == (0, "", made[2])
    told = made[2].splitlines()
    assert told[0] == f"12 questions in {out}/td.jsonl; details: {out}/td.summary.json"
    groups = "27 groups of laws by matter and status with less than two answers"
    assert told[1] == f"  left out: {groups}"
    run = ("--dataset", out / "td.jsonl", "--condition", "base", "--out", out / "run")
    code, _, said = typed("run", "tdbench", *run)
    assert code == 0, said
    return out


def test_a_set_tells_what_made_it_and_is_answered(folder):
    summary = json.loads((folder / "td.summary.json").read_text())
    assert {k: summary[k] for k in ("task", "generator", "seed", "asked", "made")} == {
        "task": "tdbench", "generator": 6, "seed": 1, "asked": 12, "made": 12,
    }  # fmt: skip
    assert summary["options"]["rows"] == 60
    code, out, _ = typed("show", folder / "run", "--json")
    told = json.loads(out)
    assert (code, told["conditions"]["base"]["answer"]) == (0, 1.0)


def test_a_published_set_is_checked_and_written_as_samples(tmp_path):
    (tmp_path / "leaders.csv").write_text(
        "Country,Role,Name,Start,End\n"
        "Aland,President,Ada Berg,1992-05-28,1999-05-18\n"
        "Aland,President,Carl Dahl,1999-05-18,2006-05-15\n"
    )
    where = "from leaders where Country = 'Aland' and Start > '1995-01-01 00:00:00'"
    rows = [{"Name": "Carl Dahl", "Start": "1999-05-18 00:00:00", "End": "2006-05-15 00:00:00"}]
    entry = {
        "op": "after", "qtype": "basic_unique", "incorrect_rows": [], "questions": ["Who?", "Who?"],
        "sql_for_db": f"select Name, Start, End {where}",
    }  # fmt: skip
    entries = [{**entry, "idx": 0, "correct_rows": rows}, {**entry, "idx": 1, "correct_rows": []}]
    (tmp_path / "questions.json").write_text(json.dumps(entries))
    out = tmp_path / "out" / "published.jsonl"
    found = typed("questions", "tdbench", "import", tmp_path, "--out", out, "--json")
    told = json.loads(found[1])
    assert (found[0], told["questions"], told["equal"], told["samples"]) == (0, 2, 1, 2)
    assert told["differences"][0]["extra"] != []
    assert (told["refused"], told["proofs"][0]["reproduced"]) == (1, 1)
    assert len(out.read_text().splitlines()) == 2
    run = ("--dataset", out, "--condition", "base", "--out", tmp_path / "run")
    code, shown, said = typed("run", "tdbench", *run)
    assert code == 0, said
    assert "Certificate of the import" in shown
    assert "/questions.json" in shown
    assert "days with midnight, open" in shown


def test_a_table_is_examined_and_repaired_with_a_log(tmp_path):
    file, out = tmp_path / "posts.csv", tmp_path / "mended.csv"
    file.write_text("Post,Who,Start,End\na,P,2001,2005\na,Q,2005,2005\na,R,2005,nan\n")
    columns = ("--option", "question=Post", "--option", "answer=Who")
    code, shown, said = typed("questions", "tdbench", "doctor", file, *columns)
    assert (code, "--option repair=standard" in said) == (1, True)
    assert "zero-length" in shown
    assert "line 3: 2005 to 2005" in shown
    repair = ("--option", "repair=standard", "--out", out)
    code, shown, _ = typed("questions", "tdbench", "doctor", file, *columns, *repair, "--json")
    report = json.loads(shown)
    assert (code, report["blocked"], len(report["tables"][0]["log"])) == (0, False, 2)
    assert out.read_text() == "post,who,start,end\na,P,2001,2005\na,R,2005,\n"
    log = [json.loads(line) for line in (tmp_path / "mended.repairs.jsonl").open()]
    assert [(e["line"], e["policy"], e["after"]) for e in log] == [
        (4, "blank", "a, R (2005 to now)"), (3, "drop", None),
    ]  # fmt: skip


def test_a_table_as_it_comes_is_examined_and_asked_by_the_command_that_is_shown(tmp_path):
    rows = "".join(
        f"{land};König;{land}{n};{3 + n}.8.{1900 + 20 * n + k};{4 + n}.8.{1920 + 20 * n + k}\n"
        for k, land in enumerate("ABC") for n in range(4)
    )  # fmt: skip
    file = tmp_path / "könige.csv"
    file.write_bytes(f"Land;Amt;Name;Von;Bis\n{rows}".encode("cp1252"))
    code, shown, _ = typed("questions", "tdbench", "doctor", file, "--json")
    report = json.loads(shown)
    assert (code, report["blocked"]) == (0, False)
    kinds = {each["kind"]: each for each in report["kinds"]}
    assert kinds["longest"]["sizes"] == {"multiple": 3}
    assert kinds["count"]["sizes"] == {}
    assert kinds["count"]["why"] == "needs an answer that comes twice in its group"
    assert kinds["hops"]["why"].startswith("hops need two or three tables")
    command = shlex.split(report["command"].replace("mine.jsonl", str(tmp_path / "mine.jsonl")))
    code, _, said = typed(*command[1:], "--option", "phrasings=1", "--limit", 9)
    assert code == 0, said
    assert "asked by" not in said  # the command states all roles
    assert "könige.csv: encoding cp1252" in said
    assert "9 queries of the kind relation: " in said
