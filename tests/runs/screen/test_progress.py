"""What a run says while it goes on."""

import io
import sys
from types import SimpleNamespace

from agent_env.analysis.intervals import Estimate
from agent_env.episodes.calls.budget import ConcurrencyLimit, RunLimits
from agent_env.episodes.run_folder import EpisodeKey
from agent_env.runs.run import Run
from agent_env.runs.scores.running_scores import Spending
from agent_env.runs.screen import progress as shown
from agent_env.runs.screen.progress import Progress, Standing, as_table
from tests import TESTS

RUN = TESTS / "data/runs/puzzle"
KEY = EpisodeKey("tp-0-1", "web", 1)


def test_the_progress_line_has_the_calls_in_flight_and_their_limit(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(shown, "PLAIN_EVERY_S", -1.0)
    pace, times = ConcurrencyLimit(most=8), iter([100.0, 130.0, 130.0])
    with Progress(clock=lambda: next(times)) as progress:
        progress.listener.begin(Run(tmp_path), 2)
        progress.listener.pace(lambda: str(pace))
        pace.limited(0)
        progress.listener.end(KEY, "answered")
    lines = capsys.readouterr().err.splitlines()
    assert lines[1] == (
        "1 of 2 episodes done, 0 failed; about 0:30 left; 0 calls in flight of at most 4"
    )


def test_failed_episodes_are_counted_apart_and_a_complete_run_says_that_nothing_is_left(
    capsys, tmp_path
):
    with Progress() as progress:
        progress.listener.begin(Run(RUN), 5)
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"nothing to do: 5 of 5 episodes are there; traces in {RUN}"
    )
    with Progress() as progress:
        progress.listener.begin(Run(tmp_path), 4)
        for ending in ("answered", "failed", "tokens"):
            progress.listener.end(KEY, ending)
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"2 of 4 episodes done, 1 failed (1 answered, 1 tokens); traces in {tmp_path}"
    )


def test_the_mean_counts_what_earlier_parts_of_the_run_finished(capsys, tmp_path, recorded):
    last = EpisodeKey("tp-3-00001", "web-once", 1)
    trace = recorded / "episodes" / f"{last.name}.jsonl"
    trace.rename(tmp_path / "later.jsonl")
    with Progress() as progress:
        progress.listener.begin(Run(recorded), 5)
        (tmp_path / "later.jsonl").rename(trace)
        progress.listener.end(last, "answered")
    assert capsys.readouterr().err.splitlines()[-1] == (
        "5 of 5 episodes done (1 now), 0 failed; "
        f"about 8.3k tokens, cost unknown; traces in {recorded}"
    )


def test_a_line_of_a_log_has_each_condition(monkeypatch, capsys):
    monkeypatch.setattr(shown, "PLAIN_EVERY_S", -1.0)
    with Progress() as progress:
        progress.listener.begin(Run(RUN), 5)
        progress.listener.end(EpisodeKey("tp-0-1", "web", 2), "failed")
    assert capsys.readouterr().err.splitlines()[1].partition("; about 8")[0] == (
        "5 of 5 episodes done (1 now), 1 failed; exact_match base 0.000 (1 of 1), "
        "web 1.000 (1 of 1, 1 failed), web-once 0.000 (1 of 1), web+python 1.000 (1 of 1), "
        "explicit+cal 1.000 (1 of 1)"
    )


def test_a_notebook_has_one_line_that_changes(monkeypatch, capsys, tmp_path):
    outputs = []

    def output(kind):
        return lambda data, raw: outputs.append((kind, data["text/plain"]))

    handle = SimpleNamespace(display=output("display"), update=output("update"))  # as of IPython
    monkeypatch.setattr(shown, "_notebook_handle", lambda: handle)
    monkeypatch.setattr(shown, "LINE_EVERY_S", -1.0)
    with Progress() as progress:
        progress.listener.begin(Run(tmp_path), 1)
        progress.listener.end(KEY, "\x1banswered")
    done = r"1 of 1 episodes done, 0 failed (1 \u001banswered)"
    assert outputs == [
        ("display", f"1 episodes in {tmp_path}"),
        ("update", done),
        ("update", f"{done}; traces in {tmp_path}"),
    ]
    assert capsys.readouterr().err == ""


def test_a_second_run_of_the_process_has_lines_beside_the_bar_of_the_first(monkeypatch, tmp_path):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    first, second = Progress(), Progress()
    with first, second:
        first.listener.begin(Run(tmp_path / "first"), 1)
        second.listener.begin(Run(tmp_path / "second"), 1)
        first.listener.end(KEY, "answered")
        second.listener.end(KEY, "answered")
    shown = terminal.getvalue().replace("\n", "")  # the bar's console wraps long lines
    assert f"traces in {tmp_path / 'second'}" in shown
    assert sys.stderr is terminal


def ended(progress, label, run, total, endings):
    listener = progress.listener_for(label)
    listener.begin(run, total)
    for ending in endings:
        listener.end(KEY, ending)


def test_several_runs_have_a_row_for_each_condition_and_one_for_all(capsys, tmp_path):
    times = iter(range(0, 1000, 10))
    with Progress(limits=RunLimits(tokens=20_000), clock=lambda: float(next(times))) as progress:
        ended(progress, "reader-8", Run(RUN), 5, [])
        ended(progress, "qa/b", Run(tmp_path), 4, ["answered", "failed"])
        table = progress._table(80, 24)
        low = progress._table(80, 8)
    assert table.splitlines() == [
        "model     condition     done  failed  score         left  tokens",
        "───────────────────────────────────────────────────────────────────",
        "reader-8  all           5/5        0  0.00 to 1.00  done  ~8.3k",
        "          base          1/1        0  0.00          –     –",
        "          web           1/1        0  1.00          –     –",
        "          web-once      1/1        0  0.00          –     –",
        "          web+python    1/1        0  1.00          –     –",
        "          explicit+cal  1/1        0  1.00          –     –",
        "qa/b      all           1/4        1  –             0:10  –",
        "          web           1          1  –             –     –",
        "all       all           6/9        1  –             0:10  ~8.3k/20k",
    ]
    assert [line.split()[0] for line in low.splitlines()[2:]] == ["reader-8", "qa/b", "all"]
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"qa/b: 1 of 4 episodes done, 1 failed; traces in {tmp_path}"
    )


def test_a_table_is_never_wider_than_the_terminal():
    estimate = Estimate(0.25, -1.12, -0.45)
    spent, limits = Spending(123_456_789, 123.4), RunLimits(tokens=10**9, cost_usd=2000.0)
    scores = {"web": estimate}
    run = Standing("compatible/Qwen3-8B", "all", 12_345, 999, 100_000, scores, spent, limits, 1e6)
    for width, hidden in ((100, ""), (80, "USD"), (66, "tokens")):
        lines = as_table([run], width).splitlines()
        assert max(map(len, lines)) <= width
        assert not hidden or hidden not in lines[0]
