"""Keys and settings of a model: a key is kept nowhere, and what cannot be is named beforehand."""

import sqlite3

import pytest
import zstandard

from agent_env.errors import ConfigError
from agent_env.runs.options.run_options import RunOptions
from agent_env.runs.scores.score import score_folder
from agent_env.runs.start import Listener, start_run
from tests.cli.test_models_end_to_end import at, run
from tests.models.raw_server import KEY, RawServer, reply
from tests.models.raw_server import events as events_of
from tests.plans import QUIET


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("COMPATIBLE_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "")


ECHOES = {
    "error body": reply({"error": {"message": f"wrong key {KEY}"}}, "401 Unauthorized"),
    "error header": reply({"error": "x"}, "400 Bad Request", headers=f"retry-after: {KEY}\r\n"),
    "page": reply(f"<html>{KEY}</html>", "404 Not Found", kind="text/html"),
    "reason": reply({"error": {"code": KEY, "type": KEY, "param": KEY}}, f"403 {KEY}"),
    "text": reply({"choices": [{"message": {"content": f"MY ANSWER: {KEY}"}}], "model": KEY}),
    "long text": reply({"choices": [{"message": {"content": f"{KEY} {'x' * 9000} {KEY}"}}]}),
    "items": reply({"output": [{"type": "message", KEY: KEY, "content": []}], "model": KEY}),
    "stream": events_of({"choices": [{"delta": {"content": KEY}, "finish_reason": "stop"}]}),
    "event": events_of({"type": "error", "message": KEY, "code": "401"}),
}


@pytest.mark.parametrize(("model", "stream"), [("compatible/m", True), ("openai/m", False)])
@pytest.mark.parametrize("echo", ECHOES)
async def test_a_planted_key_is_in_no_file_and_no_message_whatever_the_server_echoes(
    tmp_path, capfd, echo, stream, model
):
    lines = []
    async with RawServer(ECHOES[echo]) as server:
        asked = RunOptions(
            task="time-puzzles", limit=1, conditions=("base",), model=model,
            limits={"time_s": 0.3}, out=tmp_path / "run", parameters={"stream": stream},
            **at(server.url, model),
        )  # fmt: skip
        run = await start_run(asked, Listener(lines.append, QUIET.begin, QUIET.end))
    ((episode, _),) = score_folder(run, lines.append)
    files = [file for file in (tmp_path / "run").rglob("*") if file.is_file()]
    assert {"run.json", "tp-1-00001.1.jsonl"} <= {file.name for file in files}
    assert [file for file in files if KEY.encode() in file.read_bytes()] == []
    assert [text for text in kept_texts(tmp_path / "run/texts.db") if KEY.encode() in text] == []
    out, err = capfd.readouterr()
    assert KEY not in out + err + "".join(lines) + repr(episode)


def kept_texts(file):
    """The long texts of the traces, which stand compressed in the file."""
    if not file.exists():
        return []
    with sqlite3.connect(file) as db:
        rows = db.execute("SELECT text FROM texts").fetchall()
    return [zstandard.ZstdDecompressor().decompress(packed) for (packed,) in rows]


def test_a_key_among_the_parameters_is_refused_and_not_shown(tmp_path):
    with pytest.raises(ConfigError, match="the parameters hold the key of") as e:
        run(tmp_path / "run", model="compatible/m", base_url="http://127.0.0.1:1/v1",
            parameters={"extra_body": {"key": KEY}})  # fmt: skip
    assert KEY not in str(e.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("model", "parameters", "found"),
    [
        ("openai/m", {"hosted_tools": True, "tool_protocol": "text"}, "exclude each other"),
        ("openai/m", {"seed": 1}, "the Responses API takes no seed; leave --model-seed out"),
        ("compatible/m", {"heat": 1}, "no parameter 'heat'; there are extra_body, max_output"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_made(tmp_path, model, parameters, found):
    where = at("http://127.0.0.1:1/v1", model)
    with pytest.raises(ConfigError, match=found):
        run(tmp_path / "run", model=model, parameters=parameters, **where)
    assert not (tmp_path / "run").exists()
