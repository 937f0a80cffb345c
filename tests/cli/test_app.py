"""The command line as a user types it, without key or network."""

import json
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from agent_env.episodes.run_folder import RunFolder
from agent_env.episodes.trace.lines import read_lines, read_trace, seal
from agent_env.extras import EXTRAS
from agent_env.testing import puzzle
from agent_env.wiring.models import make_model
from agent_env.wiring.trust import own_plugins
from tests.commands import agent_env, run_puzzles, running, serving, typed
from tests.fake_server import serve

TRACE = "episodes/explicit/tp-1-00001.1.jsonl"


def test_reference_gets_all_right_and_the_same_seed_gives_the_same_samples_and_scores(tmp_path):
    named, out = ("base", "web", "explicit"), tmp_path / "first"
    words = ["--out", str(out), *(word for name in named for word in ("--condition", name))]
    done = agent_env("run", "time-puzzles", "--limit", "4", *words, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    conditions = told["conditions"]
    assert (told["run"], tuple(conditions)) == (str(out), named)
    assert conditions["web"]["exact_match"] == conditions["explicit"]["exact_match"] == 1.0
    wanted = {"episodes", "failed", "unreadable", "exact_match", "f1", "jaccard", "input_tokens",
              "output_tokens", "steps", "tool_calls"}  # fmt: skip
    assert wanted <= conditions["web"].keys()
    before = (out / "scores.jsonl").read_bytes()
    (out / "scores.jsonl").unlink()
    done = agent_env("show", str(out), "--json")
    assert json.loads(done.stdout)["conditions"] == conditions
    assert (out / "scores.jsonl").read_bytes() == before
    again = run_puzzles(tmp_path / "again", limit=4, conditions=named)
    for name in ("samples.jsonl", "scores.jsonl"):
        assert (again / name).read_bytes() == (out / name).read_bytes()


def test_show_prints_the_episode_and_says_what_is_missing_beside_a_trace(web_run, tmp_path):
    trace = shutil.copytree(web_run, tmp_path / "run") / "episodes/web/tp-1-00001.1.jsonl"
    shown = agent_env("show", str(trace)).stdout
    for part in (
        "[user] Below is a list", "calls web_search", "MY ANSWER:", "== ended: answered",
        "\n== score: exact_match 1 · strict_match 1 · ",
        "\n== where it came from: web/tp-1-00001.1: read: what proves it was opened\n",
    ):  # fmt: skip
        assert part in shown
    (tmp_path / "run/samples.jsonl").unlink()
    without_samples = agent_env("show", str(trace)).stdout
    assert "== no score: samples.jsonl has no sample 'tp-1-00001'" in without_samples
    (tmp_path / "run/run.json").unlink()
    alone = agent_env("show", str(trace)).stdout
    assert "== no score: run.json is not beside" in alone
    assert "tool protocol and sampling: not known without run.json" in alone


def test_a_dataset_is_asked_instead_and_filtered_up_to_the_limit(tmp_path):
    file = tmp_path / "own.jsonl"
    samples = [puzzle("one"), puzzle("two", [])]
    file.write_text("".join(sample.model_dump_json() + "\n" for sample in samples))
    asked = (
        "run time-puzzles --dataset {} --where solution_count=0 --condition base --json --out {}"
    )
    done = typed(asked, file, tmp_path / "run")
    assert json.loads(done.stdout)["conditions"]["base"]["episodes"] == 1
    manifest = json.loads((tmp_path / "run/run.json").read_text())
    assert (manifest["dataset"], manifest["where"]) == ("own.jsonl", ["solution_count=0"])
    out = run_puzzles(tmp_path / "filled", "--where", "solution_count=3", limit=2)
    rows = (out / "samples.jsonl").read_text().splitlines()
    assert [json.loads(row)["solution_count"] for row in rows] == [3, 3]


def test_ctrl_c_leaves_valid_traces_and_says_how_to_go_on(tmp_path):
    out = tmp_path / "run"
    words = f"run time-puzzles --limit 40 --condition explicit --condition web --out {out}".split()
    with running(*words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        while len(list(out.glob("episodes/*/*.jsonl"))) < 5:
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=300)
    assert process.returncode == 130
    assert f"Continue with: agent-env resume {out}" in said
    for trace in out.glob("episodes/*/*.jsonl"):
        read_trace(trace)


def test_doctor_names_sandboxes_keys_tokenizers_and_every_extra():
    told = json.loads(agent_env("doctor", "--json").stdout)
    assert "sandbox namespaces" in told
    assert told["key OPENAI_API_KEY"]["ok"] is False
    assert told["tokenizer estimate"]["ok"] is True
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    assert EXTRAS.keys() == project["optional-dependencies"].keys()


def test_a_run_goes_on_at_the_server_that_is_named(tmp_path):
    out = tmp_path / "run"

    def go(*words):
        with serving(serve(make_model("reference", None, {}, own_plugins()))) as url:
            done = agent_env(*words, "--base-url", url)
            return url, done.returncode, done.stderr

    words = ("--model", "compatible/x", "--limit", "2", "--condition", "explicit")
    before, *_ = go("run", "time-puzzles", "--out", str(out), *words)
    (out / "episodes/explicit/tp-1-00002.1.jsonl").unlink()
    _, code, said = go("resume", str(out), "--steps", "3")
    assert (code, "base_url" in said) == (2, False)
    now, code, said = go("resume", str(out))
    assert (code, "2 of 2 episodes done (1 now)" in said) == (0, True)
    assert f"model base_url: {before} → {now}" in RunFolder(out).manifest.changes[0]


def test_failed_and_missing_episodes_are_run_again_by_resume(copied):
    trace = copied / TRACE
    first = trace.read_bytes().splitlines(keepends=True)[0]
    failed = {"v": 2, "episode": "explicit/tp-1-00001.1", "seq": 1, "at": "2026-01-01T00:00:00Z",
              "kind": "episode_failed", "error": "E", "message": "m"}  # fmt: skip
    trace.write_bytes(first + seal(json.dumps(failed).encode(), read_lines(trace, first).crc)[0])
    (copied / "episodes/base/tp-1-00002.1.jsonl").unlink()
    told = json.loads(agent_env("show", str(copied), "--json").stdout)["conditions"]
    assert (told["explicit"]["failed"], told["base"]["episodes"]) == (1, 1)
    done = agent_env("resume", str(copied), "--json")
    told = json.loads(done.stdout)["conditions"]
    assert (told["explicit"]["failed"], told["explicit"]["exact_match"]) == (0, 1.0)
    assert told["base"]["episodes"] == 2
    assert "4 of 4 episodes done (2 now), 0 failed" in done.stderr


def test_a_broken_trace_is_named_and_a_copied_one_not_counted_as_another_episode(copied):
    (copied / TRACE).with_name("copy.1.jsonl").write_bytes((copied / TRACE).read_bytes())
    (copied / "episodes/base/tp-1-00001.1.jsonl").write_text("garbage\n")
    done = agent_env("show", str(copied), "--json")
    told = json.loads(done.stdout)["conditions"]
    assert (told["base"]["episodes"], told["explicit"]["episodes"]) == (1, 2)
    assert "left out: " in done.stderr
    assert "tp-1-00001.1.jsonl:1: not a trace event" in done.stderr
    assert "copy.1.jsonl:1: is the trace of explicit/tp-1-00001.1" in done.stderr


def test_samples_that_were_changed_after_the_run_are_refused(copied):
    samples = copied / "samples.jsonl"
    samples.write_text(samples.read_text().replace('"years":"1800-2050"', '"years":"1801-2050"'))
    done = agent_env("show", str(copied))
    assert (done.returncode, "was changed after the run" in done.stderr) == (2, True)


def test_code_can_be_tried_in_a_sandbox_by_hand(tmp_path):
    file = tmp_path / "x.py"
    file.write_text("print(1)\n6 * 7\n")
    done = agent_env("sandbox", "run", str(file), "--timeout", "20")
    if done.returncode == 2:
        pytest.skip(f"no sandbox holds here: {done.stderr.strip()}")
    told = json.loads(done.stdout)
    assert (told["stdout"], told["value"], told["status"]) == ("1\n", "42", "ok")


def test_the_help_shows_ten_commands_and_the_options_of_a_task():
    """rich alone would take longer than the 0.3 s in which help answers."""
    shown = agent_env("--help").stdout
    first, groups = shown.split("\nCommands:\n")[1].split("\nGroups of commands:\n")
    names = [line.split()[0] for line in first.splitlines() if line[2:3].strip()]
    assert names == ["run", "resume", "study", "show", "compare", "view", "replay", "new", "check",
                     "doctor"]  # fmt: skip
    assert "  questions  Sets of questions: generate, audit, prove, score-answers,\n" in groups
    assert groups.endswith("\nAlso: verify, pack, docs, list, models, sandbox.\n")
    listed = agent_env("web", "--help").stdout
    assert "  facts    Tables of events: import, build, screen, check.\n" in listed
    *said, loaded = modules_after("run --help-all", ["rich"])
    assert "The web:\n  --web " in "\n".join(said)
    assert loaded == "[]"
    shown = agent_env("run", "time-puzzles", "--help").stdout
    listed = shown.split("\nOptions of time-puzzles, each as --option KEY=VALUE:\n")[1]
    assert "facts=<str> Facts per puzzle: 5 or 4-6. [default: 4-6]" in " ".join(listed.split())
    assert "Options of" not in agent_env("run", "--help").stdout


def modules_after(words, modules):
    """The lines that the command prints, and which of these modules it has loaded then."""
    code = (
        f"import sys; sys.argv = ['agent-env', *{words.split()}]\n"
        "from agent_env.cli.app import main\n"
        "try: main()\n"
        f"except SystemExit: print(sorted({{*{modules}}} & {{*sys.modules}}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_first_page_of_the_help_loads_no_record_and_no_loop():
    """Whoever types `agent-env --help` waits for what it imports."""
    assert modules_after("--help", ["pydantic", "asyncio", "httpx"])[-1] == "[]"
