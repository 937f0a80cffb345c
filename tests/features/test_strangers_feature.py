"""A feature of a package that none of us wrote, installed as pip would leave it."""

import json

import pytest

from agent_env.features.reference.policy import Reference
from tests.commands import agent_env, serving
from tests.fake_server import FakeServer, model_policy

METADATA = "Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n"


def installed(folder, name, module):
    """Marks the module's object as an entry point of a distribution in the folder."""
    info = folder / f"{name.replace('-', '_')}-0.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(METADATA.format(name=name))
    (info / "entry_points.txt").write_text(f"[agent_env.features]\n{name} = {module}\n")
    return folder


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """What `agent-env new feature second-try` writes."""
    home = tmp_path_factory.mktemp("package")
    assert agent_env("new", "feature", "second-try", cwd=home).returncode == 0
    return installed(home / "second-try", "second-try", "second_try.feature:second_try")


@pytest.fixture(scope="module")
def with_packages(forked):
    """Runs commands in turn, in a process that finds packages in these folders."""

    def with_packages(*commands, paths, cwd):
        env = {"PATH": "", "XDG_STATE_HOME": str(cwd)}
        commands = [each.split() if isinstance(each, str) else each for each in commands]
        return forked(*commands, cwd=cwd, paths=paths, env=env)

    return with_packages


RUN = "run time-puzzles --limit 2 --condition base --second-try Really? --out run"
SAID = {
    "compare run --table second-try": "What doubt costs",
    "compare run": "base~second-try cannot be told apart from base",
    "replay run": "4 episodes replayed: 4 same",
    "run --help-all": "--second-try TEXT",
    "list features": "second-try    second-try 0.1",
    "run time-puzzles --limit 1 --condition base~second-try --out by": "base~second-try",
}


@pytest.fixture(scope="module")
def told(package, with_packages, tmp_path_factory):
    """What each of these commands left, and the folder where they ran."""
    home = tmp_path_factory.mktemp("doubted")
    ran, *ended = with_packages(RUN, *SAID, paths=[package], cwd=home)
    assert ran.returncode == 0, ran.stderr
    return home, dict(zip(SAID, ended, strict=True))


def test_its_option_makes_a_condition_beside_each_that_asks_twice(told):
    doubted, _ = told
    manifest = json.loads((doubted / "run/run.json").read_text())
    assert manifest["features"] == {"second-try": {"doubt": "Really?"}}
    names = [each["name"] for each in manifest["conditions"]]
    assert names == ["base", "base~second-try"]
    traces = (next((doubted / "run/episodes" / name).glob("*.jsonl")) for name in names)
    assert ["Really?" in trace.read_text() for trace in traces] == [False, True]


@pytest.mark.parametrize("words", SAID)
def test_it_is_compared_replayed_listed_and_typed_as_ours(words, told):
    ended = told[1][words]
    assert (ended.returncode, SAID[words] in ended.stdout) == (0, True), ended.stdout + ended.stderr


def test_a_run_of_it_is_refused_where_it_is_not_installed(told, with_packages):
    (ended,) = with_packages("show run", paths=[], cwd=told[0])
    assert (ended.returncode, ended.stderr) == (
        2,
        "agent-env: run was made with the feature 'second-try', which is not installed; "
        "installed: agents, batch, clock, evidence, judge, local_models, mcp\n",
    )


def test_a_fork_cannot_take_it_up(package, copied, with_packages, tmp_path):
    trace = next((copied / "episodes/base").glob("*.jsonl"))
    words = "episodes", "fork", str(trace), "--at", "0", "--condition", "base~second-try"
    (ended,) = with_packages(words, paths=[package], cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (
        2,
        "agent-env: a fork is run as its parent was, and that without the feature second-try; "
        "leave ~second-try out of --condition base~second-try\n",
    )


CALLER = """
import agent_env as ae
def caller(messages, tools):
    if messages[-1].role == "tool":
        return "MY ANSWER: none"
    call = ae.ToolCall(id="1", name=tools[0].name, arguments="{}")
    return ae.Reply(message=ae.Message(role="assistant", tool_calls=(call,)))
"""


DICE = """
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated
from agent_env.sdk.commands import Opt
from agent_env.sdk.family import Feature
from agent_env.sdk.inside import ToolTraits
from agent_env.sdk.records import Record, ToolResult, ToolSpec

@dataclass(frozen=True)
class Options:
    dice: Annotated[tuple[int, ...], Opt("A die with so many sides.")] = ()

class Settings(Record):
    sides: tuple[int, ...]

class Die:
    def __init__(self, traits):
        self.spec = ToolSpec(name=traits.name, description="Rolls.", parameters={"type": "object"})

    async def run(self, arguments):
        return ToolResult(output=f"{self.spec.name} shows 1")

class Dice:
    prefix = "die:"

    def stand_ins(self, options, conditions):
        return self.tools(Settings(sides=options.dice))

    def part(self, part, text, tools):
        return part, tuple(each for each in tools.values() if each.origin == part)

    async def read(self, options, note, plugins):
        return Settings(sides=options.dice) if options.dice else None

    def tools(self, settings):
        return {f"d{n}": ToolTraits(name=f"d{n}", source=f"die:{n}/roll") for n in settings.sides}

    def open(self, folder, settings, stack, note, permit):
        return self

    @asynccontextmanager
    async def episode(self):
        yield self

    def tool(self, traits):
        return Die(traits)

async def read_again(settings, note, plugins):
    return Settings(sides=(*settings.sides, 99))

def changes(before, now):
    return [f"die {each}: added" for each in now.sides if each not in before.sides]

FEATURE = Feature(
    "dice", options=Options, settings=Settings, tools=Dice(), read_again=read_again, changes=changes
)
"""


def test_it_can_bring_tools_that_are_known_only_when_the_run_is_planned(with_packages, tmp_path):
    (tmp_path / "dice.py").write_text(DICE)
    (tmp_path / "caller.py").write_text(CALLER)
    where = {"paths": [installed(tmp_path, "dice", "dice:FEATURE")], "cwd": tmp_path}
    run = ("run time-puzzles --model caller.py:caller --limit 1 --condition cal+die:6 --dice 6 "
           "--out run")  # fmt: skip
    ran, replayed = with_packages(run, "replay run", **where)
    assert (ran.returncode, replayed.returncode) == (0, 0), ran.stderr + replayed.stderr
    manifest = json.loads((tmp_path / "run/run.json").read_text())
    assert manifest["features"] == {"dice": {"sides": [6]}}
    assert manifest["conditions"][0]["tools"] == ["calendars", "d6"]
    trace = next((tmp_path / "run/episodes").glob("*/*.jsonl"))
    trace.write_bytes(b"".join(trace.read_bytes().splitlines(keepends=True)[:-1]))
    (ended,) = with_packages("resume run", **where)
    assert (ended.returncode, "changed since run began: die 99: added" in ended.stderr) == (2, True)


ECHO = """
from dataclasses import replace
from agent_env.sdk.family import Feature
from agent_env.sdk.inside import Check, StartedServer
from agent_env.sdk.records import Record

class Settings(Record):
    said: str

class Servers:
    def has(self, model):
        return model == "echo"

    def of_run(self, options, its, note):
        if not self.has(options.model):
            return options, None
        return replace(options, model="compatible/echo", base_url="URL"), Settings(said="nothing")

    async def start(self, run, model, url, settings, note, stack):
        async def is_up():
            return True

        stack.callback(note, "echo: ended")
        return StartedServer(url, Settings(said="it is up"), is_up, is_known=True)

def checks():
    return [Check("echo", True, "hears you")]

FEATURE = Feature("echo", settings=Settings, servers=Servers(), checks=checks)
"""


def test_it_can_bring_a_model_whose_server_the_run_starts(with_packages, tmp_path):
    installed(tmp_path, "echo", "echo:FEATURE")
    run = "run time-puzzles --model echo --limit 1 --condition base --out run"
    with serving(FakeServer(model_policy(Reference()))) as url:
        (tmp_path / "echo.py").write_text(ECHO.replace("URL", url))
        ran, doctor = with_packages(run, "doctor --json", paths=[tmp_path], cwd=tmp_path)
    assert (ran.returncode, ran.stderr.count("echo: ended")) == (0, 1), ran.stderr
    manifest = json.loads((tmp_path / "run/run.json").read_text())
    assert manifest["model"] == "compatible/echo"
    assert manifest["features"] == {"echo": {"said": "it is up"}}
    assert json.loads(doctor.stdout)["echo"] == {"ok": True, "says": "hears you"}


MODULE = """
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from agent_env.sdk.commands import Opt
from agent_env.sdk.errors import DatasetError
from agent_env.sdk.family import Feature, Modifier

@dataclass(frozen=True)
class Options:
    today: Annotated[str, Opt("A day.")] = ""

def fails(draft, options):
    raise RuntimeError("no room")

def refuses():
    raise DatasetError(Path("mine.jsonl"), 3, "has no gold")

TAKES_AN_OPTION = Feature("mine", options=Options)
TAKES_A_FORM = Feature("mine", modifiers=(Modifier("x", (), ("schema", "on-NAME")),))
FAILS = Feature("mine", plan=fails)
FAILS_IN_VALUES = Feature("mine", values=lambda *of: fails(*of[:2]))
IS_TOLD_BY_A_FILE = Feature("mine", plan=lambda *of: refuses())
GIVES_NOTHING = Feature("mine", plan=lambda draft, options: None)
IN_A_CIRCLE = Feature("mine", after=("mine",))
NO_FEATURE = "mine"
"""
BAD = {
    "TAKES_AN_OPTION": "the option --today is taken twice: by the feature mine and by the feature "
    "clock; uninstall one of them",
    "TAKES_A_FORM": "the modifier ~schema is taken twice: by agent-env and by the feature mine; u",
    "FAILS": "the feature mine failed to plan the run: RuntimeError: no room",
    "FAILS_IN_VALUES": "the feature mine failed to plan the run: RuntimeError: no room",
    "IS_TOLD_BY_A_FILE": "mine.jsonl:3: has no gold",
    "GIVES_NOTHING": "the feature mine gave NoneType for a Draft",
    "IN_A_CIRCLE": "these features each come after another of them: mine",
    "NO_FEATURE": "feature 'mine' of mine 0.1 (bad:NO_FEATURE) is a str, not a Feature",
}


@pytest.mark.parametrize("name", BAD)
def test_one_that_takes_what_is_taken_or_fails_is_refused_in_a_line(name, with_packages, tmp_path):
    folder = installed(tmp_path / "packages", "mine", f"bad:{name}")
    (folder / "bad.py").write_text(MODULE)
    words = "run time-puzzles --limit 1 --condition base --out run"
    (ended,) = with_packages(words, paths=[folder], cwd=tmp_path)
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert ended.stderr.startswith(f"agent-env: {BAD[name]}")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("wrong", ['"doubt": ["Really?"]', '"doubt": "Really?", "x": 1'])
def test_settings_that_its_record_does_not_know_are_refused(told, package, with_packages, wrong):
    file = told[0] / "run/run.json"
    text = file.read_text()
    try:
        file.write_text(text.replace('"doubt": "Really?"', wrong))
        (ended,) = with_packages("show run", paths=[package], cwd=told[0])
    finally:
        file.write_text(text)
    assert (ended.returncode, "settings of the feature second-try: " in ended.stderr) == (2, True)
