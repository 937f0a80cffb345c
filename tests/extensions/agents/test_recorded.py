"""What agents that are started by hand ask is recorded, and becomes a run."""

import asyncio

import openai
import pytest

from agent_env.errors import DatasetError, ModelError
from agent_env.extensions.agents.proxy import Proxy
from agent_env.extensions.agents.recorded import FILE, RecordingDesk, read, takes
from agent_env.extensions.serve.hosting import listening, serve_app
from tests.commands import agent_env
from tests.extensions.agents.test_desk import Model
from tests.extensions.agents.test_proxy import END, SAID

TURNS = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "When?"}]


def record(folder, *replies):
    """A conversation with a tool call of the agent's own, asked twice over."""

    async def main():
        folder.mkdir(exist_ok=True)
        stop = asyncio.Event()
        with (folder / FILE).open("a") as file, listening(0) as listener:
            app = Proxy(RecordingDesk(Model(*replies), file), "small", "t0ken", None)
            serving = asyncio.create_task(serve_app(app, listener, stop))
            url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
            async with openai.AsyncOpenAI(base_url=url, api_key="t0ken", max_retries=0) as client:
                ask = client.chat.completions
                said = (await ask.create(model="x", messages=TURNS)).choices[0].message
                more = [{**said.model_dump(exclude_none=True), "content": said.content},
                        {"role": "tool", "tool_call_id": "c1", "content": "1982"}]  # fmt: skip
                await ask.create(model="x", messages=TURNS + more)
                with pytest.raises(openai.APIStatusError):
                    await ask.create(model="x", messages=TURNS)
            stop.set()
            await serving

    asyncio.run(main())


def test_conversations_are_told_apart_and_what_failed_is_said(tmp_path):
    record(tmp_path / "calls", SAID, END, ModelError("down"))
    (log,) = read(tmp_path / "calls", True)
    first, second = log.episodes
    assert (log.source, log.model, log.task) == ("agent-env proxy", "m", "calls")
    assert (first.repeat, second.repeat) == (1, 2)
    assert first.sample == second.sample
    roles = [message.role for message in first.transcript.messages]
    assert roles == ["system", "user", "assistant", "tool", "assistant"]
    assert first.transcript.messages[2] == SAID
    assert first.used == {"steps": 2}
    assert (first.failure, second.failure) == (None, "down")


def test_it_becomes_a_run_that_can_be_read(tmp_path):
    record(tmp_path / "calls", SAID, END, ModelError("down"))
    out = tmp_path / "run"
    done = agent_env("episodes", "import", str(tmp_path / "calls"), "--out", str(out))
    assert done.returncode == 0, done.stderr
    shown = agent_env("show", str(out))
    assert shown.returncode == 1  # one of them failed
    assert "failed 1 times: agent-env: down" in shown.stderr
    assert "nothing was scored here" in shown.stderr


def test_only_its_own_file_is_taken_and_a_broken_line_is_named(tmp_path):
    other, own = tmp_path / "other.jsonl", tmp_path / FILE
    other.write_text("{}")
    assert not takes(other)
    assert not takes(tmp_path)
    own.write_text('{"conversation": 3}\n')
    assert takes(own)
    assert takes(tmp_path)
    with pytest.raises(DatasetError, match="is no call that the proxy recorded"):
        read(own, True)
