"""Permits: what covers what, and that whatever acts outside asks for one.

The callers are found in the source itself, so that a new one is listed here or the test fails.
"""

import ast
import pickle
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

import agent_env
from agent_env.errors import ConfigError
from agent_env.permits import NOTHING, Permit
from agent_env.records.reach import Reach
from agent_env.tasks.tool_registry import TOOLS
from agent_env.wiring.trust import own_call
from tests.tables import tables

ROOT = Path(agent_env.__file__).parent
POWERS = re.compile(
    r"os\.(system|popen|environb?|getenvb?|exec\w+|spawn\w+|posix_spawn\w*|path\.expandvars)"
    r"|subprocess\.(run|call|check_\w+|Popen|get\w*output)"
    r"|asyncio\.(create_subprocess_\w+|open_\w*connection)|socket\.(socket|create_connection)"
    r"|httpx2?\.(\w*Client|AsyncHTTPTransport|HTTPTransport|get|post|put|patch|delete|head|options|request|stream)"
    r"|openai\.\w*OpenAI|anthropic\.\w*Anthropic\w*|docker\.\w+|(duckdb|sqlite3)\.connect"
    r"|(urllib\.request|http\.client|requests|aiohttp|smtplib|ftplib|runpy|multiprocessing|pty"
    r"|webbrowser|pickle|marshal|shelve|importlib\.machinery)\.\w+|ctypes\.\w*(DLL|dll)"
    r"|importlib\.util\.spec_from_file_location|builtins\.(exec|eval|__import__)"
)
"""Whatever acts outside, by its whole name."""
ASK = {
    "features/mcp/transport.py": {"httpx2.AsyncClient", "os.environ"},
    "models/endpoint.py": {"openai.AsyncOpenAI"},
    "models/server_facts.py": {"httpx2.AsyncClient"},
    "features/local_models/process.py": {"asyncio.create_subprocess_exec", "socket.socket"},
    "registry.py": {"importlib.util.spec_from_file_location"},
    "sandbox/unsafe.py": {"asyncio.create_subprocess_exec"},
    "web/providers/client.py": {"httpx.AsyncClient"},
    "features/facts/wikidata.py": {"httpx.AsyncClient"},
    "wiring/models.py": {"os.environ"},
    "wiring/web.py": {"os.environ"},
}
"""Modules that act outside, each behind a permit that it takes."""
OTHERS = {name: set(how) for part in tables(__file__).values() for name, how in part.items()}
"""Modules that act outside without one; the file says why."""
OUR_MODULES = {
    "__init__.py", "extras.py", "sdk/__init__.py", "analysis/statistics/__init__.py", "cli/tree.py",
    "cli/options.py", "tasks/tool_registry.py",
    "sandbox/forkserver.py", "temporal/systems/catalogue.py", "features/pages/warc.py",
    "worker/child.py",
}  # fmt: skip
"""Import modules by names that stand in our own source, or inside a sandbox."""
MAKES_OWN_PERMITS = {
    "cli/local.py", "cli/tree.py",
    "features/facts/wikidata.py",
    "features/contexts/commands.py", "runs/fork.py", "runs/generate.py", "features/judge/judge.py",
    "runs/planning/objects.py", "runs/options/run_options.py",
    "runs/servers/probe.py", "features/studies/folder.py",
    "features/interop/run_export.py", "features/local_models/cli.py",
    "testing/family.py", "testing/model.py", "testing/sandbox.py",
    "sdk/run.py", "testing/search.py", "testing/tool.py", "wiring/listing.py", "wiring/trust.py",
    "wiring/web.py",
}  # fmt: skip
"""Take what the command line, the API or a test names; a study's folder, once it is trusted."""


@dataclass
class Source:
    """What a module of the package names and calls."""

    powers: set[str] = field(default_factory=set)
    arguments: set[str] = field(default_factory=set)
    """Of its functions."""
    called: set[str] = field(default_factory=set)
    """The last part of each name that is called."""
    imported: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    """The last part of each name and attribute."""
    imports_by_name: bool = False
    """Whether it imports a module whose name is no constant of its source."""
    permits: set[str] = field(default_factory=set)
    """What a permit is where nobody gives one."""


@cache
def sources():
    return {
        file.relative_to(ROOT).as_posix(): source_of(ast.parse(file.read_bytes()))
        for file in sorted(ROOT.rglob("*.py"))
    }


def dotted(node):
    if isinstance(node, ast.Name):
        return node.id
    return f"{dotted(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else ""


def source_of(tree):
    found, known = Source(), {name: f"builtins.{name}" for name in ("exec", "eval", "__import__")}
    names, annotations = [], set()
    for node in ast.walk(tree):
        for place in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if isinstance(place, ast.AST):
                annotations.update(ast.walk(place))
        if isinstance(node, ast.Name | ast.Attribute):
            names.append(node)
            found.words.add(dotted(node).split(".")[-1])
        elif isinstance(node, ast.alias):
            found.imported.add(node.name)
            found.words.add(node.name.split(".")[-1])
        elif isinstance(node, ast.Import):
            tops = {each.name.partition(".")[0] for each in node.names if each.asname is None}
            known |= {top: top for top in tops}
            known |= {each.asname: each.name for each in node.names if each.asname is not None}
        elif isinstance(node, ast.ImportFrom):
            known |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
        elif isinstance(node, ast.Call):
            name = dotted(node.func).split(".")[-1]
            found.called.add(name)
            if name == "import_module" and not isinstance(node.args[0], ast.Constant):
                found.imports_by_name = True
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            args = node.args
            found.arguments |= {each.arg for each in (*args.args, *args.kwonlyargs)}
            defaults = [*args.defaults, *args.kw_defaults]  # the last arguments have them
            named = [*args.posonlyargs, *args.args, *args.kwonlyargs][-len(defaults) :]
            pairs = zip(named, defaults, strict=True) if defaults else ()
            found.permits |= {dotted(v) for a, v in pairs if a.arg == "permit" and v is not None}
        elif isinstance(node, ast.AnnAssign) and dotted(node.target) == "permit" and node.value:
            value = node.value.func if isinstance(node.value, ast.Call) else node.value
            found.permits.add(dotted(value))
    for node in names:
        if node not in annotations:  # called or only named, as whatever it was imported
            head, dot, rest = dotted(node).partition(".")
            name = f"{known.get(head, '')}{dot}{rest}"
            if POWERS.fullmatch(name):
                found.powers.add(name)
    return found


def users(*functions):
    return {name for name, source in sources().items() if source.called & set(functions)}


def test_what_acts_outside_stands_in_the_list_of_those_that_ask_for_a_permit():
    found = {name: source.powers for name, source in sources().items() if source.powers}
    assert found == ASK | OTHERS
    for name in ASK:
        assert sources()[name].arguments & {"permit", "plugins"}, name


@pytest.mark.parametrize(
    "text",
    [
        "import os; os.system('x')", "from subprocess import run as go; go('x')",
        "import subprocess as s; later = s.check_output", "from os import environ; environ['K']",
        "import httpx; httpx.get('x')", "import urllib.request as u; u.urlretrieve('x')",
        "import socket; socket.socket()", "__import__('x')", "import runpy; runpy.run_path('x')",
        "from asyncio import create_subprocess_exec as go; f = go",
        "import pickle; pickle.loads(b)",
        "import duckdb; duckdb.connect('x')", "from openai import OpenAI; OpenAI()",
    ],
)  # fmt: skip
def test_no_other_name_hides_it(text):
    assert source_of(ast.parse(text)).powers


def test_the_registry_alone_imports_modules_whose_names_stand_nowhere_in_our_source():
    importers = {name for name, source in sources().items() if source.imports_by_name}
    assert importers == OUR_MODULES | {"registry.py"}


def test_no_permit_has_a_default_and_trust_alone_makes_them():
    makers = {"permits.py", "wiring/trust.py"}
    for name, source in sources().items():
        # of `run`: the user gives them
        own = {"field"} if name == "runs/options/run_options.py" else set()
        assert source.permits <= {"NOTHING"} | own, name
        assert "_MINT" not in source.words or name in makers, name
        assert "Permit" not in source.called or name in makers, name


def test_permits_of_this_call_are_made_in_a_short_list_of_places():
    makers = {n for n, source in sources().items() if source.imported & {"own_call", "own_plugins"}}
    assert makers | {"wiring/trust.py"} == MAKES_OWN_PERMITS


def test_what_an_allowed_thing_implies_is_said_in_few_places():
    assert users("implying") == {
        "features/local_models/process.py", "web/opened.py", "web/providers/catalogue.py",
        "wiring/models.py",
    }  # fmt: skip


def test_paths_to_objects_stand_in_our_source_or_in_a_family_that_is_loaded():
    assert users("load_path") == {
        "cli/tree.py", "features/reference/policy.py", "registry.py", "runs/generate.py",
        "tasks/tool_registry.py", "testing/family.py",
        "wiring/listing.py", "wiring/registry.py",
    }  # fmt: skip


def test_a_module_of_ours_by_its_path_is_no_built_in_plug_in():
    """`agent_env.sandbox.docker:os.system` in run.json would be a tool with a name of ours."""
    with pytest.raises(ConfigError, match=r"^the code agent_env\.lifeline:os\.getcwd is not"):
        TOOLS.find("agent_env.lifeline:os.getcwd", NOTHING)
    assert TOOLS.find("python", NOTHING).traits.name == "python"


def test_what_a_permit_does_not_name_is_refused_in_one_line_and_nobody_else_makes_one():
    with pytest.raises(ConfigError, match=r"^the command touch x is not allowed, as it comes from"):
        NOTHING.check(Reach.COMMAND, "touch x")
    own_call().check(Reach.COMMAND, "touch x")
    with pytest.raises(TypeError, match=r"made by wiring\.trust"):
        Permit(object(), [(Reach.CODE, "x")], True)


def test_what_is_implied_is_covered_and_nothing_beside_it():
    base = own_call().implying((Reach.COMMAND, "serve"), Reach.ADDRESS, "http://127.0.0.1:1/v1")
    assert base.covers(Reach.ADDRESS, "http://127.0.0.1:2")  # this call's own
    with pytest.raises(ConfigError):
        NOTHING.implying((Reach.COMMAND, "serve"), Reach.ADDRESS, "http://127.0.0.1:1/v1")


def test_a_permit_survives_the_way_to_a_worker():
    sent = pickle.loads(pickle.dumps(NOTHING))
    assert not sent.covers(Reach.KEY, "MY_SECRET")
    assert pickle.loads(pickle.dumps(own_call())).covers(Reach.KEY, "MY_SECRET")
