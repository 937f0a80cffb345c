"""Episodes over HTTP, and the command that serves them."""

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import product

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

HEBREW = {"operation": "describe", "calendar": "hebrew", "date": "2024-01-01"}
CALL = {"id": "c1", "type": "function",
        "function": {"name": "calendars", "arguments": json.dumps(HEBREW)}}  # fmt: skip


def _said(content, **more):
    return {"message": {"role": "assistant", "content": content, **more}}


ASKS, NO_DATE = _said(None, tool_calls=[CALL]), _said("MY ANSWER: None")


class Served:
    """What a test needs of a server: a client, and the served_run behind it."""

    def __init__(self, served_run, client):
        self.served_run, self.client = served_run, client

    async def ask(self, method, path, status=200, **how):
        answer = await self.client.request(method, path, **how)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None

    async def post(self, path, body=None, status=200):
        return await self.ask("POST", path, status, json={} if body is None else body)

    async def get(self, path, status=200):
        return await self.ask("GET", path, status)

    async def begin(self, **body):
        """The first turn of an episode, and its address."""
        turn = await self.post("/episodes", body, 201)
        return turn, f"/episodes/{turn['id']}"

    async def step(self, place, body=NO_DATE, status=200):
        return await self.post(f"{place}/step", body, status)


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


def _message(chat):
    calls = [{"id": c["id"], **c["function"]} for c in chat.get("tool_calls") or ()]
    known = {name: chat[name] for name in ("role", "content", "tool_call_id") if chat.get(name)}
    return Message.model_validate(known | {"tool_calls": calls})


async def test_episodes_over_http_score_as_those_driven_in_process(tmp_path):
    over_http, in_process = {}, {}
    async with _server(tmp_path / "run") as served:
        tasks = await served.get("/tasks")
        assert tasks["conditions"] == ["base", "explicit+cal"]
        ids = served_names(served.served_run.environment.folder)
        names = {name: sample for sample, name in ids.items()}
        for sample, condition in product(tasks["samples"], tasks["conditions"]):
            turn, place = await served.begin(sample=sample, condition=condition)
            talk = list(turn["messages"])
            while not turn["done"]:
                specs = [ToolSpec.model_validate(tool["function"]) for tool in turn["tools"]]
                reply = await Reference().generate(tuple(map(_message, talk)), specs)
                turn = await served.step(place, {"message": chat_message(reply.message)})
                talk += turn["messages"]
            assert (await served.get(f"{place}/score"))["reward"] == turn["reward"]
            assert turn["episode"] == f"{condition}/{sample}.1"
            name = f"{condition}/{names[sample]}.1"
            over_http[name] = (turn["reward"], turn["stop_reason"])
    options = RunOptions("time-puzzles", conditions=("base", "explicit+cal"), limit=2,
                         out=tmp_path / "ours")  # fmt: skip
    async with open_environment(await make_environment(options)) as environment:
        for sample, condition in product(environment.samples, environment.conditions):
            driven = environment.episode(sample.id, condition.name)
            turn = await driven.reset()
            while not turn.done:
                turn = await driven.step(await Reference().generate(turn.messages, turn.tools))
            name = f"{condition.name}/{sample.id}.1"
            in_process[name] = (turn.reward, turn.episode.stop_reason)
    assert over_http == in_process
    assert {reward for reward, _ in over_http.values()} >= {1.0}
    run = Run(tmp_path / "run")
    stored = {f"{e.condition}/{e.sample}.{e.repeat}": s.metrics["exact_match"]
              for e, s in score_folder(run, print)}  # fmt: skip
    assert stored == {name: reward for name, (reward, _) in over_http.items()}
    assert {result.verdict for result in await replay(run, ReplayOptions(), print)} == {"same"}


async def test_a_conversation_is_what_all_turns_make_and_a_cut_reply_is_taken_as_such(tmp_path):
    async with _server(tmp_path / "run") as served:
        sample = served.served_run.samples[0]
        turn, place = await served.begin(sample=sample, condition="explicit+cal")
        usage = {"prompt_tokens": 9, "completion_tokens": 4}
        first = await served.step(place, {**ASKS, "usage": usage})
        talk, state = turn["messages"] + first["messages"], await served.get(place)
    assert [message["role"] for message in talk] == ["user", "assistant", "tool"]
    assert (talk[1]["tool_calls"], state["messages"]) == ([CALL], talk)
    assert (state["steps"], state["done"], state["reward"]) == (1, False, None)
    async with _server(tmp_path / "run1") as served:
        for finish, reason in (("length", "truncated"), ("content_filter", "refused")):
            _, place = await served.begin(condition="base")
            end = await served.step(place, {**NO_DATE, "finish_reason": finish})
            assert end["stop_reason"] == reason


async def test_pending_episodes_are_handed_out_and_tries_told(tmp_path):
    async with _server(tmp_path / "run") as served:
        turns = [await served.begin(sample=served.served_run.samples[0])]
        turns += [await served.begin() for _ in range(3)]
        assert await served.post("/episodes", {}, 204) is None
        turns.append(await served.begin(seed=2))
        names = [turn["episode"] for turn, _ in turns]
    assert len(set(names)) == 5
    assert names[0].endswith(".1")
    assert names[4] == names[0].replace(".1", ".2")  # two samples: seed 2 is the first of them
    async with _server(tmp_path / "run1") as served:
        for _ in range(3):
            _, place = await served.begin(sample=served.served_run.samples[0], condition="base")
            await served.step(place)
    scores = read_scores(Run(tmp_path / "run1"), None, print)
    assert "base: up to 3 tries at a sample, where the run asks 1" in scores.tables()[0].notes
    assert scores.as_json(with_changes=False)["tries"] == {"base": 3}


async def test_what_the_agent_does_wrong_is_told_with_a_status(tmp_path):
    async with _server(tmp_path / "run") as served:
        turn, place = await served.begin(condition="base")
        again = {"sample": turn["episode"].split("/")[1].rpartition(".")[0], "repeat": 1}
        step, told = f"{place}/step", []
        for method, path, status, how in (
            ("GET", f"{place}/score", 409, {}),
            ("POST", "/episodes/abc/step", 404, {"json": NO_DATE}),
            ("POST", "/episodes", 404, {"json": {"sample": "x"}}),
            ("POST", "/episodes", 404, {"json": {"condition": "x"}}),
            ("POST", "/episodes", 400, {"json": {"sampel": "x"}}),
            ("POST", step, 409, {"json": {**NO_DATE, "number": 2}}),
            ("POST", step, 415, {"content": b"{}"}),
            ("POST", step, 400, {"json": {"message": {"role": "user"}}}),
            ("GET", "/runs", 404, {}),
            ("GET", "/tasks", 421, {"headers": {"host": "puzzles.example"}}),
            ("POST", step, 200, {"json": NO_DATE}),
            ("POST", step, 409, {"json": NO_DATE}),
            ("POST", "/episodes", 409, {"json": again}),
        ):
            told.append((await served.ask(method, path, status, **how)).get("error"))
        assert turn["id"] not in served.served_run.handles
    assert all(each["message"] for at, each in enumerate(told) if at != 10)
    assert told[2]["message"].startswith("there is no sample 'x' here; POST /episodes begins one")
    assert told[4]["message"].startswith("unknown field 'sampel'; known fields: sample")
    assert "step 2 of" in told[5]["message"]
    assert "is over (answered)" in told[11]["message"]


async def test_nobody_without_the_token_and_no_web_page_is_served(tmp_path):
    async with _server(tmp_path / "run", token="secret") as served:
        for path, status, head in (
            ("/tasks", 401, {}),
            ("/tasks", 401, {"authorization": "Bearer x"}),
            ("/tasks", 200, {"authorization": "Bearer secret", "host": "puzzles.example"}),
            ("/health", 200, {}),
        ):
            await served.ask("GET", path, status, headers=head)
    async with _server(tmp_path / "run1") as served:
        page = {"origin": "http://example.org", "content-type": "text/plain"}
        for headers, status, code in (
            (page, 403, "web_page"),
            ({}, 415, "no_json"),  # what a form of a web page can send
            ({"content-type": "text/plain"}, 415, "no_json"),
        ):
            told = await served.ask("POST", "/episodes", status, content=b"", headers=headers)
            assert told["error"]["code"] == code
        assert served.served_run.handles == ()
        first = (await served.get("/tasks"))["samples"][0]
        error = await served.post("/episodes", {"sample": first, "repeat": 10**300}, 400)
        assert "repeat: Input should be less than or equal to 100000" in error["error"]["message"]
        turn, _ = await served.begin(sample=first)
        assert len(bytes.fromhex(turn["id"])) == 8


async def test_an_idle_episode_and_one_given_up_end_as_failed(tmp_path):
    now = [0.0]
    async with _server(tmp_path / "run", clock=lambda: now[0]) as served:
        _, idle = await served.begin()
        now[0] = 500.0
        _, left = await served.begin()
        now[0] = 1000.0
        await served.served_run.give_up_idle(900)
        ends = [await served.get(f"{idle}/score"), await served.ask("DELETE", left)]
        assert served.served_run.handles == ()
    told = ["EpisodeError: idle: no step came for 900 s", "EpisodeError: given up by the agent"]
    assert [(end["failure"], end["reward"]) for end in ends] == [(each, None) for each in told]
    assert [e.failure for e, _ in score_folder(Run(tmp_path / "run"), print)] == told


def test_the_user_is_told_of_an_episode_without_a_score(capsys):
    failed = Score(sample="a", condition="base", repeat=1, outcome="failed")
    told(EpisodeKey("a", "base", 1), failed)
    right = failed.model_copy(update={"outcome": "read", "metrics": {"exact_match": 1.0}})
    told(EpisodeKey("a", "base", 1), right)
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["base/a.1: failed", "base/a.1: exact_match 1"]


async def test_fifty_agents_lose_nothing_and_what_is_held_is_bounded(tmp_path, monkeypatch):
    async def one(served):
        turn, place = await served.begin(seed=0, condition="explicit+cal")
        await served.step(place, ASKS)
        assert (await served.step(place))["done"]
        return turn["episode"]

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
        first, second = [(await served.begin())[1] for _ in range(2)]
        for place in (first, first, second):
            await served.step(place, reply)
        error = await served.step(second, reply, 429)
        assert "hold 30,000 letters" in error["error"]["message"]
        await served.step(first)  # a short one still fits, and ends it
        await served.step(second, reply)


async def test_the_step_of_a_client_that_has_gone_is_recorded_and_goes_on_in_a_later_server(
    tmp_path, monkeypatch
):
    async with _server(tmp_path / "run") as served:
        first, place = await served.begin(condition="explicit+cal")
        opened, is_due = served.served_run.opened(first["id"]), asyncio.Event()
        made = served.served_run.step

        async def step(*words):
            asyncio.get_running_loop().call_soon(is_due.set)
            return await made(*words)

        monkeypatch.setattr(served.served_run, "step", step)
        request = asyncio.ensure_future(served.step(place, ASKS))
        await is_due.wait()
        request.cancel()
        await asyncio.gather(request, return_exceptions=True)
        async with opened.lock:  # the step has it to its end
            assert opened.steps == 1
    async with _server(tmp_path / "run") as served:
        again, _ = await served.begin(condition="explicit+cal")
    roles = [message["role"] for message in again["messages"]]
    assert (again["episode"], again["steps"]) == (first["episode"], 1)
    assert roles[-2:] == ["assistant", "tool"]


async def test_no_gold_no_figure_and_no_id_that_gives_it_away_is_served(tmp_path):
    """`days_off` of a wrong date gave the right one away."""
    scores = []
    for name, shows in (("run", False), ("shown", True)):
        async with _server(tmp_path / name, shows_metrics=shows) as served:
            _, place = await served.begin(condition="base")
            end = await served.step(place, _said("MY ANSWER: 1900-01-01"))
            assert [key for key, value in end.items() if isinstance(value, float)] == ["reward"]
            scores.append(await served.get(f"{place}/score"))
    plain, shown = scores
    assert set(plain) == {"id", "episode", "reward", "stop_reason", "failure"}
    assert (plain["reward"], plain["stop_reason"]) == (0.0, "answered")
    assert set(shown) - set(plain) == {"metrics", "answer"}
    assert "days_off" in shown["metrics"]

    async def names_of(out):
        async with _server(out) as served:
            names, texts = list(served.served_run.samples), []

            async def ask(method, path, **how):
                answer = await served.client.request(method, path, **how)
                texts.append(answer.text)
                return answer

            for path in ("/tasks", "/openapi.json"):
                await ask("GET", path)
            for condition in ("base", "explicit+cal"):
                new = {"sample": names[0], "condition": condition}
                began = (await ask("POST", "/episodes", json=new)).json()
                place = f"/episodes/{began['id']}"
                await ask("GET", place)
                again = {"sample": names[0], "repeat": int(began["episode"].rpartition(".")[2])}
                await ask("POST", "/episodes", json=again)
                await ask("POST", f"{place}/step", json=NO_DATE)
                await ask("GET", f"{place}/score")
            unknown = await served.client.post("/episodes", json={"sample": "tp-1-00001"})
            gold = [date for each in served.served_run.environment.samples for date in each.gold]
        assert unknown.text == (
            '{"error": {"code": "unknown", "message": "there is no sample \'tp-1-00001\' here; '
            'POST /episodes begins one; GET /tasks lists what there is"}}'
        )
        assert gold
        assert [secret for secret in ["tp-1", *gold] if secret in "".join(texts)] == []
        return names

    names = await names_of(tmp_path / "run1")
    assert [name for name in names if len(name) != 16] == []
    assert await names_of(tmp_path / "run1") == names
    assert set(await names_of(tmp_path / "other")).isdisjoint(names)


async def test_tries_at_a_sample_are_counted_over_conditions_and_servers(tmp_path):
    async with _server(tmp_path / "run", tries=2, repeats=2) as served:
        name = served.served_run.samples[0]
        for condition in ("base", "explicit+cal"):
            _, place = await served.begin(sample=name, condition=condition)
            await served.step(place)
        errors = [await served.post("/episodes", {"sample": name}, 409)]
    async with _server(tmp_path / "run", tries=2) as served:
        errors.append(await served.post("/episodes", {"seed": 0}, 409))
        turns = [(await served.begin())[0] for _ in range(2)]
        await served.post("/episodes", {}, 204)
    assert all("has had its 2 tries" in each["error"]["message"] for each in errors)
    second = {turn["episode"].split("/")[1].rpartition(".")[0] for turn in turns}
    assert len(second) == 1  # of four episodes of it that are pending


def test_tokens_are_made_taken_or_none_on_loopback_alone(monkeypatch):
    tokens = {token_of(host, None, False) for host in ("127.0.0.1", "0.0.0.0", "localhost")}
    assert [len(token or "") for token in tokens] == [32, 32, 32]
    monkeypatch.setenv("SERVE_TOKEN", " abc \n")
    assert token_of("127.0.0.1", "SERVE_TOKEN", False) == "abc"
    monkeypatch.setenv("SERVE_TOKEN", " ")
    with pytest.raises(ConfigError, match="the variable holds no token"):
        token_of("127.0.0.1", "SERVE_TOKEN", False)
    assert token_of("localhost", None, True) is None
