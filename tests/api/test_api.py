"""The Python API: the public names, where it runs, what mistakes say."""

import ast
import asyncio
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import agent_env as ae
from tests.commands import agent_env
from tests.pages import page_generator


@pytest.fixture
def run(recorded):
    return ae.open(recorded)


# The public names --------------------------------------------------------------------------------


def test_public_names_are_listed_for_editors_and_have_docstrings():
    tree = ast.parse(Path(ae.__file__).read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    listed = {(node.module, alias.name) for node in imports for alias in node.names}
    assert listed == {(module, name) for module, names in ae.PUBLIC.items() for name in names}
    for module, names in ae.PUBLIC.items():
        for name in names:
            public = getattr(ae, name)
            assert public is getattr(import_module(module), name)
            assert public.__doc__
            assert name in dir(ae)


def test_the_import_alone_loads_nothing_heavy():
    code = "import agent_env, sys; print([m for m in sys.modules if m.startswith('agent_')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['agent_env.version', 'agent_env']\n"


def test_the_keywords_for_editors_are_those_of_the_options():
    written = Path(ae.__file__).parent / "runs" / "options" / "keyword_types.py"
    advice = "make it again: python .ci/pages/keywords.py > agent_env/runs/options/keyword_types.py"
    assert written.read_text() == page_generator("keywords")["keyword_types"](), advice


# Where it runs -----------------------------------------------------------------------------------


async def test_two_runs_go_on_at_once_in_one_loop_and_a_third_without_await(tmp_path):
    def given(name, condition):
        return {"limit": 1, "conditions": condition, "out": tmp_path / name, "progress": False}

    both = await asyncio.gather(
        *(
            ae.run(ae.task("time-puzzles"), model=model, **given(model, ["web"]))
            for model in ("reference", "reference-static")
        )
    )
    runs = [*both, ae.run_sync("time-puzzles", **given("sync", "explicit"))]
    assert [len(list(run.episodes(status="finished"))) for run in runs] == [1, 1, 1]
    assert [result.verdict for run in runs for result in run.replay()] == ["same"] * 3


async def test_a_cancelled_run_says_how_to_go_on(run, capsys):
    next(run.path.glob("episodes/web/*.jsonl")).unlink()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await run.resume(accept_changes=True)
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == f"Stopped. Continue with: agent-env resume {run.path}"
    assert len(list((await run.resume(progress=False)).episodes(status="finished"))) == 5


async def test_an_error_of_a_run_without_await_is_the_same_below_a_running_loop():
    error = "unknown task 'time-puzzle'; did you mean time-puzzles"
    with pytest.raises(ae.ConfigError, match=error):
        ae.run_sync("time-puzzle")


async def test_one_folder_is_run_once_at_a_time(run):
    next(run.path.glob("episodes/*/*.jsonl")).unlink()
    again = [run.resume(progress=False, accept_changes=True) for _ in range(2)]
    first, second = await asyncio.gather(*again, return_exceptions=True)
    assert repr(first) == f"Run({str(run.path)!r}: time-puzzles, reference, 5 of 5 episodes)"
    assert isinstance(second, ae.ConfigError)
    assert str(second) == f"{run.path} is being run already, by this process or another"


def test_a_run_that_is_removed_says_so(run):
    shutil.rmtree(run.path)
    for ask in (run.episodes, run.frame, run.replay, run.scores, lambda: run.episode("base/x.1")):
        with pytest.raises(ae.ConfigError, match=r"is not a run: it has no run\.json"):
            ask()


# What mistakes say -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keywords", "kind", "text"),
    [
        ({"condition": "web"}, TypeError, "run() has no keyword 'condition'; did you mean"),
        ({"limit": 0}, ae.ConfigError, "limit=0: must be greater than or equal to 1"),
        ({"limit": "many"}, ae.ConfigError, "limit='many': must be a valid integer"),
        ({"undated": "no"}, ae.ConfigError, "undated='no': 'no' is not 'withhold', 'count' or"),
        ({"conditions": ["wob"]}, ae.ConfigError, "no part 'wob'"),
        ({"options": "fact=1"}, ae.ConfigError, "no option 'fact'; did you mean facts? "),
        ({"top_p": 7}, ae.ConfigError, "top_p=7: must be less than or equal to 1"),
        ({"temperature": float("inf")}, ae.ConfigError, "temperature=inf: must be a finite number"),
        ({"tool_limit": {"python": -1}}, ae.ConfigError, "python: must be greater than or equal"),
        ({"tool_limit": {"hammer": 1}}, ae.ConfigError, "--tool-limit: no tool 'hammer'"),
        ({"model": "gpt-5"}, ae.ConfigError, "write openai/gpt-5, with your key in OPENAI_API_KEY"),
        ({"preflight": "maybe"}, ae.ConfigError, "preflight='maybe': write True, False or 'anyway"),
        ({"progress": "maybe"}, ae.ConfigError, "progress='maybe': write True or False"),
        ({"model": 3}, ae.ConfigError, "model 'int' at object:int is an int, not an Api"),
        ({"conditions": ae.Condition("a b")}, ae.ConfigError,
         "condition 'a b': name: String should match pattern"),
        ({"conditions": ae.Condition("a", tools=[len])}, ae.ConfigError, "tool 'len'"),
        ({"conditions": ae.Condition("a", tools=["hammer"])}, ae.ConfigError,
         "unknown tool 'hammer'; known: "),
    ],
)  # fmt: skip
def test_a_wrong_option_or_object_is_named(keywords, kind, text, tmp_path):
    with pytest.raises(kind) as error:
        ae.run_sync("time-puzzles", out=tmp_path / "run", **keywords)
    assert text in str(error.value)
    assert not (tmp_path / "run").exists()


def test_keywords_and_tables_that_are_needed_are_named(run):
    with pytest.raises(TypeError, match=r"fork\(\) needs the keyword 'at'"):
        asyncio.run(run.episode("base/tp-3-00001.1").fork())
    study = ae.compare(run)
    assert "differences" in dir(study)
    with pytest.raises(AttributeError, match="no table 'difference'; known: conclusions, cond"):
        _ = study.difference


# What it gives -----------------------------------------------------------------------------------


def test_an_old_run_is_read_forked_and_saved(run, tmp_path):
    assert len(run.frame()) == 5
    episode = run.episode("web-once/tp-3-00001.1")
    assert (episode.result.answer, episode.sample.gold) == (("1960-08-01",), ("1960-07-18",))
    assert episode.transcript().startswith("== web-once/tp-3-00001.1 · reference")
    forks = asyncio.run(episode.fork(at=1, edit={"1": "no results"}, progress=False))
    assert forks.path.parent == run.path / "forks"
    ae.compare(run).save(tmp_path / "study.md")
    assert (tmp_path / "study.md").read_text().startswith("## ")


# Objects of this process -------------------------------------------------------------------------


@ae.tool
async def almanac(city: str, month: int) -> str:
    "Mean temperature of a city in a month, in degrees Celsius."
    return f"{city} {month}: 24"


def make_clever():
    """A model that no module has, as one from a notebook's cell."""

    async def clever(messages, tools):
        if tools and messages[-1].role == "user":
            call = ae.ToolCall(id="1", name="almanac", arguments='{"city": "Rome", "month": 7}')
            return ae.Reply(message=ae.Message(role="assistant", tool_calls=(call,)))
        return "MY ANSWER: None"

    return clever


def test_a_function_is_a_model_and_another_a_tool_of_a_condition(tmp_path):
    run = ae.run_sync(
        ae.task("time-puzzles", limit=1), model=make_clever(), tools=[almanac],
        conditions=["base", ae.Condition("warm", tools=["web_search", almanac]), "cal+almanac"],
        out=tmp_path / "run", progress=False,
    )  # fmt: skip
    assert run.conditions == ("base", "warm", "cal+almanac")
    outputs = [m.content for e in run.episodes() for m in e.messages if m.role == "tool"]
    assert outputs == ["Rome 7: 24"] * 2
    references = {use.name: use.reference for use in run.manifest.plugins}
    assert references == {"clever": "object:clever", "almanac": "tests.api.test_api:almanac"}
    assert [result.verdict for result in run.replay(tools_live=True)] == ["same"] * 3

    (run.path / "episodes/base/tp-1-00001.1.jsonl").unlink()
    gone = "model clever was an object of the process that made the run; give it to agent_env.open"
    with pytest.raises(ae.ConfigError, match=gone):
        asyncio.run(ae.open(run.path).resume(progress=False))
    again = ae.open(run.path, model=make_clever())
    assert len(list(asyncio.run(again.resume(progress=False)).episodes())) == 3
    warm = run.episode("warm/tp-1-00001.1")
    forks = asyncio.run(warm.fork(at=1, model="reference-static", progress=False))
    assert [fork.answer for fork in forks.episodes()] != ["MY ANSWER: None"]


# A family of this process ------------------------------------------------------------------------


class Leap(ae.Sample):
    year: int


def make_leap():
    def prompt(sample, condition):
        return (ae.Message(role="user", content=f"Is {sample.year} a leap year? yes or no"),)

    def scorer(sample, episode):
        def measure(answer):
            is_right = (answer or "").strip() == sample.gold[0]
            return {"outcome": "read", "answer": (answer,), "metrics": {"right": float(is_right)}}

        return ae.episode_score(sample, episode, measure)

    task = ae.Task(
        name="leap", sample_type=Leap, prompt=prompt, scorer=scorer, metrics=("right",),
        default_conditions=("base",),
    )  # fmt: skip

    def samples(count, seed, options):
        years = range(2000, 2000 + count)
        golds = ["yes" if y % 4 == 0 else "no" for y in years]
        made = (Leap(id=f"y{y}", task="leap", gold=(g,), year=y) for y, g in zip(years, golds))  # noqa: B905
        return ae.SampleSet(tuple(made))

    return ae.Family(name="leap", make_task=lambda *_: task, make_samples=samples)


def test_a_family_of_the_process_is_run_read_compared_and_reported(tmp_path):
    task = ae.task(make_leap(), limit=5)
    assert [sample.gold for sample in task.samples()][:2] == [("yes",), ("no",)]
    run = ae.run_sync(
        task, model=lambda messages: "no", conditions=["base", "cal"], out=tmp_path / "run",
        progress=False,
    )  # fmt: skip
    assert [episode.score["right"] for episode in run.episodes(condition="base")] == [0, 1, 1, 1, 0]
    assert run.episode("base/y2000.1").transcript().splitlines()[-3:] == [
        "== score: right 0",
        "== where it came from: base/y2000.1: unknown: the sample does not say what proves it",
        "  failed first: cannot be told",
    ]
    assert ae.compare(run).conditions.rows[0][0] == "base"
    assert [result.verdict for result in run.replay()] == ["same"] * 10
    assert len(run.scores()[0].rows) == 2
    with pytest.raises(ae.ConfigError, match="family leap was an object of the process"):
        list(ae.open(run.path).episodes())
    assert len(list(ae.open(run.path, task=make_leap()).episodes())) == 10


def test_a_task_with_its_samples_is_asked_whole(tmp_path):
    family = make_leap()
    made = family.make_samples(15, 1, None).samples
    task = ae.task(family.make_task("default", None, {}), samples=made)
    assert (repr(task), task.samples()) == ("task('leap', limit=15)", made)
    with pytest.raises(ae.ConfigError, match="a task is a name, a Family or a Task, not int"):
        ae.run_sync(3, out=tmp_path / "run")


def test_the_preflight_takes_booleans_and_words():
    from agent_env.api.runs import preflight_wish

    wishes = {True: "on", "on": "on", "yes": "on", False: "off", "off": "off", "no": "off",
              "anyway": "anyway"}  # fmt: skip
    assert {value: preflight_wish(value) for value in wishes} == wishes


def test_a_run_scored_by_a_function_of_a_notebook_keeps_its_scores(tmp_path):
    def near(sample, answer):
        return any(date in answer for date in sample.gold)

    run = ae.run_sync(
        "time-puzzles", limit=2, conditions="explicit", scorer=near, out=tmp_path / "run",
        progress=False,
    )  # fmt: skip
    elsewhere = ae.open(run.path)
    assert [episode.score for episode in elsewhere.episodes()] == [{"near": 1.0}] * 2
    assert "near is not here, so these are the scores" in agent_env("show", str(run.path)).stderr
    lines = agent_env("verify", str(run.path)).stdout.splitlines()
    (told,) = [line for line in lines if " scores " in line]
    assert told == "unchecked scores     the function near, which gave the scores, is not here"
    next(run.path.glob("episodes/*/*.jsonl")).unlink()
    with pytest.raises(ae.ConfigError, match=r"the function near, which scores .* is not here"):
        asyncio.run(elsewhere.resume(progress=False))
    with pytest.raises(ae.ConfigError, match="is scored by near; scorer is its function, and"):
        ae.open(run.path, scorer=lambda sample, answer: 0)

    def near(sample, answer):
        return 0

    anew = ae.open(run.path, scorer=near)
    assert [episode.score for episode in anew.episodes()] == [{"near": 0.0}]
