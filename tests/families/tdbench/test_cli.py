"""Questions from temporal tables as a user types them: generate, run, import."""

import json
import shlex

from tests.commands import agent_env, typed


def test_a_set_tells_what_made_it_and_is_answered(tmp_path):
    options = "--limit 12 --option rows=60 --option domains=clubs,laws"
    made = typed(f"questions generate tdbench {options} --out {{}}", tmp_path / "td.jsonl")
    assert (made.returncode, made.stdout) == (0, "")
    assert made.stderr.splitlines()[:2] == [
        f"12 questions in {tmp_path}/td.jsonl; details: {tmp_path}/td.summary.json",
        "  left out: 27 groups of laws by matter and status with less than two answers",
    ]
    summary = json.loads((tmp_path / "td.summary.json").read_text())
    expected = {"task": "tdbench", "generator": 6, "seed": 1, "asked": 12, "made": 12}
    assert {k: summary[k] for k in expected} == expected
    assert summary["options"]["rows"] == 60
    done = typed(
        "run tdbench --dataset {} --condition base --out {}", tmp_path / "td.jsonl", tmp_path / "r"
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(typed("show {} --json", tmp_path / "r").stdout)
    assert told["conditions"]["base"]["answer"] == 1.0


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
    found = typed("questions tdbench import {} --out {} --json", tmp_path, out)
    told = json.loads(found.stdout)
    counts = [told[name] for name in ("questions", "equal", "samples", "refused")]
    assert (found.returncode, counts) == (0, [2, 1, 2, 1])
    assert told["differences"][0]["extra"] != []
    assert told["proofs"][0]["reproduced"] == 1
    assert len(out.read_text().splitlines()) == 2
    done = typed("run tdbench --dataset {} --condition base --out {}", out, tmp_path / "run")
    assert done.returncode == 0, done.stderr
    for part in ("Certificate of the import", "/questions.json", "days with midnight, open"):
        assert part in done.stdout


def test_a_table_is_examined_and_repaired_with_a_log(tmp_path):
    file, out = tmp_path / "posts.csv", tmp_path / "mended.csv"
    file.write_text("Post,Who,Start,End\na,P,2001,2005\na,Q,2005,2005\na,R,2005,nan\n")
    doctor = "questions tdbench doctor {} --option question=Post --option answer=Who"
    done = typed(doctor, file)
    assert (done.returncode, "--option repair=standard" in done.stderr) == (1, True)
    assert "zero-length" in done.stdout
    assert "line 3: 2005 to 2005" in done.stdout
    done = typed(f"{doctor} --option repair=standard --out {{}} --json", file, out)
    report = json.loads(done.stdout)
    assert (done.returncode, report["blocked"], len(report["tables"][0]["log"])) == (0, False, 2)
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
    done = typed("questions tdbench doctor {} --json", file)
    report = json.loads(done.stdout)
    assert (done.returncode, report["blocked"]) == (0, False)
    kinds = {kind["kind"]: kind for kind in report["kinds"]}
    assert (kinds["longest"]["sizes"], kinds["count"]["sizes"]) == ({"multiple": 3}, {})
    assert kinds["count"]["why"] == "needs an answer that comes twice in its group"
    assert kinds["hops"]["why"].startswith("hops need two or three tables")
    command = shlex.split(report["command"].replace("mine.jsonl", str(tmp_path / "mine.jsonl")))
    done = agent_env(*command[1:], "--option", "phrasings=1", "--limit", "9")
    assert done.returncode == 0, done.stderr
    assert "asked by" not in done.stderr  # the command states all roles
    assert "könige.csv: encoding cp1252" in done.stderr
    assert "9 queries of the kind relation: " in done.stderr
