"""A model judges a run over a real socket; its verdicts stand in the traces and change nothing."""

import asyncio
import json
import shutil
from calendar import month_name
from dataclasses import replace

import pytest

from agent_env.analysis.transcript import transcript
from agent_env.episodes.calls.budget import RunLimits
from agent_env.episodes.calls.options import CallOptions
from agent_env.episodes.calls.retries import Retries
from agent_env.episodes.index import Index
from agent_env.episodes.results import episodes_of
from agent_env.episodes.trace.lines import TraceError, is_finished, read_trace
from agent_env.errors import ConfigError, RunStopped
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.features.judge.judge import JudgeOptions, check_yes_or_no, judge_run, rates
from agent_env.records.trace_events import Judged
from agent_env.runs.options.run_options import ReplayOptions, ResumeOptions
from agent_env.runs.replay import replay
from agent_env.runs.resume import resume
from agent_env.runs.run import Run
from agent_env.runs.scores.score import score_folder
from agent_env.tasks.sample_files import samples_bytes
from tests.commands import agent_env, serving, typed
from tests.fake_server import FakeServer, script_policy
from tests.loops import in_loop
from tests.plans import QUIET, finished

TRUTHFUL = (
    {"match": r"Right answer:\n(.+)\n[^§]*MY ANSWER: \1\n===", "text": "Same.\nVERDICT: CORRECT"},
    {"match": "MY ANSWER", "text": "Another.\nVERDICT: INCORRECT"},
)


DAYS = {"a": "1984-02-10", "b": "1907-11-03", "c": "2012-06-21", "d": "1871-08-30"}


def puzzle(name, day):
    """By hand: the explicit wording gives the day, the implicit one needs an event that nobody
    can look up."""
    year, month, number = map(int, day.split("-"))
    rest = (f"It is {month_name[month]}.", f"The day of the month is {number}.")
    return TimePuzzle(
        id=name, gold=(day,), solution_count=1, fact_count=3,
        constraints=(f"It is the same year as the last day that {name} led the Board.", *rest),
        explicit_constraints=(f"The year is {year}.", *rest),
    )  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Four puzzles under two conditions: one gets all wrong, one all right."""
    folder = tmp_path_factory.mktemp("judged")
    (folder / "puzzles.jsonl").write_bytes(samples_bytes([puzzle(*pair) for pair in DAYS.items()]))
    options = {"dataset": folder / "puzzles.jsonl", "conditions": ("base", "explicit")}
    run = finished(folder / "run", **options)
    right = {(e.condition, s.metrics["exact_match"]) for e, s in score_folder(run, print)}
    assert right == {("base", 0.0), ("explicit", 1.0)}
    return run.path


@pytest.fixture
def run(made, tmp_path):
    return Run(shutil.copytree(made, tmp_path / "run"))


def script(folder, *lines):
    file = folder / "script.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return script_policy(file)


@in_loop
async def judged(run, *lines, errors=None, model="compatible/j", **options):
    server = FakeServer(script(run.path.parent, *(lines or TRUTHFUL)), errors=errors, seed=1)
    async with server:
        wished = JudgeOptions(run.path, model, base_url=server.url, **options)
        return await judge_run(wished, lambda line: None)


def test_a_judge_says_right_of_its_share_and_changes_no_episode(run):
    before = list(episodes_of(run, print))
    scores = [score for _, score in score_folder(run, print)]
    with serving(FakeServer(script(run.path.parent, *TRUTHFUL))) as url:
        done = typed("episodes judge {} --model {} --json", run.path, url)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["metric"], said["chosen"], said["kept"]) == ("exact_match", 8, 0)
    assert said["says"] == {"right": 4, "wrong": 4}
    (found,) = rates(run.path, print)
    assert (found.right.value, found.queries) == (0.5, 4)
    after = list(episodes_of(run, print))
    assert [e.model_copy(update={"judged": ()}) for e in after] == before
    assert [len(e.judged) for e in after] == [1] * 8
    assert [score for _, score in score_folder(run, print)] == scores
    assert all(is_finished(trace) for trace in run.traces())
    told = json.loads(agent_env("show", str(run.path), "--json").stdout)
    (judge,) = told["tables"]["judges"]["rows"]
    assert (judge["right"]["value"], judge["judged"], judge["calls"]) == (0.5, 8, 8)
    assert 0 < judge["right"]["low"] < 0.5 < judge["right"]["high"] < 1
    *_, shown = transcript(read_trace(next(run.traces())))
    judged_by = f"== judged by compatible/fake@{url}: metric exact_match, says wrong"
    assert shown == f"{judged_by}\nAnother.\nVERDICT: INCORRECT"


def test_a_judged_run_resumes_to_nothing_replays_the_same_and_is_listed(run):
    ended = []
    judged(run)
    listener = replace(QUIET, end=lambda key, ending: ended.append(ending))
    asyncio.run(resume(run, ResumeOptions(), listener))
    assert ended == []
    played = asyncio.run(replay(run, ReplayOptions(), print))
    assert [(p.verdict, p.drift) for p in played] == [("same", ())] * 8
    index = Index(run)
    index.update()
    assert [row.values["status"] for row in index.rows([])] == ["finished"] * 8
    index.close()


def test_the_same_judge_is_not_asked_twice_on_the_same_prompt_unless_told(run):
    assert judged(run, limit=3).says.keys() <= {"right", "wrong"}
    again = judged(run)
    assert (again.chosen, again.kept, sum(again.says.values())) == (8, 3, 5)
    told = judged(run, {"match": ".", "text": "VERDICT: CORRECT"}, again=True)
    assert (told.kept, told.says) == (0, {"right": 8})
    (found,) = rates(run.path, print)  # the last verdict counts
    assert found.right.value == 1.0


def test_calls_are_retried_and_every_attempt_is_in_the_trace(hurried, run):
    retries = Retries(attempts=30, first_wait_s=0.001, longest_wait_s=0.01)
    judged(run, errors={"429": 0.3, "500": 0.2}, calls=CallOptions(retries=retries))
    events = list(map(_last, run.traces()))
    assert all(event.calls[-1].reply is not None for event in events)
    failed = [call for event in events for call in event.calls if call.reply is None]
    assert {call.error_kind for call in failed} == {"rate_limit", "server"}
    assert all(call.wait_s is not None for call in failed)
    (found,) = rates(run.path, print)
    assert (found.calls, found.judged) == (8 + len(failed), 8)
    assert events[0].messages[0].content.startswith("You check an answer")
    assert events[0].verdict == {"metric": "exact_match", "says": "wrong"}


def _last(trace):
    event = read_trace(trace)[-1]
    assert isinstance(event, Judged)
    return event


def test_a_call_that_fails_for_good_is_written_and_asked_again_the_next_time(run):
    assert judged(run, {"match": "§", "text": "never"}).says == {"failed": 8}
    assert _last(next(run.traces())).calls[0].status == 400
    assert rates(run.path, print)[0].failed == 8
    assert judged(run).says == {"right": 4, "wrong": 4}
    assert rates(run.path, print)[0].failed == 0


def test_a_limit_of_tokens_stops_the_judge_and_the_next_start_goes_on(run):
    calls = CallOptions(run=RunLimits(tokens=3000))
    with pytest.raises(RunStopped, match="of its 3000 tokens"):
        judged(run, calls=calls, concurrency=1)
    done = sum(len(e.judged) for e in episodes_of(run, print))
    assert 0 < done < 8
    assert judged(run).kept == done


def test_a_changed_byte_of_a_verdict_is_named_and_the_episode_stays_whole(run):
    judged(run)
    trace = next(run.traces())
    data = trace.read_bytes()
    trace.write_bytes(data.replace(b'"says":"wrong"', b'"says":"right"'))
    with pytest.raises(TraceError, match="its checksum does not fit"):
        read_trace(trace)
    trace.write_bytes(data[:-20])  # torn by a crash: the episode is as it was
    assert is_finished(trace)
    assert judged(run).kept == 7


def test_a_metric_between_yes_and_no_is_refused(run):
    scored = score_folder(run, print)
    halves = [(e, s.model_copy(update={"metrics": {"f1": 0.5}})) for e, s in scored]
    with pytest.raises(ConfigError, match=r"'f1' is not a yes or no here \(0.5\)"):
        check_yes_or_no("f1", halves)


def test_a_judge_that_is_not_there_is_told_with_its_reason(run):
    done = typed(
        "episodes judge {} --model compatible/j --base-url http://127.0.0.1:9/v1 --limit 2 "
        "--retries 0 --retry-time-s 1", run.path,
    )  # fmt: skip
    assert done.returncode == 1
    assert "the run waits for its server, at most 1 s: http://127.0.0.1:9/v1 (j)" in done.stderr
    assert "the verdicts so far are in the traces, the same command goes on" in done.stderr
