"""The pages that commands and messages name, and those that are made from the code."""

import ast
import re

import pytest

import agent_env
from agent_env.cli import docs
from tests import TESTS
from tests.commands import agent_env as command
from tests.pages import page_generator

ROOT = TESTS.parent
PAGES = {file.stem for file in (ROOT / "docs").glob("*.md")}


def texts(file):
    """The string literals of a module that are no docstrings, where any names a page."""
    source = file.read_text(encoding="utf-8")
    if "docs" not in source:
        return
    tree = ast.parse(source)
    plain = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in plain:
            yield node.value


def test_messages_name_pages_that_an_installed_user_can_open():
    for file in (ROOT / "agent_env").rglob("*.py"):
        for text in texts(file):
            assert set(re.findall(r"agent-env docs ([a-z-]+)", text)) <= PAGES, (file, text)
            assert not re.search(r"docs/[a-z-]+\.md", text), (file, text)


def test_every_page_is_in_the_navigation_of_the_site():
    listed = re.findall(r'= "([a-z-]+)\.md"', (ROOT / "zensical.toml").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(PAGES)


def test_every_public_name_has_its_place_in_the_reference():
    page = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^::: (\S+)$", page, re.M))
    public = {f"{module}.{name}" for module, names in agent_env.PUBLIC.items() for name in names}
    assert named == public


def test_the_page_of_commands_is_up_to_date():
    page = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
    assert page == f"{page_generator('commands')['commands_page']()}\n", (
        "make it again: python .ci/pages/commands.py > docs/commands.md"
    )


def test_the_tables_of_sample_fields_are_up_to_date():
    page = (ROOT / "docs/samples.md").read_text(encoding="utf-8")
    bare = re.sub(r"\n\n```\n.*?\n```|\n\nAn example stands in .*?(?=\n)", "", page, flags=re.S)
    assert bare == f"{page_generator('samples')['samples_page'](with_examples=False)}\n", (
        "make it again: python .ci/pages/samples.py > docs/samples.md"
    )


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.setattr(docs, "SITE", tmp_path)
    monkeypatch.setattr(docs, "_has_desktop", lambda: False)
    for name in ("index", "models", "404"):
        (tmp_path / f"{name}.html").write_text(name)
    return tmp_path


def test_a_page_of_the_site_is_told_by_its_address(site):
    done = command("docs", "models")
    assert (done.returncode, done.stdout) == (0, f"{(site / 'models.html').as_uri()}\n")


def test_a_page_that_is_not_there_is_a_mistake_and_those_that_are_are_listed(site):
    done = command("docs", "nope")
    assert (done.returncode, done.stderr) == (
        2, "agent-env: no page 'nope'; pages: index, models\n",
    )  # fmt: skip


def test_a_checkout_without_the_site_shows_its_markdown(tmp_path, monkeypatch):
    monkeypatch.setattr(docs, "SITE", tmp_path)
    assert command("docs", "models").stdout == f"{ROOT / 'docs' / 'models.md'}\n"
    monkeypatch.setattr(docs, "SOURCES", tmp_path)
    assert "install a released wheel" in command("docs").stderr
