"""An agent of somebody else drives whole episodes, in a process that is shut in."""

import asyncio
import json
import os
import shlex
import shutil
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from agent_env.analysis.transcript import transcript
from agent_env.errors import SandboxError
from agent_env.features.agents import AgentOptions, process_loop
from agent_env.features.agents.process_loop import in_words
from agent_env.features.viewer.story import story
from agent_env.records.trace_events import ToolCalled
from agent_env.runs.run import Run
from agent_env.sandbox.programs import start_agent
from tests.commands import agent_env
from tests.features.agents.test_desk import desk
from tests.plans import finished

AGENT = Path(__file__).with_name("agent.py")


def have_namespaces():
    async def main():
        agent = await start_agent(["true"], {"PATH": "/usr/bin:/bin"}, {}, None, ())
        await agent.close()
        agent.listener.close()

    try:
        asyncio.run(main())
    except SandboxError:
        if os.environ.get("AGENT_ENV_TEST_ALL_SANDBOXES"):
            raise
        return False
    return True


is_able = sys.platform == "linux" and have_namespaces()
pytestmark = pytest.mark.skipif(not is_able, reason="needs namespaces with a /proc")


def command(mode="solve", *words, script=AGENT):
    return f"{shlex.join([sys.executable, str(script), mode, *map(str, words)])} {{prompt_file}}"


def by_agent(run):
    """The recording of the only episode that an agent drove."""
    (found,) = (r for _, r in run.recordings(print) if r.start.condition.agent is not None)
    return found


def run_by(out, mode="solve", *words, agents=(), **options):
    """The run, its only episode by the agent, and what the agent printed."""
    asked = {"agents": AgentOptions(agents or (command(mode, *words),))}
    options = {"conditions": ("web",), "limit": 1} | options
    run = finished(out, model="reference", features=asked, **options)
    return run, by_agent(run).episode, "".join(f.read_text() for f in run.path.glob("agents/*"))


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    """One puzzle by our loop and by the agent; nobody changes it."""
    out = tmp_path_factory.mktemp("solved") / "run"
    return run_by(out, agents=("loop", command()))


def test_it_answers_as_our_loop_does_and_all_of_it_is_kept_and_played_back(solved):
    run, episode, printed = solved
    by_loop = next(r.episode for _, r in run.recordings(print) if r.start.condition.agent is None)
    assert episode.answer.strip() == by_loop.answer.strip()
    counts = (by_loop.steps, by_loop.tool_calls, 0)
    assert (episode.steps, episode.tool_calls, episode.own_calls) == counts
    assert (episode.stop_reason, episode.messages[0].content) == ("answered", "Be brief.")
    assert episode.tool_calls > 0
    asked = [c.id for m in episode.messages for c in m.tool_calls]
    assert [m.tool_call_id for m in episode.messages if m.role == "tool"] == asked
    events = by_agent(run).events
    shown = story(events, None).steps
    assert [m.role for step in shown for m in step.sent] == ["system", "user"]
    assert [c.is_own for step in shown for c in step.calls] == [False] * episode.tool_calls
    text = "\n".join(transcript(events))
    assert text.count("-- tool web_search") == text.count("calls web_search")
    assert "[tool" not in text
    unrecorded = [event for event in events if not isinstance(event, ToolCalled)]
    assert all(call.is_own for step in story(unrecorded, None).steps for call in step.calls)
    assert "[tool of its own, not recorded] " in "\n".join(transcript(unrecorded))
    assert "MY ANSWER" in printed
    done = agent_env("replay", str(run.path))
    assert (done.returncode, "2 same" in done.stdout) == (0, True), done.stderr


def test_the_first_difference_is_named_where_it_asks_for_something_else(tmp_path):
    script = tmp_path / "agent.py"
    script.write_bytes(AGENT.read_bytes())
    run_by(tmp_path / "run", agents=(command(script=script),))
    script.write_text(script.read_text().replace("Be brief.", "Be very brief."))
    done = agent_env("replay", str(tmp_path / "run"))
    assert (done.returncode, "step 1: request" in done.stdout) == (1, True)
    assert "-[system] Be brief.\n+[system] Be very brief." in done.stdout


def test_agents_are_set_beside_our_loop_and_not_forked(solved, tmp_path):
    run = solved[0]
    done = agent_env("compare", str(run.path), "--table", "agents")
    _, _, _, ours, theirs, *_ = done.stdout.splitlines()
    name = by_agent(run).start.condition.agent.name
    assert ours.split()[:3] == ["web", "loop", "1.000"]
    assert theirs.split()[:3] == [f"web~by-{name}", name, "1.000"]
    done = agent_env("compare", str(run.path))
    assert done.returncode == 0, done.stderr
    assert f"web and web~by-{name} (one sample)" in done.stdout
    (trace,) = run.path.glob("episodes/web~by-*/*.jsonl")
    done = agent_env("episodes", "fork", str(trace), "--at", "1", "--out", str(tmp_path / "fork"))
    assert done.returncode == 2
    assert "what the agent holds in memory and in its folder is not recorded" in done.stderr


def test_it_sees_nothing_of_the_host_but_its_program_and_what_it_names(tmp_path, monkeypatch):
    named, hidden = tmp_path / "named", tmp_path / "hidden"
    for file in (named, hidden):
        file.write_text("x")
    monkeypatch.setenv("MY_SECRET", "s3cret")
    _, _, printed = run_by(tmp_path / "run", "look_around", named, f"{hidden}/../hidden")
    assert json.loads(printed) == {
        "reached": [], "readable": [str(named)], "written": [], "processes": 2, "secrets": [],
        "uid": 1000,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("mode", "limits", "reason", "answer"),
    [
        ("solve", {"steps": 2}, "steps", "limit of steps is reached"),
        ("solve", {"tool_calls": 0}, "answered", "MY ANSWER"),
        ("fill", {}, "answered", "No space left on device"),
        ("fork", {}, "answered", "Resource temporarily unavailable"),
        ("crash", {}, "crashed", "no idea"),
        ("stay", {"time_s": 2.0}, "time", ""),
    ],
)
def test_it_ends_within_the_limits_and_all_of_it_ends(tmp_path, mode, limits, reason, answer):
    _, episode, printed = run_by(tmp_path / "run", mode, limits=limits)
    assert episode.stop_reason == reason
    assert answer in printed + (episode.answer or "")
    assert processes_of(AGENT) == []


def test_one_that_goes_on_after_a_limit_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(process_loop, "REFUSED_S", 0.5)
    _, episode, _ = run_by(tmp_path / "run", "insist", limits={"steps": 1})
    assert (episode.stop_reason, episode.steps) == ("crashed", 1)
    assert processes_of(AGENT) == []


def processes_of(file):
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (folder / "cmdline").read_bytes()
            if str(file).encode() in words and folder.name != str(os.getpid()):
                found.append(folder.name)
    return found


def test_a_run_that_was_cut_off_goes_on_where_it_was(tmp_path):
    run, before, _ = run_by(tmp_path / "run")
    (trace,) = run.path.glob("episodes/web~by-*/*.jsonl")
    trace.write_bytes(b"".join(trace.read_bytes().splitlines(keepends=True)[:3]))
    for name in ("scores.jsonl", "scored.json"):
        (run.path / name).unlink(missing_ok=True)
    done = agent_env("resume", str(run.path))
    assert done.returncode == 0, done.stderr
    after = by_agent(Run(run.path)).episode
    for field in ("answer", "steps", "tool_calls"):
        assert getattr(after, field) == getattr(before, field)


def test_a_folder_of_somebody_else_starts_no_agent(solved, tmp_path, monkeypatch):
    foreign = shutil.copytree(solved[0].path, tmp_path / "foreign")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    done = agent_env("replay", str(foreign))
    assert done.returncode == 2
    assert "is not a run that you made here" in done.stderr
    assert "conditions.agent.command" in done.stderr


async def test_an_agent_without_mcp_is_told_of_the_tools_in_words():
    text = in_words(desk(), "tool")
    assert text.startswith("You have these tools in the shell. Call one by: tool NAME 'JSON")
    assert "web_search: " in text


def test_an_attacker_gets_nowhere(tmp_path, monkeypatch):
    canary = tmp_path / "canary"
    canary.write_text("s3cret words")
    monkeypatch.setenv("AGENT_ENV_TEST", "s3cret")
    files = f"{canary},{tmp_path}/run/samples.jsonl,{Path.cwd()}/pyproject.toml"
    attacker = command(files, script=AGENT.with_name("attacker.py"))
    _, episode, printed = run_by(tmp_path / "run", agents=(attacker,))
    assert json.loads(printed.splitlines()[-1]) == []
    assert episode.stop_reason == "answered"


def test_an_agents_environment_shows_nothing_of_agent_env(tmp_path):
    """Its fact tables have the answers of `base`."""
    packages = tmp_path / "env/lib/python3.11/site-packages"
    for name in ("agent_env", "other"):
        (packages / name).mkdir(parents=True)
        (packages / name / "table.csv").write_text(f"{name} s3cret")
    program = tmp_path / "env/bin/look"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n/bin/cat {packages}/*/table.csv\n")
    program.chmod(0o755)
    words = f"{shlex.quote(str(program))} {{prompt_file}}"
    assert run_by(tmp_path / "run", agents=(words,))[2].strip() == "other s3cret"


@pytest.mark.parametrize("make", ["mkdir", "mkfifo"])
def test_an_answer_that_is_no_file_is_said_and_the_last_reply_counts(tmp_path, make):
    file = tmp_path / "odd.toml"
    file.write_text(f'command = ["{make}", "{{home}}/answer.txt"]\nanswer = "answer.txt"\n')
    _, episode, printed = run_by(tmp_path / "run", agents=(str(file),))
    assert printed == "the answer answer.txt is not a file\n"
    assert (episode.stop_reason, episode.answer) == ("answered", None)
