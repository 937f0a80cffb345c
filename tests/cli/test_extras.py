"""Without the optional packages each command does without and prints the same, or ends with one
line that names the extra."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import agent_env
from tests.tables import tables

DO_WITHOUT, SAME, NEED = (tables(__file__)[name] for name in ("do_without", "same", "need"))
"""Commands that do without any extra, those whose output is the same, and the extra of others."""


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
