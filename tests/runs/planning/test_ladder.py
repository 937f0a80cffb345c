"""The ladder of conditions: one name, its cited pages found by the scripted reference."""

from agent_env.runs.run import Run
from agent_env.tasks.conditions import RUNGS
from tests.commands import agent_env
from tests.plans import finished


def test_the_ladder_is_seven_conditions_with_the_pages_that_reference_cites(tmp_path):
    run = finished(tmp_path / "run", conditions=("ladder",), limit=2, difficulty="easy")
    assert [each.name for each in run.manifest.conditions] == list(RUNGS)
    (use,) = run.manifest.contexts
    assert (use.name, use.source_model, use.source_condition) == ("cited", "reference", "web")
    assert (use.samples, use.empty) == (2, 0)
    shown = agent_env("compare", str(run.path), "--table", "ladder").stdout
    assert "Where are points lost?" in shown
    assert "reading the page" in shown


def test_what_means_nothing_for_the_questions_is_left_out(tmp_path):
    done = agent_env(*f"run tdbench --condition ladder --limit 2 --out {tmp_path}/run".split())
    assert "left explicit out of the ladder: these questions have no dates to spell" in done.stderr
    assert [each.name for each in Run(tmp_path / "run").manifest.conditions] == [
        "base", "cited", "web-once", "web", "web+python",
    ]  # fmt: skip
