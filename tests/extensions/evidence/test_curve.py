"""Budget curves: what is forked and what counts by its own answer, what is asked once only, and
what the tables say."""

import asyncio
import shutil

import pytest

from agent_env.analysis.comparison import Comparison, Options
from agent_env.analysis.study import Arm, Study, observe
from agent_env.episodes.runner import utc_now
from agent_env.episodes.trace.lines import TraceWriter, read_trace
from agent_env.errors import ConfigError
from agent_env.extensions.evidence.budget_curve import BudgetCurves
from agent_env.extensions.evidence.curve import ask_and_read, plan_curve
from agent_env.records.schema import Condition, Episode, Sample, Score
from agent_env.records.trace_events import (
    EpisodeFailed,
    EpisodeResumed,
    ModelCalled,
)
from agent_env.runs.options import CurveOptions, ForkCalls, ReplayOptions, read_budgets
from agent_env.runs.replay import replay
from agent_env.runs.run import Run
from agent_env.runs.start import Listener
from tests import TESTS

LIVE = "web~at2/tp-3-00001.1"
"""A fork: the recorded episode has more steps."""


@pytest.fixture
def run(tmp_path):
    shutil.copytree(TESTS / "data/runs/version-1", tmp_path / "run")
    run = Run(tmp_path / "run")
    run.change(conditions=tuple(c for c in run.manifest.conditions if c.name in ("base", "web")))
    return run


def curve(run, *at, note=print):
    listener = Listener(note=note, begin=lambda *a: None, end=lambda *a: None)
    plan = plan_curve(run, CurveOptions(at, ForkCalls(preflight=False)), note)
    return asyncio.run(ask_and_read(plan, listener))


def test_the_last_call_of_a_budget_must_be_the_answer_and_gets_no_tools(run):
    result = curve(run, 1, 2, 4)
    web = next(each for each in result.curves.curves if each.condition == "web")
    assert [(p.budget, p.forced, p.accuracy.value) for p in web.points] == [
        (1, 1, 0.0), (2, 1, 1.0), (4, 0, 1.0), (None, 0, 1.0)
    ]  # fmt: skip
    events = read_trace(result.folder / f"episodes/{LIVE}.jsonl")
    called = [event for event in events if isinstance(event, ModelCalled)]
    assert [event.replayed for event in called] == [True, None]
    assert called[1].added[-1].content.startswith("This is your last reply: call no tool")
    assert [event.tools for event in events if isinstance(event, EpisodeResumed)] == [()]
    assert {each.verdict for each in asyncio.run(replay(Run(result.folder), ReplayOptions(), print))
            } == {"same"}  # fmt: skip


def test_at_one_call_the_notice_stands_behind_the_question(run):
    first = read_trace(curve(run, 1).folder / "episodes/web~at1/tp-3-00001.1.jsonl")[0]
    assert first.messages[-1].content.startswith("This is your last reply")


def test_what_was_asked_is_not_asked_again_and_other_budgets_join(run):
    notes = []
    folder = curve(run, 2, note=notes.append).folder
    trace = folder / f"episodes/{LIVE}.jsonl"
    whole = trace.read_bytes()
    trace.write_bytes(b"".join(whole.splitlines(keepends=True)[:-3]))  # killed before the reply
    others = {
        file: file.read_bytes() for file in folder.glob("episodes/*/*.jsonl") if file != trace
    }
    result = curve(run, 2, 3, note=notes.append)
    assert [n.partition(" forks")[0] for n in notes if "to ask" in n] == ["1", "2"]
    assert all(file.read_bytes() == before for file, before in others.items())
    assert sum(isinstance(e, ModelCalled) and not e.replayed for e in read_trace(trace)) == 1
    assert result.curves.budgets == [2, 3]


def test_a_failed_episode_is_in_no_point_and_counted(run):
    trace = run.path / "episodes/web/tp-3-00001.1.jsonl"
    trace.write_bytes(b"".join(trace.read_bytes().splitlines(keepends=True)[:-1]))
    writer, _ = TraceWriter.reopen(trace, utc_now)
    writer.write(EpisodeFailed, error="ModelError", message="gone")
    writer.close()
    result = curve(run, 1)
    web = next(each for each in result.curves.curves if each.condition == "web")
    assert (result.failed, web.points[0].accuracy.value) == (1, None)
    assert not (result.folder / "episodes/web~at1/tp-3-00001.1.jsonl").exists()


@pytest.mark.parametrize("text", ["0", "1,x", "", "-2"])
def test_a_budget_that_is_no_number_of_calls_is_said(text):
    with pytest.raises(ConfigError, match="write numbers of model calls from 1"):
        read_budgets(text)


def test_what_has_no_curve_is_said(run):
    with pytest.raises(ConfigError, match=r"--budgets 31: an episode of .* has at most 30 steps"):
        curve(run, 31)
    base = tuple(c for c in run.manifest.conditions if not c.tools)
    folder = curve(run, 1).folder
    with pytest.raises(ConfigError, match="holds forks of another run"):
        curve(Run(folder), 1)
    run.change(conditions=base)
    with pytest.raises(ConfigError, match="has no condition with tools"):
        curve(run, 1)


def test_paired_differences_have_intervals_where_all_pairs_agree():
    samples = tuple(Sample(id=f"s{n}", task="t", gold=()) for n in range(20))

    def arm(name, right, answer_at=None):
        """The first samples are answered right."""
        observed = []
        for place, sample in enumerate(samples):
            about = {"sample": sample.id, "condition": name, "repeat": 1}
            episode = Episode(**about, model="m", status="finished", steps=answer_at or 4)
            metrics = {"exact_match": float(place < right)}
            score = Score(**about, outcome="read", answer=(), metrics=metrics)
            observed.append(observe(sample, episode, score))
        condition = Condition(name=name, answer_at=answer_at)
        return Arm(name, "run", "m", condition, tuple(observed), len(samples))

    arms = [arm("base", 0), arm("web", 18)]
    arms += [arm(f"base~at{k}", 0, k) for k in (1, 2, 4)]
    arms += [arm(f"web~at{k}", right, k) for k, right in ((1, 0), (2, 10), (4, 18))]
    study = Study("t", ("exact_match",), tuple(arms), samples, ())
    curves = BudgetCurves(Comparison(study, Options(resamples=1000)))
    base, web = curves.curves
    assert (base.enough, web.enough, web.enough_low, web.enough_high) == (None, 4, 4.0, 4.0)
    assert web.area.value == pytest.approx((0.25 + 1.4) / 3)
    assert [point.forced for point in web.points] == [20, 20, 0, 0]
    (difference,) = curves.differences
    assert difference.name == "web − base"
    equal = difference.points[0][1]
    assert (equal.value, equal.low, equal.high) == (
        0.0, pytest.approx(-0.126, abs=0.001), pytest.approx(0.126, abs=0.001)
    )  # fmt: skip
    assert [table.name for table in curves.tables()] == ["curve", "areas", "curve-differences"]
