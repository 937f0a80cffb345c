"""The generators in .ci/pages, which write what the repository holds from the code."""

import runpy

from tests import ROOT


def page_generator(name):
    """What .ci/pages/NAME.py defines."""
    return runpy.run_path(str(ROOT / ".ci/pages" / f"{name}.py"))
