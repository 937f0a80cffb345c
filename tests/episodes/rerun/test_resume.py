"""Going on with a run: what has changed, and an episode after its last event."""

import asyncio
import json
from collections.abc import Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

from agent_env.episodes.rerun.resume import rebuild
from agent_env.episodes.results import episodes_of
from agent_env.episodes.run_folder import RunFolder
from agent_env.episodes.runner import Runner, Seams, utc_now
from agent_env.episodes.trace.fold import Recording
from agent_env.episodes.trace.lines import read_trace
from agent_env.errors import ConfigError, SandboxError
from agent_env.families.time_puzzles.task import make_task
from agent_env.features.evidence.faults import FaultDraws, FaultyTool
from agent_env.graph.strategies import make_strategy
from agent_env.models.tokenizers import Estimate
from agent_env.protocols import Limits
from agent_env.records.disturbance import Disturbance, Fault
from agent_env.records.schema import Reply
from agent_env.records.trace_events import EpisodeResumed, ToolCalled
from agent_env.runs.options.run_options import ResumeOptions
from agent_env.runs.resume import resume
from agent_env.runs.run import Run
from agent_env.tasks.conditions import parse_condition
from agent_env.testing import FakeTool, ScriptedModel, answer, calls, puzzle
from agent_env.tools.toolbox import ToolSet
from agent_env.wiring.components import versions
from tests.plans import QUIET

CONDITION = parse_condition("web+python")
SCRIPT = (
    calls(("web_search", '{"q": 1}'), ("python", '{"code": "x = 1"}'), first_id=1),
    calls(("python", '{"code": "x += 1; x"}'), first_id=3),
    answer("MY ANSWER: 1982-04-02"),
)


@dataclass
class World:
    """A counting model and tools; the interpreter adds up what it is told to run."""

    replies: Sequence[Reply | Exception] = SCRIPT
    asked: int = 0
    searched: int = 0
    ran: list[str] = field(default_factory=list)
    broken: bool = False
    prompt: str = "default"
    noise: str = ""
    faults: Disturbance | None = None

    @asynccontextmanager
    async def open_seams(self, sample, condition):
        self.ran.clear()  # a new session
        world = self

        class Counted(ScriptedModel):
            async def generate(self, messages, tools, options=None):
                world.asked += 1
                return await super().generate(messages, tools)

        def search(arguments):
            world.searched += 1
            return f"found {arguments}"

        def python(arguments):
            if world.broken:
                raise SandboxError("the sandbox is gone")
            world.ran.append(arguments["code"])
            return f"{len(world.ran)}{world.noise}"

        tools = [FakeTool("web_search", search), FakeTool("python", python)]
        strategy = make_strategy(condition, make_task(self.prompt).prompt)
        draws = None if self.faults is None else FaultDraws(self.faults)
        faulty = tools if draws is None else [FaultyTool(tool, draws) for tool in tools]
        yield Seams(Counted(self.replies), ToolSet(faulty), strategy, faults=draws)


def run(world, path, strict=True, clock=utc_now):
    notes = []
    where, how = RunFolder(path), {"strict": strict, "clock": clock, "note": notes.append}
    runner = Runner(where, "scripted", world.open_seams, Estimate(), Limits(), 1, **how)
    asyncio.run(runner.run([puzzle("a")], [CONDITION], 1, lambda key, ending: None))
    (episode,) = episodes_of(runner.folder, print)
    return read_trace(trace_of(path)), episode


def trace_of(path):
    return path / "episodes/web+python/a.1.jsonl"


def cut(path, events, torn=b'{"v":2,"epi'):
    file = trace_of(path)
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:events]) + torn)


@pytest.mark.parametrize(
    ("kept", "asked", "searched"),
    [(1, 3, 1), (2, 2, 1), (3, 2, 0), (4, 2, 0), (5, 1, 0), (6, 1, 0), (7, 0, 0)],
)
def test_an_episode_cut_anywhere_ends_as_if_it_had_not_been(tmp_path, kept, asked, searched):
    whole, episode = run(World(), tmp_path)
    assert len(whole) == 8
    cut(tmp_path, kept)
    again = World()
    events, resumed = run(again, tmp_path)
    assert (again.asked, again.searched, again.ran) == (asked, searched, ["x = 1", "x += 1; x"])
    assert resumed.messages == episode.messages
    assert (resumed.status, resumed.answer, resumed.steps, resumed.tool_calls) == (
        "finished", "MY ANSWER: 1982-04-02", 3, 3,
    )  # fmt: skip
    assert [e.seq for e in events] == list(range(9))
    (mark,) = [e for e in events if isinstance(e, EpisodeResumed)]
    assert (mark.seq, mark.drift) == (kept, ())


@pytest.mark.parametrize("kept", [3, 4, 5])
def test_an_episode_with_faults_gets_the_same_ones_after_a_cut(tmp_path, monkeypatch, kept):
    """Code is run again without the fault, so that the variables are what they were."""
    faults = [("web_search", "timeout", 0.5), ("python", "empty", 1)]
    drawn = tuple(Fault(tool=tool, kind=kind, rate=rate) for tool, kind, rate in faults)
    its = Disturbance(suffix="faults", faults=drawn)
    monkeypatch.setattr("agent_env.features.evidence.faults.MOST_IN_A_ROW", 1)
    whole, episode = run(World(faults=its), tmp_path)
    truth = {e.call.id: e.result.fault for e in whole if isinstance(e, ToolCalled)}
    assert truth["call_2"] is not None
    assert (truth["call_2"].true_output, truth["call_3"]) == ("1", None)
    assert [fault.kind for fault in episode.faults if fault.tool == "python"] == ["empty"]
    cut(tmp_path, kept)
    events, again = run(World(faults=its), tmp_path)
    assert (again.messages, again.faults) == (episode.messages, episode.faults)
    assert [e.drift for e in events if isinstance(e, EpisodeResumed)] == [()]


def test_a_failed_episode_goes_on_from_its_last_good_event(tmp_path):
    first = World(broken=True)
    _, failed = run(first, tmp_path)
    assert (failed.failure, first.asked) == ("SandboxError: the sandbox is gone", 1)
    again = World()
    events, episode = run(again, tmp_path)
    assert (again.asked, again.searched) == (2, 0)
    assert (episode.status, episode.tool_calls) == ("finished", 3)
    assert [e.ended for e in events if isinstance(e, ToolCalled)] == [None, "failed", None, None]


def test_code_that_says_something_else_now_is_noted_in_the_trace(tmp_path):
    run(World(), tmp_path)
    cut(tmp_path, 4)
    events, _ = run(World(noise=" today"), tmp_path)
    (mark,) = [e for e in events if isinstance(e, EpisodeResumed)]
    ((step, what, diff),) = [(d.step, d.what, d.diff) for d in mark.drift]
    assert (step, what) == (1, "python")
    assert diff.splitlines()[-2:] == ["-1", "+1 today"]


def test_another_prompt_is_refused_and_accepted_when_asked(tmp_path):
    run(World(), tmp_path)
    cut(tmp_path, 4)
    changed = World(prompt="paper")
    _, refused = run(changed, tmp_path)
    assert (changed.asked, refused.failure) == (
        0,
        "ReplayError: web+python/a.1: step 1: the request differs from the recording",
    )
    events, accepted = run(World(prompt="paper"), tmp_path, strict=False)
    assert accepted.status == "finished"
    mark = [e for e in events if isinstance(e, EpisodeResumed)][-1]
    assert mark.drift[0].what == "request"


def test_a_broken_trace_goes_on_above_its_defect_and_one_of_a_later_version_is_left(tmp_path):
    run(World(), tmp_path)
    file = trace_of(tmp_path)
    lines = file.read_bytes().splitlines(keepends=True)
    lines[4] = lines[4].replace(b"x += 1", b"x += 2")
    file.write_bytes(b"".join(lines))
    again = World()
    _, episode = run(again, tmp_path)
    assert (again.asked, again.searched, episode.status) == (2, 0, "finished")
    assert (tmp_path / "broken/web+python/a.1.1.jsonl").read_bytes() == b"".join(lines)
    later = lines[0].replace(b'"v":2', b'"v":7')
    file.write_bytes(later)
    with pytest.raises(ValueError, match="not enough values"):
        run(again, tmp_path)  # there is no episode that can be read
    assert (again.asked, file.read_bytes()) == (2, later)


def test_what_ran_before_a_session_was_lost_is_not_run_again(tmp_path):
    events, _ = run(World(), tmp_path)
    first, second, third = Recording.of(events).steps
    searched, python = first.results
    timeout = python.result.model_copy(update={"error": "timeout: 30 s"})
    lost = python.model_copy(update={"result": timeout})
    ran = []
    tool = FakeTool("python", lambda arguments: ran.append(arguments["code"]) or "2")
    steps = (replace(first, called=(searched, lost)), second, third)
    assert asyncio.run(rebuild(steps, ToolSet([tool]), {"python"})) == []
    assert ran == ["x += 1; x"]


def test_time_used_before_counts_against_the_limit(tmp_path):
    hours = iter(range(100))
    slow = datetime(2026, 1, 1, tzinfo=UTC)
    run(World(), tmp_path, clock=lambda: slow + timedelta(hours=next(hours)))
    cut(tmp_path, 5)
    again = World()
    _, episode = run(again, tmp_path)
    assert (episode.stop_reason, again.asked, episode.steps) == ("time", 0, 2)


@pytest.fixture
def folder(recorded):
    """An unfinished run of this very code."""
    folder = Run(recorded)
    folder.change(versions=versions(), sandbox=None)
    trace = recorded / "episodes/web/tp-3-00001.1.jsonl"
    trace.write_bytes(b"".join(trace.read_bytes().splitlines(keepends=True)[:4]))
    return folder


def go_on(folder, **options):
    asyncio.run(resume(folder, ResumeOptions(**options), QUIET))


def test_a_run_of_an_older_version_can_be_resumed_again(folder):
    """The first resume writes limits into its traces that run.json does not know."""
    trace = folder.path / "episodes/web/tp-3-00001.1.jsonl"
    trace.unlink()
    go_on(folder)
    whole = trace.read_bytes().splitlines(keepends=True)
    trace.write_bytes(b"".join(whole[:4]))
    go_on(folder)
    assert trace.read_bytes().splitlines()[:1] == whole[0].splitlines()


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"model": "reference-static"}, "model: reference → reference-static"),
        ({"changes": {"limits.steps": 3}}, "limit steps: 30 → 3"),
    ],
)
def test_another_model_or_limit_is_refused_by_name(folder, options, line):
    before = (folder.path / "run.json").read_bytes()
    with pytest.raises(ConfigError, match=f"began: .*{line}.*--accept-changes"):
        go_on(folder, **options)
    assert (folder.path / "run.json").read_bytes() == before
    go_on(folder, accept_changes=True, **options)
    assert line in folder.manifest.changes[0]


def test_other_code_or_a_manifest_edited_by_hand_is_refused_by_name(folder):
    file = folder.path / "run.json"
    told = json.loads(file.read_text())
    file.write_text(json.dumps(told | {"model": "reference-static"}))
    with pytest.raises(ConfigError, match="model: reference → reference-static"):
        go_on(Run(folder.path))
    folder.change(versions=folder.manifest.versions | {"code": "0" * 12})
    with pytest.raises(ConfigError, match=r"code: 000000000000 → [0-9a-f]{12}"):
        go_on(folder)
