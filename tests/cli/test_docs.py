"""The pages that commands and messages name, and those that are made from the code."""

import ast
import importlib.metadata
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from agent_env.cli import docs
from tests import TESTS
from tests.commands import agent_env as command
from tests.pages import page_generator

ROOT = TESTS.parent
PAGES = {file.stem for file in (ROOT / "docs").rglob("*.md")}


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
            assert not re.search(r"docs/[a-z/-]+\.md", text), (file, text)


def test_every_page_is_in_the_navigation_of_the_site():
    site = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    assert sorted(re.findall(r'= "(?:features/)?([a-z-]+)\.md"', site)) == sorted(PAGES)


@pytest.mark.parametrize("name", ["api", "commands", "samples"])
def test_a_page_that_is_made_from_the_code_is_up_to_date(name):
    page, advice = ROOT / f"docs/{name}.md", f"python .ci/pages/{name}.py > docs/{name}.md"
    made = page_generator(name)[f"{name}_page"]()
    assert page.read_text(encoding="utf-8") == f"{made}\n", f"make it again: {advice}"


def test_the_pages_have_at_most_24_000_words_and_the_readme_120_lines():
    readme = ROOT / "README.md"
    pages = [*ROOT.glob("docs/**/*.md"), readme]
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in pages) <= 24_000
    assert len(readme.read_text(encoding="utf-8").splitlines()) <= 120


def test_a_page_of_the_site_is_told_by_its_address_and_those_that_are_there(tmp_path, monkeypatch):
    monkeypatch.setattr(docs, "SITE", tmp_path)
    monkeypatch.setattr(docs, "_has_desktop", lambda: False)
    for name in ("index", "models", "404"):
        (tmp_path / f"{name}.html").write_text(name)
    done = command("docs", "models")
    assert (done.returncode, done.stdout) == (0, f"{(tmp_path / 'models.html').as_uri()}\n")
    done, error = command("docs", "nope"), "agent-env: no page 'nope'; pages: index, models\n"
    assert (done.returncode, done.stderr) == (2, error)


def test_without_the_site_the_page_itself_is_printed(tmp_path, monkeypatch):
    """In a checkout, and where the package was installed from one."""
    monkeypatch.setattr(docs, "SITE", tmp_path)
    text = (ROOT / "docs/models.md").read_text(encoding="utf-8")
    assert command("docs", "models").stdout == text
    installed = importlib.metadata.PackagePath("share/agent-env/docs/models.md")
    installed.dist = SimpleNamespace(locate_file=lambda path: ROOT / "docs" / Path(path).name)
    monkeypatch.setattr(docs, "SOURCES", tmp_path)
    monkeypatch.setattr(importlib.metadata, "files", lambda name: [installed])
    assert command("docs", "models").stdout == text
