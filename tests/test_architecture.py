"""The page on the architecture: its heart can be read in a day, and what it names is there."""

import ast
import re
from importlib import import_module

from tests import ROOT

PAGE = (ROOT / "docs/architecture.md").read_text()
PLACES = (ROOT / "CONTRIBUTING.md").read_text()


def test_the_heart_has_at_most_36_files_and_6000_lines():
    heart = PAGE[PAGE.index("## The heart") : PAGE.index("## Rooms")]
    files = re.findall(r"`([a-z_/]+\.py)`", heart)
    assert 20 < len(set(files)) == len(files) <= 36
    lines = [(ROOT / "agent_env" / file).read_text().count("\n") for file in files]
    assert sum(lines) < 6_000


def test_each_file_and_folder_that_it_names_is_there():
    names = set(re.findall(r"`([a-z_]+(?:/[a-z_]+)*(?:\.py|/))`", PAGE + PLACES))
    rooms = (ROOT, ROOT / "agent_env")
    short = "cli family generator log read reference sample statistics task".split()  # of a folder
    others = {"trace/", "calls/", "rerun/", "remote/", "compatible/"}
    missing = {name for name in names if not any((room / name).exists() for room in rooms)}
    assert missing - {f"{name}.py" for name in short} - others == set()


def test_benchmarks_and_generated_pages_import_what_is_there():
    lacking = [
        (file.name, node.module, each.name)
        for file in [*ROOT.glob("benchmarks/*.py"), *ROOT.glob(".ci/pages/*.py")]
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("agent_env")
        for each in node.names
        if not is_there(node.module, each.name)
    ]
    assert lacking == []


def is_there(module, name):
    if hasattr(import_module(module), name):
        return True
    return (ROOT / module.replace(".", "/") / f"{name}.py").exists()
