"""A run that starts its model's server itself, with a small server as a program of its own."""

import os
import re
import sys
from pathlib import Path
from shlex import quote

import pytest

from agent_env.features.local_models import files
from agent_env.features.reference.policy import Reference
from agent_env.runs.run import Run
from agent_env.runs.servers.serving import other_server
from tests.commands import agent_env, serving
from tests.fake_server import FakeServer, model_policy
from tests.features.local_models.gguf_files import small_model

TINY = Path(__file__).with_name("tiny_server.py")
SERVE = f"{quote(sys.executable)} -I -S {quote(str(TINY))} {{port}}"


def address(folder):
    return str(Run.open(folder).manifest.model_parameters["base_url"])


def ask(out, *options):
    done = agent_env("run", "time-puzzles", "--limit", "1", "--out", str(out), *options)
    return "" if done.returncode == 0 else done.stderr


def serve(out):
    """A run whose model's server it starts."""
    model = ("--model", "compatible/tiny", "--serve", SERVE, "--no-preflight")
    assert ask(out, *model, "--condition", "explicit") == ""
    return Run.open(out)


def test_a_run_starts_its_server_and_ends_it_and_a_resumed_run_starts_it_again(tmp_path):
    run = serve(tmp_path / "run")
    url = address(run.path)
    assert run.manifest.features["local_models"]["command"] == SERVE
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/v1", url)
    (trace,) = run.traces()
    os.unlink(trace)
    done = agent_env("resume", str(run.path))
    assert done.returncode == 0, done.stderr
    assert (trace.exists(), address(run.path)) == (True, url)
    assert (run.path / "server.log").read_text().count("pid ") == 2


def test_a_run_that_goes_on_at_another_address_starts_no_server_any_more(tmp_path):
    run = serve(tmp_path / "run")
    os.unlink(next(run.traces()))
    with serving(FakeServer(model_policy(Reference()))) as url:
        words = ("resume", str(run.path), "--base-url", url)
        assert f"began: server command: {SERVE} → none" in agent_env(*words).stderr
        assert "local_models" in Run.open(run.path).manifest.features
        assert agent_env(*words, "--accept-changes").returncode == 0
    assert "local_models" not in Run.open(run.path).manifest.features
    assert address(run.path) == url
    assert (run.path / "server.log").read_text().count("pid ") == 1


def test_a_local_model_brings_its_server_to_a_run_that_goes_on_with_it(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "server_build", lambda: "xllamacpp 1.2")
    file, before = small_model(tmp_path), {"judge": {}, "local_models": {"command": "x"}}
    name, url, settings = other_server(before, f"local/{file}", None)
    assert (name, settings["judge"]) == ("local/tiny", {})
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/v1", url)
    assert settings["local_models"]["file"]["path"] == str(file)
    assert "--slots 2 " in settings["local_models"]["command"]
    assert other_server(before, None, None) == (None, None, before)
    away = ("compatible/x", "http://h/v1")
    assert other_server(before, *away) == (*away, {"judge": {}})


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("--model compatible/x", "--serve: write --port {port} in the command, for which a free"),
        ("--model reference", "--serve starts the server of a model compatible/NAME, not of refe"),
        ("--model local", "--serve is for compatible/NAME; a local model brings its command"),
        ("--model compatible/x --base-url http://127.0.0.1:1/v1 --serve {port}",
         "--serve with {port} and --base-url exclude each other; drop one"),
        ("--model compatible/x --model compatible/y",
         "--serve starts the server of one model; run each by itself, or give each its `serve`"),
        ("--model compatible/x --serve no-such-program-{port}",
         "the model's server did not start: /bin/sh: 1: no-such-program-"),
    ],
)  # fmt: skip
def test_a_command_that_cannot_be_is_one_line_and_leaves_nothing(tmp_path, options, reason):
    words = ("--condition", "base", "--serve", "vllm serve x", *options.split())
    said = ask(tmp_path / "run", *words)
    assert said.startswith(f"agent-env: {reason}")
    assert (said.count("\n"), list(tmp_path.iterdir())) == (1, [])


def test_a_folder_from_elsewhere_starts_no_program(copied):
    run = Run.open(copied)
    run.change(
        model="compatible/x", model_parameters={"base_url": "http://127.0.0.1:1/v1"},
        features={"local_models": {"command": "touch owned"}},
    )  # fmt: skip
    next(run.traces()).unlink()
    done = agent_env("resume", str(copied), "--accept-changes")
    assert done.returncode == 2
    assert "it asks for: " in done.stderr
    assert "server touch owned (runs on this machine)" in done.stderr
