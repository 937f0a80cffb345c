"""Every code block of the README and of each page runs, or says why it does not; and each command
and option that a page names exists."""

import re
import shutil

import pytest
import typer

from agent_env.cli.app import app
from agent_env.wiring.models import make_model
from agent_env.wiring.trust import own_plugins
from tests import ROOT
from tests.commands import agent_env, serving
from tests.docs.blocks import Page, blocks_of, commands_of
from tests.fake_server import FakeServer, model_policy

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAMES = [page.stem for page in PAGES]
FOREIGN = set(
    "--agent-env-record --cap-add --create-pr --enable-auto-tool-choice --epochs --head --help "
    "--help-all --jinja "
    "--address --max-tokens --no-deps --plain --security-opt --target --tool-call-parser "
    "--working-limit".split()
)
"""Options of other programs that pages name, and those of every command of ours."""


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
def test_the_blocks_of_a_page_run(page, address, request, tmp_path):
    running = Page(page.stem, tmp_path, address)
    blocks = [block for block in blocks_of(page) if not block.reason]
    if any("runs/first" in block.text for block in blocks) and not running.is_compared:
        shutil.copytree(request.getfixturevalue("first"), tmp_path / "runs")
    for block in blocks:
        running.run(block)


@pytest.fixture(scope="module")
def known():
    """All commands by their words, each with its options."""
    return dict(commands(typer.main.get_command(app), ()))


def commands(group, above):
    context = group.context_class(group, info_name="agent-env")
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if hasattr(command, "list_commands"):
            yield (*above, name), set()
            yield from commands(command, (*above, name))
        else:
            yield (*above, name), {o for p in command.params for o in (*p.opts, *p.secondary_opts)}


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_the_commands_and_options_of_a_page_exist(page, known):
    text = page.read_text(encoding="utf-8")
    lines = [line.split() for line in re.findall(r"`agent-env ([a-z][^`]*)`", text)]
    for block in blocks_of(page):
        if block.language == "bash":
            lines += [words[1:] for words in commands_of(block.text) if words[0] == "agent-env"]
    for words in lines:
        name = next((n for end in (3, 2, 1) if (n := tuple(words[:end])) in known), None)
        assert name is not None, f"no command: agent-env {' '.join(words)}"
        options = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert options <= known[name] | FOREIGN, f"agent-env {' '.join(words)}"
    options = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", text))
    assert options - FOREIGN <= set[str]().union(*known.values())
