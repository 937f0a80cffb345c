"""Without the folder of a family or a feature, and what is built on it, the rest is whole."""

import ast
import json
from functools import cache

import pytest

import agent_env
from agent_env.cli.tree import Commands
from tests.features.local_models.test_served_runs import SERVE
from tests.forks import FOLDERS, PACKAGE, PAPERS


@cache
def bases(folder):
    """The folders that its modules import."""
    files = (PACKAGE / folder).glob("*.py" if folder == "features/papers" else "**/*.py")
    found = {"features/papers"} if folder in PAPERS else set()
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                found.add("/".join(node.module.split(".")[1:3]))
    return found & {*FOLDERS} - {folder}


def gone_with(left_out):
    """The folder, and what is built on it."""
    gone = {left_out}
    while more := {each for each in (*FOLDERS, *PAPERS) if bases(each) & gone} - gone:
        gone |= more
    return gone


def stands_on(folder):
    """The folder, and all that it imports."""
    return {folder}.union(*map(stands_on, bases(folder)))


@pytest.fixture
def ended_without(forked):
    """Runs commands without one folder and what is built on it."""
    return lambda left_out, cwd, *commands, **how: forked(
        *commands, cwd=cwd, gone=gone_with(left_out), **how
    )


TASKS = {
    "families/time_puzzles": ("time-puzzles", "base", "explicit"),
    "families/traveler": ("traveler", "base", "python"),
}
"""What can be run, with two conditions."""
WHOLE = """
from agent_env.cli.tree import Commands
def ended(*words):
    sys.argv = ["agent-env", *words]
    try:
        main()
    except SystemExit as exc:
        return exc.code
found = Commands()
found.add_installed()
task, *conditions = TASK or [""]
asked = [word for each in conditions for word in ("--condition", each)]
print(json.dumps({
    "commands": sorted(found.paths),
    "run": TASK and ended("run", task, "--limit", "1", *asked, "--out", "run"),
    "compare": TASK and ended("compare", "run"), "help": ended("run", "--help-all"),
}))
"""


def test_the_engine_is_whole_without_any_folder(forked, tmp_path):
    (ended,) = forked((), cwd=tmp_path, gone={*FOLDERS, *PAPERS}, code="print(fails())")
    assert (ended.returncode, ended.stdout) == (0, "[]\n"), ended.stderr


@pytest.mark.parametrize("folder", [*FOLDERS, *PAPERS])
def test_a_folder_is_whole_with_what_it_stands_on_alone(folder, forked, tmp_path):
    """So it is whole wherever another one is left out, if that one is not among them."""
    gone = {*FOLDERS, *PAPERS} - stands_on(folder)
    code = f"print(fails(import_module('agent_env.{folder.replace('/', '.')}')))"
    (ended,) = forked((), cwd=tmp_path, gone=gone, code=code)
    assert (ended.returncode, ended.stdout) == (0, "[]\n"), ended.stderr


@pytest.mark.parametrize("left_out", FOLDERS)
def test_what_is_left_runs_and_has_its_commands(left_out, ended_without, tmp_path):
    gone = gone_with(left_out)
    task = next((task for folder, task in TASKS.items() if folder not in gone), None)
    (ended,) = ended_without(left_out, tmp_path, (), code=WHOLE.replace("TASK", repr(task)))
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout.splitlines()[-1])
    assert [told[name] for name in ("run", "compare", "help")] == [task and 0, task and 0, 0]
    everything = Commands()
    everything.add_installed()
    modules = tuple(f"agent_env.{each.replace('/', '.')}." for each in gone)
    kept = sorted(name for name, at in everything.paths.items() if not at.startswith(modules))
    assert told["commands"] == kept


def test_a_family_that_was_left_out_is_not_listed(ended_without, tmp_path):
    (listed,) = ended_without("families/tdbench", tmp_path, ("list", "families"))
    assert listed.returncode == 0, listed.stderr
    assert "tdbench" not in listed.stdout
    assert "time-puzzles" in listed.stdout


@pytest.mark.parametrize("task", ["tdbench", "temp-answers"])
def test_without_the_papers_their_families_run_and_their_commands_are_gone(
    task, ended_without, tmp_path
):
    run = ("run", task, "--limit", "2", "--condition", "base", "--out", str(tmp_path / "run"))
    refused = {
        ("study", "reproduce", task): "no command 'reproduce'",
        ("questions", "tdbench", "import", "x"): "no command 'import'",
        ("questions", "score-answers", "x.csv"): "no command 'score-answers'",
        (*run, "--scorer", "authors"): f"needs the entry point 'authors-of-{task}'",
    }
    ran, *others = ended_without("features/papers", tmp_path / "package", run, *refused)
    assert ran.returncode == 0, ran.stderr
    assert "base" in ran.stdout
    for ended, said in zip(others, refused.values(), strict=True):
        assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
        assert said in ended.stderr


def test_a_paper_without_its_family_says_so(forked, tmp_path):
    words = "questions", "tdbench", "import", str(tmp_path)
    (ended,) = forked(words, cwd=tmp_path, gone={"families/tdbench"})
    assert ended.returncode == 2
    assert ended.stderr == (
        "agent-env: this needs agent_env.families.tdbench, which was left out of this "
        "installation\n"
    )


@pytest.mark.parametrize(
    ("feature", "option", "others"),
    [("evidence", {"faults": ["cal=error:1"]}, "agents, batch, clock, judge, local_models, mcp"),
     ("clock", {"today": ["1995-06-01"]}, "agents, batch, evidence, judge, local_models, mcp"),
     ("local_models", {"model": "compatible/tiny", "serve": SERVE, "preflight": False},
      "agents, batch, clock, evidence, judge, mcp")],
)  # fmt: skip
def test_a_run_says_which_feature_is_missing_and_is_not_run_without(
    feature, option, others, ended_without, tmp_path
):
    run = tmp_path / "run"
    agent_env.run_sync(
        "time-puzzles", limit=1, conditions=["cal"], out=run, progress=False, **option
    )
    before = {file: file.read_bytes() for file in run.rglob("*.jsonl")}
    commands = [(command, str(run)) for command in ("resume", "replay", "show", "compare")]
    for ended in ended_without(f"features/{feature}", tmp_path / "package", *commands):
        assert ended.returncode == 2
        assert ended.stderr.splitlines() == [
            f"agent-env: {run} was made with the feature '{feature}', which is not installed; "
            f"installed: {others}"
        ]
    assert {file: file.read_bytes() for file in run.rglob("*.jsonl")} == before


def test_without_local_models_what_lists_serves_and_asks_them_is_gone(ended_without, tmp_path):
    run = ("run", "time-puzzles", "--limit", "1", "--condition", "base", "--out", "run", "--model")
    needs = " needs agent_env.features.local_models.api, which was left out of this installation"
    refused = {
        (*run, "local"): f"model local{needs}",
        (*run, "local/x.gguf"): f"model local{needs}",
        (*run, "compatible/x", "--serve", "x {port}"): "No such option: --serve",
        (*run, "compatible/x", "--chat-template", "x"): "No such option: --chat-template",
        ("models",): "no command 'models'",
        ("serve", "model"): "no command 'model'",
    }
    listed, doctor, *others = ended_without(
        "features/local_models", tmp_path, ("--help",), ("doctor", "--json"), *refused
    )
    assert "\nAlso: verify, pack, docs, list, sandbox.\n" in listed.stdout
    assert "model local" not in json.loads(doctor.stdout)
    for ended, said in zip(others, refused.values(), strict=True):
        assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1)
        assert said in ended.stderr


def test_no_new_run_is_begun_undisturbed(ended_without, tmp_path):
    run = "run", "time-puzzles", "--limit", "1", "--condition", "web+cal"
    options = ("--faults", "cal=error:1"), ("--attack", "false-page"), ("--web-ablation", "blocked")
    commands = [(*run, *option, "--out", str(tmp_path / "run")) for option in options]
    for ended in ended_without("features/evidence", tmp_path / "package", *commands):
        assert (ended.returncode, ended.stdout) == (2, "")
        assert "No such option" in ended.stderr
    assert not (tmp_path / "run").exists()


def test_without_the_clock_its_options_and_modifier_are_gone_and_the_present_is_refused(
    ended_without, tmp_path
):
    helped, ended, asked = ended_without(
        "features/clock", tmp_path, ("run", "--help-all"),
        ("run", "time-puzzles", "--condition", "base~on-1995-06-01"),
        ("run", "time-puzzles", "--option", "present=true", "--limit", "1"),
    )  # fmt: skip
    assert (helped.returncode, ended.returncode, asked.returncode) == (0, 2, 2)
    assert ("--today" in helped.stdout, "--say-today" in helped.stdout) == (False, False)
    assert "no modifier 'on-1995-06-01'; known: required, auto" in ended.stderr
    assert "asks about the present, so its answer is that of a day" in asked.stderr
