"""The day in a condition's world, by option and by name, and how the prompt says it."""

from dataclasses import replace

import pytest

from agent_env.errors import ConfigError
from agent_env.features.clock import DAY, ClockOptions
from agent_env.features.clock.plan import on_their_days
from agent_env.records.schema import Condition
from agent_env.records.tool_traits import ToolTraits
from agent_env.runs.fork import fork
from agent_env.runs.options.run_options import ForkOptions, RunOptions
from agent_env.runs.planning.conditions import conditions_of
from agent_env.runs.planning.draft import Draft, with_features
from agent_env.runs.planning.questions import samples_of, task_of
from agent_env.runs.start import start_run
from agent_env.tasks.modifiers import with_modifier
from tests.plans import QUIET, finished, run_of

A, B = "1995-06-01", "2003-06-01"


def conditions(*names, days=(), said=False, **options):
    features = {"clock": ClockOptions(days, said)}
    options = RunOptions(
        "time-puzzles", conditions=names, features=features,
        answer_formats=("free",), **options,
    )  # fmt: skip
    made = conditions_of(options, (), {})
    task, samples = task_of(options, {}), samples_of(replace(options, limit=1))
    return with_features(Draft(options, task, made, samples, print)).conditions


def test_each_condition_is_there_once_for_each_day_and_its_name_ends_with_the_format():
    made = conditions("base", "web~auto~schema", "cal~on-1999-12-31", days=(A, B, A))
    assert [(each.name, each.today) for each in made] == [
        ("base~on-1995-06-01", A),
        ("base~on-2003-06-01", B),
        ("web~auto~on-1995-06-01~schema", A),
        ("web~auto~on-2003-06-01~schema", B),
        ("cal~on-1999-12-31", "1999-12-31"),
    ]
    (plain,) = conditions("base")
    assert {"today", "says_today"}.isdisjoint(plain.model_dump())  # run.json is as it was
    with pytest.raises(ConfigError, match="leave --hosted-tools out"):
        conditions("web", days=(A,), parameters={"hosted_tools": True})


def test_tools_of_others_have_the_real_clock():
    own = ToolTraits(name="lookup", path="tools.py:lookup")
    condition = Condition(name="lookup", tools=("lookup",), own_tools=(own,))
    notes = []
    made = samples_of(RunOptions("time-puzzles", limit=1))
    days = [with_modifier(condition, DAY, day) for day in ("2200-01-01", "2201-01-01")]
    on_their_days(made, days, task_of(RunOptions("time-puzzles"), {}), notes.append)
    assert notes == ["lookup: not of ours, so with the real clock on each day"]


async def test_the_day_begins_the_question_where_it_is_to_be_said(tmp_path):
    plain, said = conditions("base", days=(A,)) + conditions("base", days=(B,), said=True)
    run = await run_of(RunOptions("time-puzzles", out=tmp_path / "run", limit=1))
    (sample,) = run.samples
    question = run.task.prompt_under(sample, plain)
    assert question == run.task.prompt_under(sample, conditions("base")[0])
    (message,) = run.task.prompt_under(sample, said)
    assert message.content == f"Today is 1 June 2003 (2003-06-01).\n\n{question[0].content}"


async def test_a_fork_to_other_tools_stays_on_its_day(tmp_path):
    options = RunOptions("time-puzzles", out=tmp_path / "run", conditions=("base",), limit=1,
                         features={"clock": ClockOptions((A,), True)})  # fmt: skip
    run = await start_run(options, QUIET)
    to_other_tools = ForkOptions(0, tmp_path / "fork", condition="cal")
    (condition,) = (await fork(next(run.traces()), to_other_tools, QUIET)).manifest.conditions
    assert (condition.name, condition.today, condition.says_today) == ("cal~on-1995-06-01", A, True)


def test_a_question_that_states_its_day_needs_no_other(tmp_path):
    finished(tmp_path / "run", "tdbench", limit=2, options=("kinds=current", "book=closed"))
    shown = ("kinds=current",)
    for options in (shown, (*shown, "book=closed", "domains=offices"), (*shown, "phrasings=1")):
        questions = samples_of(RunOptions("tdbench", limit=60, options=options)).samples
        assert all(sample.now[:4] in sample.question for sample in questions)
