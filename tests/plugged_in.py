"""A package of plug-ins, installed for a test as pip would leave it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

DATA = Path(__file__).parent / "data"


def install(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    packages: str = "plugins",
    name: str = "weekday_pack",
) -> Path:
    """The package in a folder on the path; gives the folder of its modules."""
    shutil.copytree(DATA / packages, folder, ignore=shutil.ignore_patterns("__pycache__"))
    for module in [each for each in sys.modules if each.partition(".")[0] == name]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.syspath_prepend(str(folder))
    return folder / name


def make_foreign(run: Path) -> None:
    """The run as if somebody else had sent it."""
    manifest = run / "run.json"
    text = manifest.read_text()
    identity = text.split('"id":')[1].split('"')[1]
    manifest.write_text(text.replace(identity, "0" * 12))
