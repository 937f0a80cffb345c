"""A built web: the same bytes for the same seed, its puzzles solved by whoever looks things up."""

import json
import sqlite3

import pytest

from agent_env.errors import ConfigError, DatasetError
from agent_env.features.facts.web_cli import BuildOptions, build_web
from agent_env.runs.scores.score import score_folder
from tests.commands import typed
from tests.plans import finished


def build(out, **wanted):
    given = {"world": "fictional", "entities": 240, "seed": 3, "difficulty": "medium"} | wanted
    return build_web(BuildOptions(out=out, **given), lambda note: None)


NO_WORLD = {"world": None, "entities": None, "seed": None}
REAL = NO_WORLD | {"world": "real"}


def rows(file):
    return sqlite3.connect(file).execute("SELECT url, body, title FROM fetches").fetchall()


def test_a_seed_gives_its_pages_and_nothing_is_overwritten(tmp_path):
    first, second = build(tmp_path / "a.db"), build(tmp_path / "b.db")
    assert (first.digest, first.pages) == (second.digest, second.pages)
    assert rows(tmp_path / "a.db") == rows(tmp_path / "b.db")
    for end in ("facts.csv", "intervals.csv"):
        assert (tmp_path / f"a.{end}").read_bytes() == (tmp_path / f"b.{end}").read_bytes()
    assert build(tmp_path / "c.db", seed=4).digest != first.digest
    assert build(tmp_path / "d.db", difficulty="hard").digest != first.digest
    assert not list(tmp_path.glob("*.part*"))
    real = build(tmp_path / "real.db", **REAL)
    assert (real.pages > 1000, real.facts) == (True, None)
    table = tmp_path / "own.csv"
    head = "event,kind,summary,hint,start,end,multi_year_spans,source"
    table.write_text(f"{head}\nthe fair,fair,,,1901-02-03,1901-02-04,,\n")
    build(tmp_path / "own.db", facts_table=table, **REAL)
    urls = [row[0] for row in rows(tmp_path / "own.db")]
    assert "https://encyclopedia.example/article/Fair" in urls
    (tmp_path / "pages.db").write_text("mine")
    with pytest.raises(ConfigError, match="is there already"):
        build(tmp_path / "pages.db")
    assert (tmp_path / "pages.db").read_text() == "mine"


def test_from_a_seed_to_evidence_on_the_command_line(tmp_path):
    built = typed("web build --world fictional --entities 300 --out pages.db", cwd=tmp_path)
    assert "pages in pages.db" in built.stdout
    made = "--option facts_table=pages.facts.csv --limit 8 --out puzzles.jsonl"
    assert typed(f"questions generate time-puzzles {made}", cwd=tmp_path).returncode == 0
    asked = "--dataset puzzles.jsonl --pages pages.db --condition base --condition web"
    ran = typed(f"run time-puzzles {asked} --out run --json", cwd=tmp_path)
    scores = json.loads(ran.stdout)["conditions"]
    assert scores["web"]["exact_match"] == 1.0
    assert scores["base"]["exact_match"] < 0.5
    row = json.loads(typed("show run --why --json", cwd=tmp_path).stdout)["answers"]["rows"][-1]
    assert (row["condition"], row["right"], row["read"]) == ("web", 8, 8)


def test_webs_of_tables_are_built_or_their_defects_named(tmp_path):
    table = tmp_path / "rates.csv"
    table.write_text("tariff,price,start,end\nday,3,2001,2004\nday,4,2004,\nnight,1,2001,\n")
    alone = build(tmp_path / "a.db", tables=(table,), **NO_WORLD)
    assert (alone.tables, alone.passed_over, alone.facts) == (1, 0, None)
    made = rows(tmp_path / "a.db")
    titles = {title for url, _, title in made if "tables.example" in url}
    assert titles == {"day", "night", "3", "4", "1"}
    assert all(".example/" in url for url, _, _ in made)
    both = build(tmp_path / "b.db", tables=(table,))
    assert both.pages == build(tmp_path / "c.db").pages + alone.pages
    assert (both.tables, both.facts) == (1, tmp_path / "b.facts.csv")
    (tmp_path / "x.materials.jsonl").write_text('{"name":"t","columns":["a"],"rows":[["b"]]}\n')
    (tmp_path / "y.csv").write_text("a,start,end\nb,2004,2001\n")
    for name, reason in (
        ("x.materials.jsonl", "holds no table with the columns start and end"),
        ("y.csv", "y.csv:2: "),
    ):
        with pytest.raises(DatasetError, match=reason):
            build(tmp_path / "z.db", tables=(tmp_path / name,), **NO_WORLD)
    (tmp_path / "y.csv").write_text("a,start,end\nb,2001,2004\n")
    with pytest.raises(ConfigError, match="--entities and --seed go with --world fictional"):
        build(tmp_path / "z.db", world=None, tables=(tmp_path / "y.csv",))
    assert not (tmp_path / "z.db").exists()


def test_runs_find_their_tables_and_refuse_pages_that_are_none(tmp_path):
    options = {"limit": 6, "conditions": ("web",), "options": ("rows=40", "domains=laws")}
    folder = finished(tmp_path / "run", "tdbench", **options)
    scored = score_folder(folder, print)
    assert [score.metrics["answer"] for _, score in scored] == [1.0] * 6
    observed = folder.data(print).observations["web"]
    assert {each.provenance.verdict for each in observed} == {"read"}
    (tmp_path / "no.db").write_text("not a store")
    for name in ("no.db", "x.db"):
        ran = typed(f"run time-puzzles --limit 1 --pages {name}", cwd=tmp_path)
        assert (ran.returncode, name in ran.stderr) == (2, True)
