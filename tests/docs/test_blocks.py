"""Every code block of the README and of each page runs, or says why it does not; and each command
and option that a page names exists."""

import re
import shutil

import pytest
import typer

from agent_env.cli.app import app
from agent_env.extensions.fake_server import FakeServer, model_policy
from agent_env.wiring.models import make_model
from agent_env.wiring.trust import own_plugins
from tests import ROOT
from tests.commands import agent_env, serving
from tests.docs.blocks import Page, blocks_of, commands_of

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NAMES = [page.stem for page in PAGES]


@pytest.fixture(scope="module")
def address():
    """A server that answers as the scripted model does, whatever the model is called."""
    with serving(FakeServer(model_policy(make_model("reference", None, {}, own_plugins())))) as url:
        yield url


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """The run that pages begin with."""
    folder = tmp_path_factory.mktemp("first")
    done = agent_env("run", "time-puzzles", "--limit", "2", "--out", "runs/first", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "runs"


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_the_blocks_of_a_page_run(page, address, first, tmp_path):
    running = Page(page.stem, tmp_path, address, {})
    blocks = [block for block in blocks_of(page) if not block.reason]
    if any("runs/first" in block.text for block in blocks) and not running.is_compared:
        shutil.copytree(first, tmp_path / "runs")
    for block in blocks:
        running.run(block)


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_the_commands_of_a_page_exist(page):
    for block in blocks_of(page):
        if block.language == "bash":
            for words in commands_of(block.text):
                if words[0] == "agent-env":
                    look_up(words[1:])
    for words in re.findall(r"`agent-env ([a-z][^`]*)`", page.read_text(encoding="utf-8")):
        look_up(words.split())


def look_up(words):
    """The command of these words and each of its options; fails where one does not exist."""
    command = typer.main.get_command(app)
    context = command.context_class(command, info_name="agent-env")
    rest = list(words)
    while hasattr(command, "list_commands") and rest and rest[0].islower():
        found = command.get_command(context, rest[0])
        assert found is not None, f"agent-env {' '.join(words)}: no command '{rest[0]}'"
        command, rest = found, rest[1:]
    known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
    known |= {"--help", "--help-all"}
    given = {word.partition("=")[0] for word in rest if word.startswith("--")}
    assert given <= known | {"--help", "--help-all"}, (
        f"agent-env {' '.join(words)}: {given - known}"
    )
