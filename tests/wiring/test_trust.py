"""A run's folder is data: what it says that reaches outside is done only where the user says so.

Each run here is made by one user and played by another, who has other records; canaries tell what
was done: a file, or a server on loopback that notes who asked it.
"""

import asyncio
import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent_env.episodes.run_folder import EpisodeKey
from agent_env.episodes.trace.lines import TraceWriter, seal
from agent_env.records.schema import ToolResult
from agent_env.records.trace_events import EpisodeFinished, EpisodeStarted, ModelCalled, ToolCalled
from agent_env.runs.options.run_options import RunOptions
from agent_env.runs.run import Run
from agent_env.testing import answer, calls
from agent_env.wiring.trust import outside_settings
from tests.commands import agent_env
from tests.episodes.runs import clock
from tests.noting_server import NotingServer, noting_servers
from tests.plans import run_of

pytestmark = pytest.mark.usefixtures("hurried")
KEY = "sk-canary-0123456789"
SECRET = "for-another-service"


@pytest.fixture
def canary():
    with noting_servers(1, {}, 401) as (server,):
        yield server


@dataclass
class Foreign:
    """A run of another user's with an episode that is not finished, and one that is."""

    path: Path
    state: Path
    """Where the records of the user are who plays it."""
    file: Path
    """That a planted order makes."""
    canary: NotingServer
    at: str = "1"
    """The step from which it is forked."""

    def plant(self, **manifest):
        file = self.path / "run.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | manifest))

    def command(self, name, *more):
        trace = f"{self.path}/episodes/{self.condition}/{self.sample}.1.jsonl"
        words = {
            "resume": f"resume {self.path} --accept-changes",
            "replay tools": f"replay {self.path} --tools live --lenient",
            "replay model": f"replay {self.path} --model live --lenient",
            "fork": f"episodes fork {trace} --at {self.at} --out {self.path.with_name('forked')}",
        }.get(name, name)
        return agent_env(*words.split(), *more, env=self.environment)

    @property
    def environment(self):
        return {"XDG_STATE_HOME": str(self.state), "COMPATIBLE_API_KEY": KEY,
                "MY_SECRET": SECRET}  # fmt: skip

    @property
    def condition(self):
        return str(json.loads((self.path / "run.json").read_text())["conditions"][0]["name"])

    @property
    def sample(self):
        return str(json.loads((self.path / "samples.jsonl").read_text().splitlines()[0])["id"])

    def rewrite(self, **start):
        """Give the traces another first event."""
        for file in self.path.glob("episodes/*/*.jsonl"):
            crc, lines = 0, []
            for number, line in enumerate(file.read_text().splitlines()):
                event = json.loads(line) | (start if number == 0 else {})
                event.pop("crc", None)
                sealed, crc = seal(json.dumps(event).encode(), crc)
                lines.append(sealed)
            file.write_bytes(b"".join(lines))

    def write(self, tool="web_search", **arguments):
        """A finished episode, and one that was cut off, whose first step made this call."""
        folder = Run(self.path)
        condition = folder.manifest.conditions[0]
        question = folder.task.prompt(folder.samples[0], condition)
        for repeat in (1, 2):
            key = EpisodeKey(self.sample, condition.name, repeat)
            trace = TraceWriter(folder.trace(key), key.name, clock)
            start = {"sample": key.sample, "condition": condition, "repeat": repeat}
            trace.write(EpisodeStarted, model="reference", messages=question, **start)
            asked = calls((tool, json.dumps(arguments)))
            (call,) = asked.message.tool_calls
            trace.write(ModelCalled, request="0", reply=asked, latency_s=0.1)
            trace.write(ToolCalled, call=call, result=ToolResult(output="1"), duration_s=0.1)
            if repeat == 1:
                told = answer("MY ANSWER: None")
                trace.write(ModelCalled, request="1", reply=told, latency_s=0.1)
                trace.write(EpisodeFinished, answer="MY ANSWER: None", stop_reason="answered")
            trace.close()


@pytest.fixture
def foreign(tmp_path, canary, monkeypatch):
    module = tmp_path / "modules" / "canary_module.py"
    module.parent.mkdir()
    module.write_text(f"open({str(tmp_path / 'canary')!r}, 'w').write('imported')")
    monkeypatch.syspath_prepend(str(module.parent))
    monkeypatch.delitem(sys.modules, module.stem, raising=False)
    options = RunOptions("time-puzzles", conditions=("base",), limit=1, repeats=2,
                         out=tmp_path / "theirs")  # fmt: skip
    folder = asyncio.run(run_of(options))
    return Foreign(folder.path, tmp_path / "mine", tmp_path / "canary", canary)


def plant_sandbox(run):
    run.plant(sandbox="unsafe-subprocess", conditions=[{"name": "python", "tools": ["python"]}])
    run.write("python", code=f"open({str(run.file)!r}, 'w').write('out')")


def plant_hosts(run):
    host = run.canary.address.removeprefix("http://")
    plant_web(run, search_url="http://127.0.0.1:9", allow_hosts=[host])
    shutil.rmtree(run.path / "episodes")
    run.write("open_page", url=f"{run.canary.address}/secret")


def plant_web(run, **settings):
    web = {"name": "web", "tools": ["web_search", "open_page"], "first_step": "required"}
    searches = {"search": "searxng", "obey_robots": False, **settings}
    plant(run, conditions=[web], web="record", web_settings=searches)


def plant(run, **manifest):
    run.plant(**manifest)
    run.write(query="the Falklands War")


def plant_address(run, **more):
    """A server of theirs for any model."""
    parameters = {"base_url": run.canary.url, **more.pop("model_parameters", {})}
    plant(run, model="compatible/x", model_parameters=parameters, **more)


def plant_cache(run):
    plant(run, reply_cache=str(run.file))


def plant_page_store(run):
    plant_web(run, search_url=run.canary.address, pages=str(run.file))


def plant_search_address(run):
    plant_web(run, search_url=run.canary.address)
    run.at = "0"


def plant_key(run):
    plant_address(run, model_parameters={"api_key_env": "MY_SECRET"})


UNDECLARED = [{"name": "own", "tools": ["canary_module:TOOL"]}]
FREE = {"input_per_million": 0.0, "date": "2026-01-01", "source": "theirs"}
BY_MODEL = ("resume", "replay model", "fork")
BY_TOOLS = ("resume", "replay tools", "fork")
ORDERS = {
    "sandbox": (plant_sandbox, BY_TOOLS),
    "tool": (lambda run: plant(run, conditions=UNDECLARED), ("resume", "replay tools")),
    "address": (plant_address, BY_MODEL),
    "key": (plant_key, BY_MODEL),
    "prices": (lambda run: plant_address(run, model_facts=FREE), BY_MODEL),
    "reply cache": (plant_cache, BY_MODEL),
    "page store": (plant_page_store, BY_TOOLS),
    "web": (plant_search_address, BY_TOOLS),
    "allowed host": (plant_hosts, ("replay tools",)),
}
CASES = [(order, command) for order, (_, commands) in ORDERS.items() for command in commands]


def _was_obeyed(run, order):
    if order in ("sandbox", "tool", "reply cache", "page store"):
        return run.file.exists()
    if order in ("key", "address"):
        key = SECRET if order == "key" else KEY
        return ("/v1/chat/completions", f"Bearer {key}") in run.canary.asked
    return bool(run.canary.asked)


@pytest.mark.parametrize(("order", "command"), CASES)
def test_a_planted_order_is_obeyed_with_the_word_and_not_without(foreign, order, command):
    ORDERS[order][0](foreign)
    refused = foreign.command(command)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert len(refused.stderr.splitlines()) == 1
    assert f" asks for: {order} " in refused.stderr or f"; {order} " in refused.stderr
    assert "--trust-run" in refused.stderr
    assert (foreign.file.exists(), foreign.canary.asked) == (False, [])
    assert not foreign.path.with_name("forked").exists()
    done = foreign.command(command, "--trust-run")
    assert f"trusted in {foreign.path}: {order} " in done.stderr
    assert _was_obeyed(foreign, order), done.stderr


def test_what_was_confirmed_once_is_not_asked_again_and_a_change_is(foreign):
    plant_cache(foreign)
    assert foreign.command("resume", "--trust-run").returncode == 0
    again = foreign.command("resume")
    assert (again.returncode, "trusted in" in again.stderr) == (0, False)
    foreign.plant(reply_cache=str(foreign.file.with_name("other")))
    assert foreign.command("resume").returncode == 2
    assert not foreign.file.with_name("other").exists()


def test_reading_needs_no_trust_and_obeys_nothing(foreign):
    plant_hosts(foreign)
    web = json.loads((foreign.path / "run.json").read_text())["conditions"][0]
    foreign.plant(
        conditions=[web, {"name": "base"}],
        sandbox="unsafe-subprocess", model="compatible/x", reply_cache=str(foreign.file),
        model_parameters={"base_url": foreign.canary.address}, tokenizer="server",
    )  # fmt: skip
    run = foreign.path
    for words in (
        f"show {run}/episodes/web/{foreign.sample}.1.jsonl", f"show {run}", f"show --why {run}",
        f"episodes list {run}", f"compare {run}", f"episodes export {run} --to jsonl",
        f"replay {run} --lenient",
    ):  # fmt: skip
        done = foreign.command(words)
        assert "--trust-run" not in done.stderr, words
        assert done.returncode in (0, 1), (words, done.stderr)
    assert (foreign.file.exists(), foreign.canary.asked) == (False, [])
    assert not foreign.state.exists()


def test_a_harmless_run_of_another_user_resumes_without_a_word(foreign):
    done = foreign.command("resume")
    assert (done.returncode, "trust" in done.stderr) == (0, False)
    assert not foreign.state.exists()


def test_a_server_that_the_call_names_needs_no_trust(foreign):
    plant_address(foreign)
    foreign.plant(model_parameters={"base_url": "http://127.0.0.1:9/v1"})
    done = foreign.command("resume", "--base-url", foreign.canary.url)
    assert "--trust-run" not in done.stderr
    assert foreign.canary.asked


def test_another_model_alone_does_not_take_the_planted_address(foreign):
    plant_address(foreign)
    done = foreign.command("resume", "--model", "compatible/other")
    assert done.returncode == 2
    assert f"{foreign.canary.url} for compatible/other" in done.stderr
    assert foreign.canary.asked == []


def test_a_replay_hands_on_no_trust_in_what_it_did_not_use(foreign, tmp_path):
    """With a live model, a run's servers and sandbox are neither used nor asked for."""
    command = {"name": "srv", "command": ["touch", str(foreign.file)], "environment": ["MY_SECRET"]}
    servers = [command | {"tools": [{"name": "t", "offered": "t"}]}]
    foreign.plant(features={"mcp": {"servers": servers}})
    out = tmp_path / "again"
    done = foreign.command("replay model", "--out", str(out))
    assert (out / "run.json").exists(), done.stderr
    for words in (f"resume {out}", f"replay {out} --tools live"):
        refused = foreign.command(words)
        assert (refused.returncode, "it asks for: mcp server srv" in refused.stderr) == (2, True)
    assert not foreign.file.exists()


def test_pages_are_not_read_from_where_a_foreign_run_says(foreign):
    plant_page_store(foreign)
    said = f"name the file itself, {foreign.file}"
    for words in ("web pages list", "run time-puzzles --web frozen --pages"):
        done = foreign.command(words, str(foreign.path))
        assert (done.returncode, said in done.stderr) == (2, True)


def test_a_home_that_cannot_be_written_is_said_and_the_run_goes_on(foreign, tmp_path):
    foreign.state.write_text("a file where the folder should be")
    plant_cache(foreign)
    done = foreign.command("resume", "--trust-run")
    assert done.returncode == 0
    assert "cannot record" in done.stderr
    assert foreign.command("resume").returncode == 2


@pytest.mark.parametrize("more", [(), ("--trust-run",)])
def test_a_tool_that_only_a_trace_names_is_not_imported(foreign, more):
    foreign.write(query="x")
    for name in ({"tools": ["canary_module:TOOL"]}, {"context": "cited:none"}, {"name": "other"}):
        foreign.rewrite(condition=Run(foreign.path).manifest.conditions[0].model_dump() | name)
        done = foreign.command("replay tools", *more)
        assert done.returncode == 1
        assert "broken: base/" in done.stdout
        assert not foreign.file.exists()


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ({"context": "cited:none"}, "a condition is given cited:none"),
        ({"tools": ["python"], "own_tools": [{"name": "python"}]}, "a condition runs code"),
        ({"tools": ["open_page"]}, "a condition needs the web"),
    ],
)
def test_a_condition_that_lacks_what_it_needs_is_told(foreign, condition, told):
    plant(foreign, conditions=[{"name": "base"} | condition])
    for command in ("replay tools", "resume"):
        done = foreign.command(command)
        assert (done.returncode == 2) == ("context" in condition)
        assert told in done.stdout + done.stderr


def test_a_long_address_is_shown_whole(foreign):
    address = f"http://127.0.0.1:1/{'a' * 500}.example/{'b' * 500}"
    foreign.plant(model="compatible/x", model_parameters={"base_url": address})
    assert address in foreign.command("resume").stderr


# Runs of earlier versions -----------------------------------------------------------------------

OLD = Path(__file__).parents[1] / "data" / "runs"


@pytest.mark.parametrize("name", sorted(each.name for each in OLD.iterdir()))
def test_an_old_run_is_confirmed_once(name, tmp_path, canary):
    run = Foreign(Path(shutil.copytree(OLD / name, tmp_path / name)), tmp_path / "mine",
                  tmp_path / "canary", canary)  # fmt: skip
    settings = outside_settings(run.path, Run(run.path).manifest)
    assert bool(settings) == (name == "server")
    if settings:
        first = run.command("resume")
        assert (first.returncode, "--trust-run" in first.stderr) == (2, True)
        assert all(str(each) in first.stderr for each in settings)
        confirmed = run.command("resume", "--trust-run")
        assert all(f"trusted in {run.path}: {each}" in confirmed.stderr for each in settings)
    again = run.command("resume")
    assert "--trust-run" not in again.stderr
    assert "trusted in" not in again.stderr
