"""Commands in processes of their own: each is forked from one process that has imported what others
wrote, since an interpreter of its own for each would import the same modules a hundred times.

They find the package with or without folders of families and features, and packages beside it."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory

import agent_env
from tests.commands import Done

PACKAGE = Path(agent_env.__file__).parent
RINGS = ("families", "features")
FOLDERS = sorted(
    f"{ring}/{each.parent.name}" for ring in RINGS for each in PACKAGE.glob(f"{ring}/*/__init__.py")
)
PAPERS = [f"features/papers/{each.parent.name}"
          for each in PACKAGE.glob("features/papers/*/__init__.py")]  # fmt: skip
"""Each of them stands on a family."""


def link_package(gone, place):
    """Makes a copy of links, but for these folders."""

    def link(folder, copy):
        copy.mkdir(parents=True)
        for each in folder.iterdir():
            name = str(each.relative_to(PACKAGE))
            if name in (*RINGS, "features/papers") and name not in gone:
                link(each, copy / each.name)
            elif name not in gone:
                (copy / each.name).symlink_to(each)

    rmtree(place / "agent_env", ignore_errors=True)
    link(PACKAGE, place / "agent_env")


FORKS = """
import gc, json, os, sys
from importlib import import_module, invalidate_caches
from pkgutil import walk_packages
import bs4, httpx, httpx2, langgraph.graph, lxml.etree, numpy, pydantic, rich.console, typer
for name in (  # extras
    "duckdb", "hijridate", "inspect_ai.log", "jinja2", "jsonschema", "matplotlib.figure", "pypdf",
    "pytest", "regex", "sqlglot", "starlette.applications",
):
    try:
        import_module(name)
    except ImportError:
        pass
sys.path[0] = sys.argv[1]
import agent_env
def fails(package=agent_env):
    failed = []
    for each in walk_packages(package.__path__, f"{package.__name__}.", onerror=failed.append):
        if not each.name.endswith("__main__"):
            try:
                import_module(each.name)
            except ModuleNotFoundError as exc:
                if exc.name.startswith("agent_env"):
                    failed.append(each.name)
    return failed
for room in (
    "temporal", "scoring", "tasks", "web", "sandbox", "models", "tools", "graph", "worker",
    "episodes", "analysis", "wiring", "runs", "cli",
):
    assert fails(import_module(f"agent_env.{room}")) == []
gc.freeze()
for line in sys.stdin:
    cwd, ends, paths, env, commands = json.loads(line)
    if child := os.fork():
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.path[1:1] = paths
    invalidate_caches()
    for at, words in enumerate(commands):
        for number, name in enumerate(("in", "out", "err")):
            os.dup2(os.open(f"{ends}/{at}.{name}", os.O_RDWR | os.O_CREAT), number)
        sys.argv, code = ["agent-env", *words], 0
        from agent_env.cli.app import main
        try:
            main() if words else exec(sys.stdin.read())
        except SystemExit as exc:
            code = int(exc.code or 0)
        sys.stdout.flush()
        with open(f"{ends}/{at}.code", "w") as file:
            file.write(str(code))
    os._exit(0)
"""
"""Imports what others wrote, and the rooms that ask for no folder while they are imported, without
any of the folders; forks for each place, where the rest is imported that stands in the package
then: an interpreter of its own for each would import the same modules thirty times."""


@contextmanager
def forking(place):
    """A function that runs commands, or the code where one has no words, in turn in one process:
    in the folder `cwd`, without the folders `gone`, with packages in `paths`; what each left."""
    link_package({*FOLDERS, *PAPERS}, place)
    command = [sys.executable, "-c", FORKS, str(place)]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as forks:

        def forked(*commands, cwd, gone=(), paths=(), env=os.environ, code=""):
            link_package(gone, place)
            cwd.mkdir(exist_ok=True)
            with TemporaryDirectory() as ends:
                (Path(ends) / "0.in").write_text(code)
                order = str(cwd), ends, list(map(str, paths)), dict(env), commands
                forks.stdin.write(json.dumps(order) + "\n")
                forks.stdin.flush()
                assert forks.stdout.readline() == "0\n"
                return [_ended(Path(ends), at) for at in range(len(commands))]

        yield forked
        forks.stdin.close()


def _ended(ends, at):
    code, out, err = ((ends / f"{at}.{name}").read_text() for name in ("code", "out", "err"))
    return Done(int(code), out, err)
