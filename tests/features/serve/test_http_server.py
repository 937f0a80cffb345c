"""Episodes over HTTP, and the command that serves them."""

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import replace

import httpx
import pytest

from agent_env.episodes.run_folder import EpisodeKey
from agent_env.errors import ConfigError
from agent_env.features.reference.policy import Reference
from agent_env.features.serve.hosting import token_of
from agent_env.features.serve.http_server import EpisodeServer
from agent_env.features.serve.mcp_cli import told
from agent_env.features.serve.served_run import (
    ServedRun,
    open_served_run,
    served_folder,
    served_names,
)
from agent_env.models.chat import chat_message
from agent_env.records.schema import Message, Score, ToolSpec
from agent_env.runs.environment import make_environment, open_environment
from agent_env.runs.options.run_options import ReplayOptions, RunOptions
from agent_env.runs.replay import replay
from agent_env.runs.run import Run
from agent_env.runs.scores.score import read_scores, score_folder

CALL = {
    "id": "c1", "type": "function",
    "function": {"name": "calendars", "arguments": json.dumps(
        {"operation": "describe", "calendar": "hebrew", "date": "2024-01-01"})},
}  # fmt: skip
ASKS = {"message": {"role": "assistant", "content": None, "tool_calls": [CALL]}}
NO_DATE = {"message": {"role": "assistant", "content": "MY ANSWER: None"}}


class Served:
    """What a test needs of a server: a client, and the served_run behind it."""

    def __init__(self, served_run, client):
        self.served_run, self.client = served_run, client

    async def post(self, path, body=None, status=200):
        answer = await self.client.post(path, json={} if body is None else body)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None

    async def get(self, path, status=200):
        answer = await self.client.get(path)
        assert answer.status_code == status, answer.text
        return answer.json()


@asynccontextmanager
async def _server(out, token=None, clock=None, tries=None, shows_metrics=False, **changes):
    options = RunOptions("time-puzzles", conditions=("base", "explicit+cal"), limit=2, out=out)
    folder = await served_folder(replace(options, **changes), lambda text: None)
    async with (
        open_environment(folder, note=lambda text: None) as environment,
        open_served_run(environment, lambda key, score: None, tries) as served_run,
    ):
        if clock is not None:
            served_run = ServedRun(environment, lambda key, score: None, clock)
        port = 8322 if token is None else None
        server = EpisodeServer(served_run, "policy", token, port, shows_metrics=shows_metrics)
        transport = httpx.ASGITransport(server.app())
        base = "http://localhost:8322"
        async with httpx.AsyncClient(transport=transport, base_url=base) as client:
            yield Served(served_run, client)
        await served_run.close()


def _served(out, agent, **how):
    async def main():
        async with _server(out, **how) as served:
            return await agent(served)

    return asyncio.run(main())


def _message(chat):
    calls = [{"id": c["id"], **c["function"]} for c in chat.get("tool_calls") or ()]
    known = {name: chat[name] for name in ("role", "content", "tool_call_id") if chat.get(name)}
    return Message.model_validate(known | {"tool_calls": calls})


async def _reference(turn, talk):
    """What the scripted reference model says to the conversation, as chat completions have it."""
    specs = tuple(ToolSpec.model_validate(tool["function"]) for tool in turn["tools"])
    reply = await Reference().generate(tuple(map(_message, talk)), specs)
    return {"message": chat_message(reply.message)}


def _own(episode, samples):
    """The episode with its sample's id."""
    condition, _, rest = episode.partition("/")
    name, _, repeat = rest.rpartition(".")
    return f"{condition}/{samples[name]}.{repeat}"


async def _drive(served, body):
    turn = await served.post("/episodes", body, 201)
    talk = list(turn["messages"])
    while not turn["done"]:
        reply = await _reference(turn, talk)
        turn = await served.post(f"/episodes/{turn['id']}/step", reply)
        talk += turn["messages"]
    return {**turn, "talk": talk}


def test_episodes_over_http_score_as_those_driven_in_process(tmp_path):
    async def over_http(served):
        tasks = await served.get("/tasks")
        assert tasks["conditions"] == ["base", "explicit+cal"]
        ends = [
            await _drive(served, {"sample": sample, "condition": condition})
            for sample in tasks["samples"]
            for condition in tasks["conditions"]
        ]
        scores = [await served.get(f"/episodes/{end['id']}/score") for end in ends]
        assert [s["reward"] for s in scores] == [end["reward"] for end in ends]
        ids = served_names(served.served_run.environment.folder)
        names = {name: sample for sample, name in ids.items()}
        return {_own(end["episode"], names): (end["reward"], end["stop_reason"]) for end in ends}

    async def in_process():
        options = RunOptions("time-puzzles", conditions=("base", "explicit+cal"), limit=2,
                             out=tmp_path / "ours")  # fmt: skip
        ends = {}
        async with open_environment(await make_environment(options)) as environment:
            for sample in environment.samples:
                for condition in environment.conditions:
                    driven = environment.episode(sample.id, condition.name)
                    turn = await driven.reset()
                    while not turn.done:
                        turn = await driven.step(
                            await Reference().generate(turn.messages, turn.tools)
                        )
                    name = f"{condition.name}/{sample.id}.1"
                    ends[name] = (turn.reward, turn.episode.stop_reason)
        return ends

    served = _served(tmp_path / "run", over_http)
    assert served == asyncio.run(in_process())
    assert {reward for reward, _ in served.values()} >= {1.0}
    run = Run(tmp_path / "run")
    stored = {f"{e.condition}/{e.sample}.{e.repeat}": s.metrics["exact_match"]
              for e, s in score_folder(run, print)}  # fmt: skip
    assert stored == {name: reward for name, (reward, _) in served.items()}
    results = asyncio.run(replay(run, ReplayOptions(), print))
    assert {result.verdict for result in results} == {"same"}


async def test_a_conversation_is_what_all_turns_make_and_a_cut_reply_is_taken_as_such(tmp_path):
    async with _server(tmp_path / "run") as served:
        body = {"sample": served.served_run.samples[0], "condition": "explicit+cal"}
        turn = await served.post("/episodes", body, 201)
        place = f"/episodes/{turn['id']}"
        usage = {"prompt_tokens": 9, "completion_tokens": 4}
        first = await served.post(f"{place}/step", {**ASKS, "usage": usage})
        talk, state = turn["messages"] + first["messages"], await served.get(place)
    assert [message["role"] for message in talk] == ["user", "assistant", "tool"]
    assert talk[1]["tool_calls"] == [CALL]
    assert state["messages"] == talk
    assert (state["steps"], state["done"], state["reward"]) == (1, False, None)
    async with _server(tmp_path / "run1") as served:
        reasons = []
        for finish in ("length", "content_filter"):
            turn = await served.post("/episodes", {"condition": "base"}, 201)
            body = {**NO_DATE, "finish_reason": finish}
            reasons.append((await served.post(f"/episodes/{turn['id']}/step", body))["stop_reason"])
        assert reasons == ["truncated", "refused"]


async def test_pending_episodes_are_handed_out_and_tries_told(tmp_path):
    async with _server(tmp_path / "run") as served:
        sample = served.served_run.samples[0]
        named = await served.post("/episodes", {"sample": sample}, 201)
        names = [named["episode"]]
        for _ in range(3):
            names.append((await served.post("/episodes", {}, 201))["episode"])
        assert await served.post("/episodes", {}, 204) is None
        again = await served.post("/episodes", {"seed": 2}, 201)
        names = [*names, again["episode"]]
    assert len(set(names)) == 5
    assert names[0].endswith(".1")
    assert names[4] == names[0].replace(".1", ".2")  # two samples: seed 2 is the first of them
    async with _server(tmp_path / "run1") as served:
        for _ in range(3):
            body = {"sample": served.served_run.samples[0], "condition": "base"}
            turn = await served.post("/episodes", body, 201)
            await served.post(f"/episodes/{turn['id']}/step", NO_DATE)
    scores = read_scores(Run(tmp_path / "run1"), None, print)
    notes = scores.tables()[0].notes
    assert "base: up to 3 tries at a sample, where the run asks 1" in notes
    assert scores.as_json(with_changes=False)["tries"] == {"base": 3}


async def test_what_the_agent_does_wrong_is_told_with_a_status(tmp_path):
    async with _server(tmp_path / "run") as served:
        turn = await served.post("/episodes", {"condition": "base"}, 201)
        place = f"/episodes/{turn['id']}"
        wrong = [
            await served.client.get(f"{place}/score"),
            await served.client.post("/episodes/abc/step", json=NO_DATE),
            await served.client.post("/episodes", json={"sample": "x"}),
            await served.client.post("/episodes", json={"condition": "x"}),
            await served.client.post("/episodes", json={"sampel": "x"}),
            await served.client.post(f"{place}/step", json={**NO_DATE, "number": 2}),
            await served.client.post(f"{place}/step", content=b"{}"),
            await served.client.post(f"{place}/step", json={"message": {"role": "user"}}),
            await served.client.get("/runs"),
            await served.client.get("/tasks", headers={"host": "puzzles.example"}),
        ]
        await served.post(f"{place}/step", NO_DATE)
        wrong.append(await served.client.post(f"{place}/step", json=NO_DATE))
        wrong.append(await served.client.post("/episodes", json={
            "sample": turn["episode"].split("/")[1].rpartition(".")[0], "repeat": 1}))  # fmt: skip
        assert turn["id"] not in served.served_run.handles
        told = [(each.status_code, each.json()["error"]["message"]) for each in wrong]
    assert [status for status, _ in told] == [
        409, 404, 404, 404, 400, 409, 415, 400, 404, 421, 409, 409,
    ]  # fmt: skip
    assert told[2][1].startswith("there is no sample 'x' here; POST /episodes begins one")
    assert told[4][1].startswith("unknown field 'sampel'; known fields: sample")
    assert "step 2 of" in told[5][1]
    assert "is over (answered)" in told[10][1]


async def test_nobody_without_the_token_and_no_web_page_is_served(tmp_path):
    async with _server(tmp_path / "run", token="secret") as served:
        heads = [{}, {"authorization": "Bearer x"}, {
            "authorization": "Bearer secret", "host": "puzzles.example"}]  # fmt: skip
        got = [await served.client.get("/tasks", headers=head) for head in heads]
        assert [each.status_code for each in got] + [
            (await served.client.get("/health")).status_code
        ] == [401, 401, 200, 200]
    async with _server(tmp_path / "run1") as served:
        page = {"origin": "http://example.org", "content-type": "text/plain"}
        answer = await served.client.post("/episodes", content=b"", headers=page)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "web_page")
        for headers in ({}, {"content-type": "text/plain"}):  # what a form of a web page can send
            answer = await served.client.post("/episodes", content=b"", headers=headers)
            assert (answer.status_code, answer.json()["error"]["code"]) == (415, "no_json")
        assert served.served_run.handles == ()
        first = (await served.get("/tasks"))["samples"][0]
        error = await served.post("/episodes", {"sample": first, "repeat": 10**300}, 400)
        assert "repeat: Input should be less than or equal to 100000" in error["error"]["message"]
        turn = await served.post("/episodes", {"sample": first}, 201)
        assert len(bytes.fromhex(turn["id"])) == 8


def test_an_idle_episode_and_one_given_up_end_as_failed(tmp_path):
    now = [0.0]

    async def agent(served):
        idle = await served.post("/episodes", {}, 201)
        now[0] = 500.0
        left = await served.post("/episodes", {}, 201)
        now[0] = 1000.0
        await served.served_run.give_up_idle(900)
        ended = await served.get(f"/episodes/{idle['id']}/score")
        gone = await served.client.delete(f"/episodes/{left['id']}")
        return [ended, gone.json(), served.served_run.handles]

    idle, left, handles = _served(tmp_path / "run", agent, clock=lambda: now[0])
    assert idle["failure"] == "EpisodeError: idle: no step came for 900 s"
    assert left["failure"] == "EpisodeError: given up by the agent"
    assert (idle["reward"], left["reward"], handles) == (None, None, ())
    failures = [episode.failure for episode, _ in score_folder(Run(tmp_path / "run"), print)]
    assert failures == [idle["failure"], left["failure"]]


def test_the_user_is_told_of_an_episode_without_a_score(capsys):
    failed = Score(sample="a", condition="base", repeat=1, outcome="failed")
    told(EpisodeKey("a", "base", 1), failed)
    right = failed.model_copy(update={"outcome": "read", "metrics": {"exact_match": 1.0}})
    told(EpisodeKey("a", "base", 1), right)
    assert capsys.readouterr().err.splitlines() == [
        "base/a.1: failed", "base/a.1: exact_match 1"
    ]  # fmt: skip


async def test_fifty_agents_lose_nothing_and_what_is_held_is_bounded(tmp_path, monkeypatch):
    async def one(served):
        turn = await served.post("/episodes", {"seed": 0, "condition": "explicit+cal"}, 201)
        await served.post(f"/episodes/{turn['id']}/step", ASKS)
        end = await served.post(f"/episodes/{turn['id']}/step", NO_DATE)
        assert end["done"]
        return str(turn["episode"])

    async with _server(tmp_path / "run") as served:
        names = await asyncio.gather(*(one(served) for _ in range(50)))
    assert len(set(names)) == 50
    scored = score_folder(Run(tmp_path / "run"), print)
    calls = [sum(len(m.tool_calls) for m in episode.messages) for episode, _ in scored]
    assert calls == [1] * 50
    # 40 of them with four replies of 7 MB took more than a gigabyte.
    monkeypatch.setattr("agent_env.features.serve.served_run.MOST_HELD", 30_000)
    call = {"id": "c", "function": {"name": "none", "arguments": "{}"}}
    reply = {"message": {"content": "x" * 9_000, "tool_calls": [call]}}
    async with _server(tmp_path / "run1", repeats=2) as served:
        turns = [await served.post("/episodes", {}, 201) for _ in range(2)]
        first, second = (f"/episodes/{turn['id']}/step" for turn in turns)
        for _ in range(2):
            await served.post(first, reply)
        await served.post(second, reply)
        error = await served.post(second, reply, 429)
        assert "hold 30,000 letters" in error["error"]["message"]
        await served.post(first, NO_DATE)  # a short one still fits, and ends it
        await served.post(second, reply)


def test_the_step_of_a_client_that_has_gone_is_recorded_and_goes_on_in_a_later_server(
    tmp_path, monkeypatch
):
    async def leaves(served):
        turn = await served.post("/episodes", {"condition": "explicit+cal"}, 201)
        opened, is_due = served.served_run.opened(turn["id"]), asyncio.Event()
        made = served.served_run.step

        async def step(*words):
            asyncio.get_running_loop().call_soon(is_due.set)
            return await made(*words)

        monkeypatch.setattr(served.served_run, "step", step)
        request = asyncio.ensure_future(served.post(f"/episodes/{turn['id']}/step", ASKS))
        await is_due.wait()
        request.cancel()
        await asyncio.gather(request, return_exceptions=True)
        async with opened.lock:  # the step has it to its end
            assert opened.steps == 1
        return str(turn["episode"])

    async def goes_on(served):
        turn = await served.post("/episodes", {"condition": "explicit+cal"}, 201)
        roles = [message["role"] for message in turn["messages"]]
        return turn["episode"], roles, turn["steps"]

    first = _served(tmp_path / "run", leaves)
    again, roles, steps = _served(tmp_path / "run", goes_on)
    assert again == first
    assert (roles[-2:], steps) == (["assistant", "tool"], 1)


async def test_no_gold_answer_leaves_the_server(tmp_path):
    async with _server(tmp_path / "run") as served:
        texts = [(await served.client.get(path)).text for path in ("/tasks", "/openapi.json")]
        for condition in ("base", "explicit+cal"):
            began = await served.client.post("/episodes", json={"condition": condition})
            place = f"/episodes/{began.json()['id']}"
            texts += [began.text, (await served.client.get(place)).text]
            texts.append((await served.client.post(f"{place}/step", json=NO_DATE)).text)
            texts.append((await served.client.get(f"{place}/score")).text)
        gold = [date for sample in served.served_run.environment.samples for date in sample.gold]
        texts, gold = "".join(texts), gold
    assert gold
    assert [date for date in gold if date in texts] == []


def test_no_figure_and_no_id_that_gives_gold_away_is_served(tmp_path):
    """`days_off` of a wrong date gave the right one away."""

    async def agent(served):
        turn = await served.post("/episodes", {"condition": "base"}, 201)
        wrong = {"message": {"role": "assistant", "content": "MY ANSWER: 1900-01-01"}}
        end = await served.post(f"/episodes/{turn['id']}/step", wrong)
        assert [key for key, value in end.items() if isinstance(value, float)] == ["reward"]
        return dict(await served.get(f"/episodes/{turn['id']}/score"))

    plain = _served(tmp_path / "run", agent)
    assert set(plain) == {"id", "episode", "reward", "stop_reason", "failure"}
    assert (plain["reward"], plain["stop_reason"]) == (0.0, "answered")
    shown = _served(tmp_path / "shown", agent, shows_metrics=True)
    assert set(shown) - set(plain) == {"metrics", "answer"}
    assert "days_off" in shown["metrics"]

    async def agent(served):
        texts = [(await served.client.get(path)).text for path in ("/tasks", "/openapi.json")]
        name = served.served_run.samples[0]
        began = await served.client.post("/episodes", json={"sample": name})
        place = f"/episodes/{began.json()['id']}"
        repeat = int(began.json()["episode"].rpartition(".")[2])
        texts += [began.text, (await served.client.get(place)).text]
        again = {"sample": name, "repeat": repeat}
        texts.append((await served.client.post("/episodes", json=again)).text)
        texts.append((await served.client.post("/episodes", json={"sample": "tp-1-00001"})).text)
        texts.append((await served.client.post(f"{place}/step", json=NO_DATE)).text)
        texts.append((await served.client.get(f"{place}/score")).text)
        assert texts.pop(5) == (
            '{"error": {"code": "unknown", "message": "there is no sample \'tp-1-00001\' here; '
            'POST /episodes begins one; GET /tasks lists what there is"}}'
        )
        return list(served.served_run.samples), texts

    names, texts = _served(tmp_path / "run1", agent)
    assert [name for name in names if len(name) != 16] == []
    assert "tp-1" not in "".join(texts)
    assert _served(tmp_path / "run1", agent)[0] == names
    assert set(_served(tmp_path / "other", agent)[0]).isdisjoint(names)


def test_tries_at_a_sample_are_counted_over_conditions_and_servers(tmp_path):
    async def agent(served):
        name = served.served_run.samples[0]
        for condition in ("base", "explicit+cal"):
            turn = await served.post("/episodes", {"sample": name, "condition": condition}, 201)
            await served.post(f"/episodes/{turn['id']}/step", NO_DATE)
        error = await served.post("/episodes", {"sample": name}, 409)
        assert "has had its 2 tries" in error["error"]["message"]

    async def later(served):
        error = await served.post("/episodes", {"seed": 0}, 409)
        assert "has had its 2 tries" in error["error"]["message"]
        turns = [await served.post("/episodes", {}, 201) for _ in range(2)]
        await served.post("/episodes", {}, 204)
        return [turn["episode"].split("/")[1].rpartition(".")[0] for turn in turns]

    _served(tmp_path / "run", agent, tries=2, repeats=2)
    second = _served(tmp_path / "run", later, tries=2)
    assert len(set(second)) == 1  # of four episodes of it that are pending


def test_tokens_are_made_taken_or_none_on_loopback_alone(monkeypatch):
    tokens = {token_of(host, None, False) for host in ("127.0.0.1", "0.0.0.0", "localhost")}
    assert [len(token or "") for token in tokens] == [32, 32, 32]
    monkeypatch.setenv("SERVE_TOKEN", " abc \n")
    assert token_of("127.0.0.1", "SERVE_TOKEN", False) == "abc"
    monkeypatch.setenv("SERVE_TOKEN", " ")
    with pytest.raises(ConfigError, match="the variable holds no token"):
        token_of("127.0.0.1", "SERVE_TOKEN", False)
    assert token_of("localhost", None, True) is None
