"""A file in place of a task, and an address in place of a model."""

import asyncio

import pytest

import agent_env as ae
from agent_env.errors import ConfigError
from agent_env.runs.options.run_options import RunOptions
from agent_env.runs.servers.probe import resolve_models
from tests.models.raw_server import RawServer, reply


@pytest.mark.parametrize(
    ("name", "text", "task"),
    [
        ("q.csv", "question,answer\nWhen?,1815\n", "qa"),
        ("q.jsonl", '{"question": "When?", "answer": "1815"}\n', "qa"),
        ("tp.jsonl", '{"id": "tp-1", "task": "time-puzzles"}\n', "time-puzzles"),
        ("Q.TSV", "question\tanswer\nWhen?\t1815\n", "qa"),
        ("q.json", "[1]", "qa"),
    ],
)
def test_a_file_is_asked_as_the_task_that_it_names_else_as_questions(tmp_path, name, text, task):
    file = tmp_path / name
    file.write_text(text)
    options = RunOptions(str(file))
    assert (options.task, options.dataset) == (task, file)
    assert RunOptions("own.py:FAMILY").dataset is RunOptions("qa").dataset is None


def listed(*names):
    return reply({"object": "list", "data": [{"id": name, "object": "model"} for name in names]})


async def asked(listing, keys=(), more=()):
    """What the address of a server with this list becomes, and the heads of the requests."""
    async with RawServer(listing) as server:
        address = f"{server.url}/chat/completions"
        (name, *_) = await resolve_models([address, *more], keys)
        return name.replace(server.url, "URL"), server.heads


def test_the_address_of_a_server_of_one_model_names_it_and_a_name_is_not_asked_for(monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-planted")
    name, heads = asyncio.run(asked(listed("qwen:7b"), ["MY_KEY"]))
    assert name == "compatible/qwen:7b@URL"
    assert all(b"sk-planted" in head for head in heads)
    _, heads = asyncio.run(asked(listed("qwen:7b"), ["MY_KEY"], ["compatible/other@http://x/v1"]))
    assert not any(b"sk-planted" in head for head in heads)
    with pytest.raises(ConfigError, match=r"serves 2 models \(a, b\); name one: --model compat"):
        asyncio.run(asked(listed("a", "b")))
    names = ["reference", "compatible/x@http://127.0.0.1:9/v1", "file.py:f"]
    assert asyncio.run(resolve_models(names, ())) == names


def right_year(sample, answer):
    return answer in sample.gold


@pytest.mark.parametrize("scorer", [right_year, lambda sample, answer: answer in sample.gold])
def test_from_python_a_file_is_a_task_and_a_function_a_scorer(tmp_path, scorer):
    file = tmp_path / "q.csv"
    file.write_text("prompt,label\nWhen?,1815\n")
    assert ae.task(str(file)).samples()[0].gold == ("1815",)
    run = ae.run_sync(
        str(file), model=lambda messages: "MY ANSWER: 1815", conditions="base",
        scorer=scorer, out=tmp_path / "run", progress=False,
    )  # fmt: skip
    (episode,) = run.episodes()
    assert list(episode.score.values()) == [1.0]
