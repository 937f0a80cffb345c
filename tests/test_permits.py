"""Permits: what covers what, and that whatever acts outside asks for one.

The callers are found in the source itself, so that a new one is listed here or the test fails.
"""

from __future__ import annotations

import ast
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

import agent_env
from agent_env.errors import ConfigError
from agent_env.permits import NOTHING, Permit
from agent_env.records.reach import Reach
from agent_env.tasks.tool_registry import TOOLS
from agent_env.wiring.trust import own_call

ROOT = Path(agent_env.__file__).parent
PRIMITIVES = (
    "create_subprocess_exec", "create_subprocess_shell", "Popen", "subprocess.run",
    "spec_from_file_location", "exec", "eval", "execve", "execvp", "execvpe",
    "AsyncClient", "AsyncHTTPTransport", "AsyncOpenAI", "open_connection", "create_connection",
    "environ", "getenv", "urlopen",
)  # fmt: skip
ASK = {
    "mcp/launch.py": {"create_subprocess_exec", "environ"},
    "mcp/transport.py": {"AsyncClient", "AsyncHTTPTransport"},
    "models/endpoint.py": {"AsyncOpenAI"},
    "models/health.py": {"AsyncClient"},
    "models/server_facts.py": {"AsyncClient"},
    "models/serving/process.py": {"create_subprocess_exec"},
    "registry.py": {"spec_from_file_location"},
    "sandbox/unsafe.py": {"create_subprocess_exec"},
    "web/providers/client.py": {"AsyncClient"},
    "web/wikidata.py": {"AsyncClient"},
    "wiring/models.py": {"environ"},
    "wiring/web.py": {"environ"},
}
"""Modules that act outside, each behind a permit that it takes."""
CONFINED = {
    "lifeline.py": {"execvp"},
    "sandbox/bubblewrap.py": {"create_subprocess_exec"},
    "sandbox/cgroups.py": {"Popen"},
    "sandbox/docker.py": {"open_connection"},
    "sandbox/forked.py": {"create_subprocess_exec", "open_connection"},
    "sandbox/launcher.py": {"execve"},
    "sandbox/layout.py": {"create_subprocess_exec"},
    "sandbox/notebook.py": {"exec", "eval"},
    "sandbox/program.py": {"execvpe"},
    "sandbox/stage.py": {"execve"},
    "web/fetch_request.py": {"AsyncHTTPTransport"},
    "worker/host.py": {"Popen", "environ"},
}
"""Parts of the sandboxes and of the confined worker, and the request of the fetcher, which asks."""
OWN = {
    "cli/docs.py": {"environ"},
    "cli/serve.py": {"environ"},
    "runs/probe.py": {"environ"},
    "runs/ray/engine.py": {"environ"},
    "sandbox/rootfs.py": {"environ"},
    "testing/family.py": {"environ", "subprocess.run"},
    "testing/sandbox.py": {"environ"},
    "wiring/collector.py": {"environ"},
    "wiring/doctor.py": {"environ"},
    "wiring/rooms.py": {"environ"},
    "wiring/trust.py": {"environ"},
}
"""What the command line names, or settings of this machine: nothing of a folder."""
OUR_MODULES = {
    "__init__.py", "extras.py", "analysis/statistics/__init__.py", "cli/app.py",
    "cli/options.py", "runs/export.py", "tasks/tool_registry.py",
    "sandbox/forkserver.py", "temporal/systems/catalogue.py", "web/warc.py", "wiring/registry.py",
    "worker/child.py",
}  # fmt: skip
"""Import modules by names that stand in our own source, or inside a sandbox."""
MAKES_OWN_PERMITS = {
    "api/objects.py", "cli/app.py", "cli/local.py", "cli/sandbox.py",
    "families/event_facts/commands.py",
    "runs/context.py", "runs/fork.py", "runs/generate.py", "runs/judge.py", "runs/mcp.py",
    "runs/options.py", "runs/probe.py", "runs/reproduction/engine.py", "runs/studies/folder.py",
    "testing/family.py", "testing/model.py", "testing/sandbox.py",
    "testing/search.py", "testing/tool.py", "wiring/listing.py", "wiring/trust.py",
    "wiring/web_options.py",
}  # fmt: skip
"""Take what the command line, the API or a test names; a study's folder, once it is trusted."""


def sources() -> Iterator[tuple[str, ast.Module]]:
    for file in sorted(ROOT.rglob("*.py")):
        yield file.relative_to(ROOT).as_posix(), ast.parse(file.read_bytes())


def dotted(node: ast.expr) -> str:
    return ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute) else ""


def primitives_in(tree: ast.Module) -> set[str]:
    used = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = dotted(node.func)
            used |= {each for each in PRIMITIVES if f".{name}".endswith(f".{each}")}
        elif isinstance(node, ast.Attribute) and dotted(node) == "os.environ":
            used.add("environ")
    return used


def test_what_acts_outside_stands_in_the_list_of_those_that_ask_for_a_permit() -> None:
    found = {name: used for name, tree in sources() if (used := primitives_in(tree))}
    assert found == ASK | CONFINED | OWN


def test_the_registry_alone_imports_modules_whose_names_stand_nowhere_in_our_source() -> None:
    users = {
        name
        for name, tree in sources()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and dotted(node.func).split(".")[-1] == "import_module"
        and not isinstance(node.args[0], ast.Constant)
    }
    assert users == OUR_MODULES | {"registry.py"}


def test_each_of_them_has_a_permit_in_its_signatures() -> None:
    for name, tree in sources():
        if name in ASK:
            arguments = {
                argument.arg
                for node in ast.walk(tree)
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                for argument in (*node.args.args, *node.args.kwonlyargs)
            }
            assert arguments & {"permit", "plugins"}, name


def test_no_permit_has_a_default_and_trust_alone_makes_them() -> None:
    for name, tree in sources():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                plain = [*node.args.posonlyargs, *node.args.args]
                plain = plain[len(plain) - len(node.args.defaults) :]
                pairs = [
                    *zip(plain, node.args.defaults, strict=True),
                    *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True),
                ]
                for argument, default in pairs:
                    if argument.arg == "permit" and default is not None:
                        assert dotted(default) == "NOTHING", (name, node.name)
            if isinstance(node, ast.Name | ast.Attribute | ast.alias):
                word = node.name if isinstance(node, ast.alias) else dotted(node)
                if word.split(".")[-1] == "_MINT":
                    assert name in ("permits.py", "wiring/trust.py"), name
            if isinstance(node, ast.Call) and dotted(node.func).split(".")[-1] == "Permit":
                assert name in ("permits.py", "wiring/trust.py"), name


def test_permits_of_this_call_are_made_in_a_short_list_of_places() -> None:
    users = {
        name
        for name, tree in sources()
        for node in ast.walk(tree)
        if isinstance(node, ast.alias) and node.name in ("own_call", "own_plugins")
    }
    assert users | {"wiring/trust.py"} == MAKES_OWN_PERMITS


def callers(*functions: str) -> set[str]:
    return {
        name
        for name, tree in sources()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and dotted(node.func).split(".")[-1] in functions
    }


def test_what_an_allowed_thing_implies_is_said_in_few_places() -> None:
    assert callers("implying") == {
        "models/serving/process.py", "web/providers/catalogue.py",
        "wiring/models.py",
    }  # fmt: skip


def test_paths_to_objects_stand_in_our_source_or_in_a_family_that_is_loaded() -> None:
    assert callers("load_path") == {
        "families/reference/policy.py", "registry.py", "runs/generate.py",
        "runs/reproduction/engine.py", "tasks/tool_registry.py", "testing/family.py",
        "wiring/listing.py", "wiring/registry.py", "wiring/web.py",
    }  # fmt: skip


def test_a_module_of_ours_by_its_path_is_no_built_in_plug_in() -> None:
    """`agent_env.mcp.launch:os.system` in run.json would be a tool with a name of ours."""
    with pytest.raises(ConfigError, match=r"^the code agent_env\.mcp\.launch:os\.getcwd is not"):
        TOOLS.find("agent_env.mcp.launch:os.getcwd", NOTHING)
    assert TOOLS.find("python", NOTHING).traits.name == "python"


def test_a_permit_is_made_by_nobody_else() -> None:
    with pytest.raises(TypeError, match=r"made by wiring\.trust"):
        Permit(object(), [(Reach.CODE, "x")], True)


def test_what_a_permit_does_not_name_is_refused_in_one_line() -> None:
    with pytest.raises(ConfigError, match=r"^the command touch x is not allowed, as it comes from"):
        NOTHING.check(Reach.COMMAND, "touch x")
    own_call().check(Reach.COMMAND, "touch x")


def test_what_is_implied_is_covered_and_nothing_beside_it() -> None:
    base = own_call().implying((Reach.COMMAND, "serve"), Reach.ADDRESS, "http://127.0.0.1:1/v1")
    assert base.covers(Reach.ADDRESS, "http://127.0.0.1:2")  # this call's own
    with pytest.raises(ConfigError):
        NOTHING.implying((Reach.COMMAND, "serve"), Reach.ADDRESS, "http://127.0.0.1:1/v1")


def test_a_permit_survives_the_way_to_a_worker() -> None:
    sent = pickle.loads(pickle.dumps(NOTHING))
    assert not sent.covers(Reach.KEY, "MY_SECRET")
    assert pickle.loads(pickle.dumps(own_call())).covers(Reach.KEY, "MY_SECRET")
