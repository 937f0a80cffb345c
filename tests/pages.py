"""The generators in .ci/pages, which write what the repository holds from the code."""

from __future__ import annotations

import runpy
from typing import Any

from tests import ROOT


def page_generator(name: str) -> dict[str, Any]:
    """What .ci/pages/NAME.py defines."""
    return runpy.run_path(str(ROOT / ".ci/pages" / f"{name}.py"))
