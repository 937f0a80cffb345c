"""The same pages for every model, from a searcher's run to a reader's, as a user does it."""

import json
import shutil

import pytest

from agent_env.errors import ConfigError, DatasetError
from agent_env.features.contexts.commands import BuildOptions, build, verify
from agent_env.features.reference.policy import Reference
from agent_env.runs.fork import fork
from agent_env.runs.options.run_options import ForkOptions, ReplayOptions, RunOptions
from agent_env.runs.replay import replay
from agent_env.runs.run import Run
from agent_env.runs.scores.score import score_folder
from agent_env.runs.start import run_episodes, start_run
from agent_env.tasks.contexts import read_contexts
from tests.commands import agent_env, typed
from tests.fake_server import FakeServer, model_policy
from tests.plans import QUIET, finished

COUNT = 8


def ask(out, conditions, **options):
    """Run eight puzzles; the share of right answers by condition."""
    return right(finished(out, conditions=conditions, limit=COUNT, **options).path)


def right(out):
    run = Run(out)
    shares = {condition.name: 0.0 for condition in run.manifest.conditions}
    for _, score in score_folder(run, print):
        shares[score.condition] += score.metrics["exact_match"] / COUNT
    return shares


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A folder with the runs of an agentic and of a one-off searcher and a context file of each."""
    here = tmp_path_factory.mktemp("cited")
    ask(here / "agentic", ("web",))
    ask(here / "static", ("web-once",), model="reference-static")
    for name in ("agentic", "static"):
        build(BuildOptions(here / name, here / f"{name}.jsonl"))
    return here


@pytest.fixture(scope="module")
def readers(runs):
    """One model that reads the pages of both, in one run."""
    both = tuple(f"{name}={runs / name}.jsonl" for name in ("agentic", "static"))
    return runs, ask(runs / "readers", ("base", "cited"), cited_from=both)


def test_run_json_says_whose_pages_help_how_much(readers):
    """Figure 2 of the Time Puzzles paper in miniature: the same reader, other pages."""
    here, share = readers
    assert list(share) == ["base", "cited:agentic", "cited:static"]
    assert share["base"] < share["cited:static"] < share["cited:agentic"] == 1.0
    first, second = json.loads((here / "readers/run.json").read_text())["contexts"]
    assert (first["name"], first["file"]) == ("cited:agentic", "contexts/cited-agentic.jsonl")
    assert (second["source_run"], second["source_model"]) == ("static", "reference-static")
    assert (second["source_condition"], second["samples"]) == ("web-once", 8)
    assert (here / "readers" / second["file"]).read_bytes() == (here / "static.jsonl").read_bytes()


async def test_another_model_reads_the_same_bytes_and_verify_proves_it(readers):
    """Over Chat Completions, and resumed without the file that the pages came from."""
    here, share = readers
    lent, out = here / "lent.jsonl", here / "other"
    lent.write_bytes((here / "static.jsonl").read_bytes())
    async with FakeServer(model_policy(Reference())) as server:
        options = RunOptions(
            "time-puzzles", model="compatible/x", base_url=server.url, conditions=("cited",),
            cited_from=(f"static={lent}",), limit=COUNT, out=out,
        )  # fmt: skip
        folder = await start_run(options, QUIET)
        for file in (lent, out / "episodes/cited:static/tp-1-00003.1.jsonl"):
            file.unlink()
        await run_episodes(folder, None, QUIET)
    assert right(out) == {"cited:static": share["cited:static"]}
    rows = verify([out, here / "readers"])
    assert [row.is_equal for row in rows if row.context == "cited:static"] == [True] * COUNT
    absent = {row.absent for row in rows if row.context == "cited:agentic"}
    assert absent == {(str(out),)}  # asked in one of them only
    done = agent_env("web", "context", "verify", "other", "readers", cwd=here)
    assert done.returncode == 1
    assert "cited:agentic  tp-1-00008  not in other" in done.stdout
    assert "8 of 16 contexts: the same bytes in every run" in done.stdout


async def test_a_fork_of_a_reader_keeps_its_pages_and_a_changed_copy_is_not_resumed(
    readers, tmp_path
):
    here, _ = readers
    run = Run(shutil.copytree(here / "readers", tmp_path / "readers"))
    next(run.traces()).unlink()  # something is left to run
    copy = run.path / "contexts/cited-static.jsonl"
    copy.write_bytes(copy.read_bytes().replace(b'"budget":8000', b'"budget":9000'))
    with pytest.raises(DatasetError, match="was changed after the run"):
        await run_episodes(run, None, QUIET)
    trace = here / "readers/episodes/cited:agentic/tp-1-00002.1.jsonl"
    made = await fork(trace, ForkOptions(at=0, out=tmp_path / "fork"), QUIET)
    (row,) = verify([tmp_path / "fork"])
    (played,) = await replay(made, ReplayOptions(), print)
    assert (row.is_equal, played.verdict) == (True, "same")
    with pytest.raises(ConfigError, match="keeps its parent's question, pages included"):
        await fork(trace, ForkOptions(at=0, out=tmp_path / "x", condition="python"), QUIET)


@pytest.mark.parametrize("live", ["", "tools_live", "model_live"])
async def test_a_reader_replays_from_its_own_pages(live, readers, tmp_path):
    here, _ = readers
    options = ReplayOptions(out=tmp_path / "asked", **({live: True} if live else {}))
    played = await replay(Run(here / "readers"), options, print)
    assert {episode.verdict for episode in played} == {"same"}
    if live == "model_live":  # what was recorded is a run that proves its pages too
        rows = verify([tmp_path / "asked", here / "readers"])
        assert [row.is_equal for row in rows] == [True] * 2 * COUNT


def test_show_prints_what_a_sample_is_given(runs):
    shown = typed("web context show static.jsonl --sample tp-1-00001", cwd=runs).stdout
    assert shown == read_contexts(runs / "static.jsonl").by_sample["tp-1-00001"].text
    listed = typed("web context show static.jsonl", cwd=runs).stdout
    assert '"source_model": "reference-static"' in listed
    assert "tp-1-00008  " in listed


def test_without_a_file_the_scripted_reference_finds_the_pages_where_there_are_any(tmp_path):
    run = finished(tmp_path / "run", conditions=("base", "cited"), limit=2)
    assert [each.source_model for each in run.manifest.contexts] == ["reference"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("--limit 8 --seed 2", "contexts for 0 of the 8 samples asked, none for 'tp-2-00001'; ask"),
        ("--limit 9", "static.jsonl has contexts for 8 of the 9 samples asked"),
    ],
)
def test_pages_for_other_samples_are_one_line(options, reason, runs):
    line = f"run time-puzzles {options} --condition cited --cited-from static.jsonl --out refused"
    done = typed(line, cwd=runs)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert reason in done.stderr
    assert not (runs / "refused").exists()
