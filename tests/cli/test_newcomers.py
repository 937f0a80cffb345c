"""Hundreds of mistakes on the command line, each told in one line with exit 2; nothing is made."""

import re
import shlex

import pytest

from tests import TESTS
from tests.commands import agent_env
from tests.tables import tables

FILES = tables(__file__)["files"]
MISTAKES = (TESTS / "data/mistakes.txt").read_text().splitlines()
"""COMMAND => the begin of what is said."""
BAD_FILES = (TESTS / "data/bad_files.txt").read_text().splitlines()
"""The same <<< what the command's file own.EXTENSION holds, \\n for the end of a line, and where it
needs another one <<< NAME: what that holds."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run `r` of two questions, files, a folder that holds one, and an empty one."""
    made = tmp_path_factory.mktemp("newcomer")
    (made / "folder").mkdir()
    for name, text in FILES.items():
        (made / name).parent.mkdir(exist_ok=True)
        (made / name).write_text(text)
    arguments = ("--limit", "2", "--condition", "base", "--condition", "web", "--out", "r")
    assert agent_env("run", "time-puzzles", *arguments, cwd=made).returncode == 0
    return made


@pytest.mark.parametrize("mistake", MISTAKES)
def test_it_is_one_line_that_says_what_and_which_and_what_to_do(mistake, folder):
    words, _, says = mistake.partition(" => ")
    is_said_in_one_line(words, says, folder)


def is_said_in_one_line(words, says, folder):
    there = set(folder.iterdir())
    done = agent_env(*shlex.split(words), cwd=folder)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith(f"agent-env: {says}")
    assert set(folder.iterdir()) == there


@pytest.mark.parametrize("mistake", BAD_FILES)
def test_a_file_that_cannot_be_is_one_line_that_says_where_and_why(mistake, tmp_path):
    words, _, rest = mistake.partition(" => ")
    says, text, *others = rest.split(" <<< ")
    of_folder = "study.toml" if words.startswith("study") else "own.json"
    name = re.search(r"own[.\w]+|$", words)[0] or of_folder
    for each in (f"{name}: {text}", *others):
        file, _, content = each.partition(": ")
        (tmp_path / file).write_text(content.replace("\\n", "\n"))
    is_said_in_one_line(words, says, tmp_path)
