"""A family, a tool and a model of another package, in every command; its files changed, broken and
in a folder from elsewhere."""

import json
import shutil
import sys

import pytest

from agent_env.registry import _entry_points
from tests.commands import agent_env, typed
from tests.plugged_in import install, make_foreign
from tests.tables import tables

CASES = tables(__file__)


@pytest.fixture
def pack(tmp_path, monkeypatch):
    return install(tmp_path / "site", monkeypatch)


def run(home, *more):
    return agent_env(
        "run", "day-names", "--model", "mondays", "--condition", "base", "--condition", "almanac",
        "--limit", "3", "--out", "run", *more, cwd=home,
    )  # fmt: skip


def manifest(home):
    return json.loads((home / "run/run.json").read_text())


COMMANDS = """resume run
replay run
replay run --tools live
replay run --model live
episodes fork run/episodes/base/wd-1.1.jsonl --at 0 --condition almanac --out fork
episodes forks fork
compare run
show --why run
show run/episodes/base/wd-1.1.jsonl""".splitlines()


def test_every_command_takes_it(tmp_path, pack):
    assert run(tmp_path).returncode == 0
    uses = manifest(tmp_path)["plugins"]
    assert isinstance(uses, list)
    names = [("family", "day-names"), ("model", "mondays"), ("tool", "almanac")]
    assert [(use["kind"], use["name"]) for use in uses] == names
    assert {(use["package"], use["version"]) for use in uses} == {("weekday-pack", "0.1")}
    scores = json.loads(agent_env("show", "run", "--json", cwd=tmp_path).stdout)
    assert scores["conditions"]["almanac"]["right"] == 1.0
    for command in COMMANDS:
        done = typed(command, cwd=tmp_path)
        assert (done.returncode, "changed" in done.stderr) == (0, False), (command, done.stderr)


@pytest.mark.parametrize(
    ("kind", "name", "summary"),
    [
        ("families", "day-names", "On which weekday was a day? Questions from a seed."),
        ("tools", "almanac", "The weekday of a day."),
        ("models", "mondays", "Asks the almanac where there is one, and says Monday where"),
    ],
)
def test_it_is_listed_with_its_origin_and_its_docstring(pack, kind, name, summary):
    rows = json.loads(agent_env("list", kind, "--json").stdout)
    row = next(row for row in rows if row["name"] == name)
    assert row["origin"] == "weekday-pack 0.1"
    assert row["summary"].startswith(summary)
    assert "there are families, features, tools" in agent_env("list", "planets").stderr


def test_other_code_of_it_is_told_and_stops_a_resume(tmp_path, pack):
    run(tmp_path)
    with (pack / "tools.py").open("a") as file:
        file.write("\n# another version\n")
    said = agent_env("replay", "run", cwd=tmp_path).stderr
    assert "changed since the run: tool almanac: weekday-pack 0.1" in said
    refused = agent_env("resume", "run", cwd=tmp_path)
    assert (refused.returncode, "tool almanac: weekday-pack 0.1" in refused.stderr) == (2, True)
    assert agent_env("resume", "run", "--accept-changes", cwd=tmp_path).returncode == 0
    assert agent_env("resume", "run", cwd=tmp_path).returncode == 0


def imported():
    return [name for name in sys.modules if name.startswith("weekday_pack")]


def test_a_folder_from_elsewhere_imports_nothing_of_it(tmp_path, pack, monkeypatch):
    run(tmp_path)
    make_foreign(tmp_path / "run")
    for name in imported():
        monkeypatch.delitem(sys.modules, name)
    for command in ("show", "replay", "resume", "compare", "show --why"):
        done = typed(f"{command} run", cwd=tmp_path)
        assert done.returncode == 2
        assert "family day-names (its code runs here)" in done.stderr
    assert not imported()
    confirmed = agent_env("resume", "run", "--trust-run", cwd=tmp_path)
    assert "trusted in run: tool almanac (its code runs here)" in confirmed.stderr
    assert agent_env("show", "run", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("forged", CASES["forged"])
def test_no_entry_of_run_json_smuggles_an_import_in(forged, plain, tmp_path, pack):
    shutil.copytree(plain, tmp_path / "run")
    stored = manifest(tmp_path) | {"id": "0" * 12} | forged
    (tmp_path / "run/run.json").write_text(json.dumps(stored))
    for command in ("show run", "replay run", "replay run --tools live", "resume run"):
        typed(command, cwd=tmp_path)
    assert not imported()


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A run without plug-ins."""
    home = tmp_path_factory.mktemp("plain")
    done = agent_env("run", "tempreason", "--limit", "1", "--condition", "base", "--out", "run",
                     cwd=home)  # fmt: skip
    assert done.returncode == 0
    return home / "run"


def test_a_name_that_two_packages_take_is_refused_with_both(tmp_path, pack):
    entries = pack.parent / "other_pack-2.dist-info"
    entries.mkdir()
    (entries / "METADATA").write_text("Metadata-Version: 2.1\nName: other-pack\nVersion: 2\n")
    (entries / "entry_points.txt").write_text(
        "[agent_env.families]\nday-names = other:FAMILY\ntime-puzzles = other:FAMILY\n"
    )
    _entry_points.cache_clear()
    for name, first in (("day-names", "weekday-pack 0.1"), ("time-puzzles", "agent-env")):
        done = agent_env("run", name, cwd=tmp_path)
        assert done.returncode == 2
        for said in (f"family '{name}' is taken twice", first, "other-pack 2 (other:FAMILY)"):
            assert said in done.stderr


def test_what_its_scorer_raises_marks_the_episode_with_the_line(tmp_path, pack):
    models = (pack / "models.py").read_text().replace('return "Monday"', 'return "Someday"')
    (pack / "models.py").write_text(models)
    assert run(tmp_path).returncode == 1  # no episode of base has a result
    lines = (tmp_path / "run/scores.jsonl").read_text().splitlines()
    rules = {row["condition"]: row["rule"] for row in map(json.loads, lines)}
    raises = '        raise ValueError("no such weekday")'
    line = 1 + (pack / "family.py").read_text().splitlines().index(raises)
    place = f"{pack / 'family.py'}:{line}"
    assert rules["almanac"] is None
    assert rules["base"] == f"the scorer raised ValueError: no such weekday at {place}"


@pytest.mark.parametrize(("file", "code", "told"), CASES["broken"])
def test_a_broken_plug_in_is_one_line_that_names_it(file, code, told, tmp_path, pack):
    (pack / file).write_text(code)
    done = run(tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "weekday-pack 0.1" in done.stderr or "almanac" in done.stderr
    assert told in done.stderr
    assert agent_env("list", "families").returncode == 0


@pytest.mark.parametrize(("file", "code", "told"), CASES["raises"])
def test_what_it_raises_ends_its_episodes_and_no_other(file, code, told, tmp_path, pack):
    (pack / file).write_text(code)
    run(tmp_path)
    failed, others = set(), set()
    for trace in sorted((tmp_path / "run/episodes").glob("*/*.jsonl")):
        last = json.loads(trace.read_text().splitlines()[-1])
        if last["kind"] == "episode_failed":
            failed.add(last["message"])
        if trace.parent.name == "base":
            others.add(last["kind"])
    assert failed == {told.format(pack)}
    assert file != "tools.py" or others == {"episode_finished"}
