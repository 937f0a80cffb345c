"""Without the optional packages each command does without and prints the same, or ends with one
line that names the extra."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import agent_env

DO_WITHOUT = (
    "run time-puzzles --limit 1 --condition web --condition base --out run",
    "show run",
    "show run --json",
    "compare run --by solutions",
    "compare run --json",
    "show --why run",
    "show run/episodes/web/tp-1-00001.1.jsonl",
    "episodes export run --to atif",
    "questions generate time-puzzles --limit 1 --out set.jsonl",
    "doctor",
)
SAME = ("show run", "show run --json", "compare run --by solutions")
"""Commands whose output is that of a machine with every extra."""
NEED = {
    "compare run --html r.html": "analysis",
    "compare run --figures figures": "analysis",
    "view run": "viewer",
    "serve http time-puzzles": "serve",
    "questions generate tdbench --limit 1 --out td.jsonl": "tdbench",
    "episodes export run --to parquet --out p": "parquet",
    "episodes export run --to inspect --out i": "inspect",
    "serve mcp time-puzzles --condition web --limit 1 --out exam": "mcp",
    "run time-puzzles --limit 1 --engine ray --out ray": "ray",
    "run time-puzzles --limit 1 --tokenizer o200k_base --out counted": "tokenizers",
    "run time-puzzles --limit 1 --model local --out local": "local",
}
"""Commands, and the extra that each names."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("extras")


@pytest.fixture(scope="module")
def outcomes(folder):
    process = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("without_extras.py"))],
        input=json.dumps([text.split() for text in (*DO_WITHOUT, *NEED)]),
        capture_output=True, text=True, cwd=folder, check=True, timeout=300,
    )  # fmt: skip
    return dict(zip((*DO_WITHOUT, *NEED), json.loads(process.stdout), strict=True))


@pytest.mark.parametrize("command", DO_WITHOUT)
def test_most_commands_do_without_any_extra(outcomes, folder, command):
    code, printed, errors = outcomes[command]
    assert code == 0, errors
    if command in SAME:
        assert printed == agent_env(*command.split(), cwd=folder).stdout


@pytest.mark.parametrize(("command", "extra"), NEED.items(), ids=NEED)
def test_a_command_that_needs_an_extra_names_it_in_one_line(outcomes, command, extra):
    code, printed, errors = outcomes[command]
    assert (code, printed) == (2, ""), errors
    assert f"pip install 'agent-env[{extra}]'" in errors[-1]
    assert not any("Traceback" in line for line in errors)
