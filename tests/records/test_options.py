"""An option is declared once: a field is a flag, a keyword, an entry of run.json, and whether a
resumed run may change it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest
import typer

from agent_env.cli.options import with_options
from agent_env.cli.tree import Sectioned
from agent_env.records.manifest import Manifest
from agent_env.records.options import WHAT, Opt, OptionGroup, entries, from_keywords, options_of
from agent_env.runs.options.run_options import ForkOptions, ResumeOptions, RunOptions, with_changes


@dataclass(frozen=True, slots=True)
class WithPatience(RunOptions):
    """A run with two options more."""

    patience: Annotated[
        int, Opt("Turns to wait.", WHAT, min=1, manifest="patience", resume=True)
    ] = 3
    mood: Annotated[str, Opt("How it is asked.", WHAT, manifest="mood")] = "kind"


@dataclass(frozen=True, slots=True)
class ResumeWithPatience(ResumeOptions):
    """What resume may change of it."""

    changes: Annotated[
        Mapping[str, Any], OptionGroup(WithPatience, only="resume", by_entry=True)
    ] = field(default_factory=dict)


def invoke(record, *words):
    """The options that a command of this record gets of the words."""
    got, app = [], typer.Typer(rich_markup_mode=None)

    @app.command(cls=Sectioned)
    @with_options(f"{__name__}:{record.__name__}")
    def ask(options):
        """Ask."""
        got.append(options)

    app(args=list(words), standalone_mode=False)
    return got[0] if got else None


def test_a_new_field_is_a_flag_with_its_help_its_panel_and_its_bounds(capsys):
    options = invoke(WithPatience, "time-puzzles", "--patience", "5")
    assert options == WithPatience("time-puzzles", patience=5)
    with pytest.raises(Exception, match="greater than or equal to 1"):
        invoke(WithPatience, "time-puzzles", "--patience", "0")
    invoke(WithPatience, "--help")
    asked = capsys.readouterr().out.split("What is asked:")[1].split("\n\n")[0]
    assert "--patience <int range>" in asked
    assert "Turns to wait.  [default: 3; x>=1]" in " ".join(asked.split()).replace(". [", ".  [")


def test_resume_takes_what_the_field_allows_and_refuses_what_it_does_not():
    changes = invoke(ResumeWithPatience, "--patience", "9", "--steps", "4").changes
    assert changes == {"limits.steps": 4, "patience": 9}
    changed = with_changes({"limits": {"steps": 30, "tokens": 5}, "patience": 3}, changes)
    assert changed == {"limits": {"steps": 4, "tokens": 5}, "patience": 9}
    with pytest.raises(Exception, match="No such option: --mood"):
        invoke(ResumeWithPatience, "--mood", "stern")


def test_keywords_of_nested_records_stand_beside_the_others():
    limits = {"steps": 4, "run_tokens": 100, "tool_limit": ["python=2"]}
    other = {"web": "live", "retries": 2, "temperature": 0.5, "extra_body": {"top_k": 20}}
    options = from_keywords(RunOptions, {"task": "t"} | limits | other)
    calls = options.calls
    assert (options.web.mode, calls.retries.attempts, calls.run.tokens) == ("live", 3, 100)
    assert options.limits == {"steps": 4, "per_tool": {"python": 2}}
    assert options.parameters == {"temperature": 0.5, "extra_body": {"top_k": 20}}
    with pytest.raises(TypeError, match="RunOptions has no option stepz"):
        from_keywords(RunOptions, {"task": "t", "stepz": 4})


def test_entries_are_those_of_the_manifest():
    """Each place that an option names is one that run.json has."""
    for option in options_of(RunOptions):
        if option.manifest is not None:
            assert option.manifest.split(".")[0] in Manifest.model_fields, option.keyword
    given = entries(RunOptions("t", repeats=4, limits={"steps": 2}))
    assert (given["repeats"], given["limits"]) == (4, {"steps": 2})
    assert given["run_limits"] == {"tokens": None, "cost_usd": None, "time_s": None}


@pytest.mark.parametrize(("record", "may"), [(ResumeOptions, "resume"), (ForkOptions, "fork")])
def test_what_resume_and_fork_take_of_a_run_is_what_its_fields_allow(record, may):
    taken = {option.keyword for option in options_of(record)}
    allowed = {o.keyword for o in options_of(RunOptions) if getattr(o.opt, may)}
    of_a_run = {option.keyword for option in options_of(RunOptions)}
    own = {"out"}  # where a fork goes: said anew each time
    assert taken & of_a_run - own == allowed
