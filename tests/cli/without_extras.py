"""Runs commands in a process in which no package of an extra can be found; prints, for each, its
exit code, its output and the lines of its errors."""

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from functools import partial

from agent_env.extras import EXTRAS

HIDDEN = {module for own in EXTRAS.values() for module in own}


def _visible(find, context):
    """Installed distributions, without those of the hidden modules' names."""
    return [] if context.name in HIDDEN else find(context)


class Without:
    """A finder that finds none of the hidden modules."""

    def __init__(self, finder):
        self._finder = finder

    def __getattr__(self, name):
        found = getattr(self._finder, name)
        return partial(_visible, found) if name == "find_distributions" else found

    def find_spec(self, name, path=None, target=None):
        hidden = name.partition(".")[0] in HIDDEN
        return None if hidden else self._finder.find_spec(name, path, target)


def done(arguments):
    """Its exit code, what it printed, and the lines of its errors."""
    from agent_env.cli.app import main

    code, printed, errors = 0, io.StringIO(), io.StringIO()
    sys.argv = ["agent-env", *arguments]
    try:
        with redirect_stdout(printed), redirect_stderr(errors):
            main()
    except SystemExit as exc:
        code = int(exc.code or 0)
    except Exception as exc:  # what a user would see as a traceback
        return 99, printed.getvalue(), [repr(exc)]
    return code, printed.getvalue(), errors.getvalue().splitlines()


if __name__ == "__main__":
    sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
    print(json.dumps([done(arguments) for arguments in json.load(sys.stdin)]))
