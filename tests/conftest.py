"""Blocks the network for the whole suite: only Unix sockets and loopback get through; keeps records
of runs to itself; lets hypothesis take as long as a busy machine needs; says for what tests
skipped; makes a set of questions once; runs tests that are coroutines; looks for no garbage in
what is imported; and makes the small runs that most tests only read or copy."""

import asyncio
import atexit
import gc
import inspect
import itertools
import os
import shutil
import sys
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, settings

import tests.audit  # noqa: F401  # blocks the network
from tests import TESTS
from tests.kept_sets import keep_sets
from tests.programs import Skips

_STATE = TemporaryDirectory(prefix="agent-env-state-")
atexit.register(_STATE.cleanup)
os.environ["XDG_STATE_HOME"] = _STATE.name  # the user's own records are left alone
os.environ.pop("SSL_CERT_FILE", None)
os.environ.pop("COLUMNS", None)  # xdist sets it: what tests print goes to a pipe without a width
os.unsetenv("COLUMNS")  # readline sets it for processes that are started from here
os.fsync = lambda fd: None  # no test takes the power away, and a disk is slow to tell
os.environ["SSL_CERT_DIR"] = _STATE.name  # reading all certificates takes longer than most tests


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What is imported and collected stays to the end: to look through it for garbage again and
    again takes a third of the time of collecting it, and half a second each time later."""
    gc.disable()
    result = yield
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)  # hypothesis times each collection
    gc.enable()
    return result


def pytest_collection_finish():
    """From here on no bytecode is written: a plug-in that a test imports would leave some beside
    it. The tests and the package have theirs by now."""
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """One more than there are cores: where a test waits for a process, another one goes on."""
    return len(os.sched_getaffinity(0)) + 1


def pytest_addoption(parser):
    parser.addoption(
        "--skipped-last",
        action="store_true",
        help="ask what skipped in the last run for a program that was missing; here that fails",
    )


def pytest_configure(config):
    config.pluginmanager.register(Skips(config))
    keep_sets()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """A test that is a coroutine has a loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.fixture(scope="session")
def small_run(tmp_path_factory):
    """Two puzzles under base and explicit, scored and with an index; nobody changes it."""
    from tests.commands import agent_env, run_puzzles

    run = tmp_path_factory.mktemp("small") / "run"
    run_puzzles(run, limit=2, conditions=("base", "explicit"))
    assert agent_env("episodes", "list", str(run)).returncode == 0  # makes index.db
    return run


@pytest.fixture(scope="session")
def web_run(tmp_path_factory):
    """One puzzle under base and web, twice; nobody changes it."""
    from tests.commands import run_puzzles

    return run_puzzles(
        tmp_path_factory.mktemp("web") / "run", "--repeats", "2", conditions=("base", "web")
    )


@pytest.fixture(scope="session")
def web(tmp_path_factory):
    """The shipped sealed web, in a file; nobody adds to it."""
    from agent_env.features.facts.sealed import SealedWeb

    made = SealedWeb.shipped(tmp_path_factory.mktemp("shipped") / "pages.db")
    yield made
    made.close()


@pytest.fixture(scope="module")
def hurried():
    """An hour passes between two looks at the clock of a search service, so that none waits for
    its turn; and the fake server asks for no wait."""
    from agent_env.web.providers import client
    from tests.fake_server import channel

    hours = itertools.count(step=3600)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, "_now", lambda: float(next(hours)))
        patch.setattr(channel, "RETRY_AFTER", "0")
        yield


@pytest.fixture(scope="session")
def forked(tmp_path_factory):
    """Runs commands in processes of their own."""
    from tests.forks import forking

    with forking(tmp_path_factory.mktemp("package")) as forked:
        yield forked


@pytest.fixture
def recorded(tmp_path):
    """A run of five conditions by an older version, to be changed."""
    return shutil.copytree(TESTS / "data/runs/puzzle", tmp_path / "run")


@pytest.fixture
def copied(small_run, tmp_path):
    """The small run, to be changed."""
    return shutil.copytree(small_run, tmp_path / "run")


@pytest.fixture(scope="module")
def unconfined():
    """Jobs of the worker run in this process, without its limits: to start one for a small file
    takes a hundred times as long as to read it."""
    from agent_env.worker import child

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(child, "is_worker", True)
        yield
