"""docs/api.md, made from the public names: python .ci/pages/api.py"""

from __future__ import annotations

import inspect
import re

import agent_env

HEAD = """# The Python API

`import agent_env as ae` has these names; all other names may change. [From Python](python.md)
shows how they go together. `help(ae.run)` and the pages of the site have signatures and fields; the
keywords of `run`, `resume`, `replay`, `fork` and `compare` are the options of these commands, with
underscores.

| name | is |
|---|---|"""


def api_page() -> str:
    """The page: each public name with its first sentence, then what the site shows of it."""
    places = {name: module for module, names in agent_env.PUBLIC.items() for name in names}
    lines = [f"| `ae.{name}` | {_sentence(name)} |" for name in sorted(places, key=str.lower)]
    full = [f"::: {places[name]}.{name}" for name in sorted(places, key=str.lower)]
    note = "## On the site\n\n<!-- what follows is filled in where the site is built -->"
    return "\n\n".join(["\n".join([HEAD, *lines]), note, *full])


def _sentence(name: str) -> str:
    paragraph = (inspect.getdoc(getattr(agent_env, name)) or "").split("\n\n")[0]
    return re.split(r"(?<=\.) (?=[A-Z])", " ".join(paragraph.split()))[0].replace("|", "\\|")


if __name__ == "__main__":
    print(api_page())
