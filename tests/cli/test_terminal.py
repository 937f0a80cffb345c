"""Foreign text steers no terminal: what a run folder, a puzzle file or an option says is shown with
its control characters written out, by every command and in every error."""

import io
import json
import re
import shutil
import sys

import pytest

from agent_env.analysis.result_tables import Column, ResultTable
from agent_env.cli.run import print_table
from agent_env.runs.run import Run
from agent_env.runs.screen.progress import Progress
from agent_env.runs.screen.terminal import VisibleStream, guard_streams, raw
from tests.commands import agent_env, typed

STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
HOSTILE = "A\x1b[31m\x9b8m\x1b]0;t\x07\u202e\u2066\u200f\u061c[/x][link=http://e]\r\x08\x00"
TRACE = "episodes/web/tp-1-00001.1.jsonl"


def in_lines(file, change):
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines:
        change(line)
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def in_manifest(change):
    """A plant in run.json."""

    def plant(run):
        told = json.loads((run / "run.json").read_text())
        change(told)
        (run / "run.json").write_text(json.dumps(told))

    return plant


def an_id(run):
    in_lines(run / "samples.jsonl", lambda told: told.update(id=HOSTILE))
    in_lines(run / TRACE, lambda told: told.update(sample=HOSTILE) if "sample" in told else None)


def in_events(kind, change):
    """A plant in the events of this kind."""

    def spoil(told):
        if told["kind"] == kind:
            change(told)

    return lambda run: in_lines(run / TRACE, spoil)


def spoil_call(told):
    told["result"].update(output=HOSTILE, output_digest=None)
    told["call"]["name"] = HOSTILE


def a_line_that_is_no_json(run):
    with (run / TRACE).open("a") as opened:
        opened.write(HOSTILE.replace("\x00", "") + "\n{}\n")


PLACES = {
    "the model": in_manifest(lambda told: told.update(model=HOSTILE)),
    "a condition": in_manifest(lambda told: told["conditions"][0].update(name=HOSTILE)),
    "an unknown field": in_manifest(lambda told: told.update({HOSTILE: HOSTILE})),
    "a limit": in_manifest(lambda told: told["limits"].update(steps=HOSTILE)),
    "the question": lambda run: in_lines(
        run / "samples.jsonl", lambda it: it.update(question=HOSTILE)
    ),
    "an id": an_id,
    "the answer": in_events(
        "episode_finished", lambda it: it.update(answer=f"MY ANSWER: {HOSTILE}", text=HOSTILE)
    ),
    "a tool": in_events("tool_called", spoil_call),
    "the kind of an event": lambda run: in_lines(run / TRACE, lambda it: it.update(kind=HOSTILE)),
    "a line that is not JSON": a_line_that_is_no_json,
}


@pytest.mark.parametrize("plant", PLACES.values(), ids=PLACES)
def test_a_foreign_run_is_shown_without_steering(web_run, tmp_path, plant):
    run = tmp_path / "run \x1b[8m\u202e"
    shutil.copytree(web_run, run)
    plant(run)
    shown = ""
    for words in (
        ("show", str(run)), ("show", str(run), "--json"), ("show", str(run / TRACE)),
        ("episodes", "list", str(run)), ("show", "--why", str(run)), ("compare", str(run)),
        ("questions", "audit", str(run / "samples.jsonl")), ("replay", str(run)),
        ("resume", str(run)),
    ):  # fmt: skip
        done = agent_env(*words)
        assert not STEERING.search(done.stdout + done.stderr), words
        shown += done.stdout + done.stderr
    assert r"\u001b" in shown


@pytest.mark.parametrize(
    "line",
    ["show {}", "run {}", "{}", "run time-puzzles --model {}", "run time-puzzles {}", "show --{}"],
)
def test_errors_quote_without_steering(line):
    done = typed(line, HOSTILE.replace("\0", ""))
    assert done.returncode == 2
    assert not STEERING.search(done.stdout + done.stderr)


def test_json_that_is_shown_has_the_same_value():
    shown = io.StringIO()
    VisibleStream(shown).write(json.dumps({HOSTILE: HOSTILE}, ensure_ascii=False))
    assert not STEERING.search(shown.getvalue())
    assert json.loads(shown.getvalue()) == {HOSTILE: HOSTILE}


class Terminal(io.StringIO):
    """A stream that says it is a terminal, so that rich styles what it writes."""

    def isatty(self):
        return True


def test_on_a_terminal_tables_and_lines_beside_the_progress_bar_bring_no_styles(
    monkeypatch, web_run
):
    out, err = Terminal(), Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("sys.stdout", out)
    monkeypatch.setattr("sys.stderr", err)
    guard_streams()
    columns = (Column("name"), Column("value"))
    print_table(ResultTable("t", "title", columns, (("a\x1b[8m\u202eb", 1),)))
    assert not STEERING.search(out.getvalue())
    assert r"a\u001b[8m\u202eb" in out.getvalue()
    with Progress() as progress:
        progress.listener.begin(Run.open(web_run), 2)
        progress.listener.note("said\x1b[8m\u202e")
        print("said too\x1b[8m\u202e", file=sys.stderr)
    assert raw(sys.stderr) is err
    assert not re.search("\u202e|\x1b\\[8m", err.getvalue())
    assert r"said too\u001b[8m\u202e" in err.getvalue()


@pytest.mark.parametrize("words", [("--plain", "show"), ("show", "--plain")])
def test_plain_may_stand_anywhere_and_shows_no_table(web_run, words):
    done = agent_env(*words, str(web_run))
    assert "web: n 1; exact_match 1.000" in done.stdout
    assert "─" not in done.stdout
