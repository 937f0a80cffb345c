"""A run by batch: the same episodes as live, whatever becomes of its batches."""

import asyncio
import json
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from agent_env.episodes.run_folder import RunFolder
from agent_env.episodes.trace.fold import fold
from agent_env.episodes.trace.lines import read_trace
from agent_env.errors import BatchWait, DatasetError
from agent_env.features.batch import apis
from agent_env.features.batch import runner as orchestrator
from agent_env.features.batch import waves as waves_module
from agent_env.features.batch.apis import AnthropicBatches, BatchResult, BatchState, GeminiBatches
from agent_env.features.batch.waves import Waves
from agent_env.features.reference.policy import Reference
from agent_env.records.trace_events import EpisodeResumed, ModelCalled
from agent_env.runs.run import Run
from agent_env.wiring.trust import own_call
from tests.commands import agent_env, serving, typed
from tests.fake_server import Refusal
from tests.fake_server.policies import model_policy
from tests.features.batch.batch_server import BatchServer
from tests.features.batch.gemini_batches import GeminiBatchServer
from tests.features.batch.message_batches import MessageBatchServer

APIS = {
    "chat": (BatchServer, "compatible/x"),
    "responses": (BatchServer, "openai/gpt-5-mini"),
    "messages": (MessageBatchServer, "anthropic/claude-opus-5"),
    "gemini": (GeminiBatchServer, "google/gemini-3-pro-preview"),
}
PRICES = """
[models."{model}"]
input_per_million = 2.0
cached_input_per_million = 0.2
cache_write_per_million = 2.5
output_per_million = 8.0
date = 2026-01-31
source = "made up"
[models."{model}".tiers.batch]
input_per_million = 1.0
cached_input_per_million = 0.1
cache_write_per_million = 1.25
output_per_million = 4.0
"""
BATCHES = pytest.mark.parametrize("api", ["chat", "messages", "gemini"])
NEW = pytest.mark.parametrize("api", ["messages", "gemini"])


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(orchestrator, "FIRST_POLL_S", 0.001)
    monkeypatch.setattr(waves_module, "LISTED_S", 0.0)


@pytest.fixture
def api():
    """Unless a test names another."""
    return "chat"


@pytest.fixture
def server(api, monkeypatch):
    with served(api, monkeypatch) as made:
        yield made


@contextmanager
def served(api, monkeypatch, policy=None):
    kind, model = APIS[api]
    mode = "gemini" if api == "gemini" else "lenient"
    made = kind(policy or model_policy(Reference()), mode=mode)
    with serving(made):
        root = made.url.removesuffix("/v1")
        made.named = f"{model}@{made.url}" if api == "chat" else model
        urls = {"OPENAI": made.url, "ANTHROPIC": root, "GEMINI": f"{root}/v1beta"}
        made.keys = {f"{name}_API_KEY": "k" for name in urls}
        for name, url in urls.items():
            monkeypatch.setenv(f"{name}_BASE_URL", url)
        yield made


def run(server, out, *more, condition="web", number=3):
    return agent_env(
        "run", "time-puzzles", "--limit", str(number), "--condition", condition, "--no-preflight",
        "--model", server.named, "--out", str(out), *more, env=server.keys,
    )  # fmt: skip


def traces(out):
    return [read_trace(file) for file in sorted(RunFolder(out).traces())]


def model_calls(out):
    return [e for trace in traces(out) for e in trace if isinstance(e, ModelCalled)]


def said(out):
    """Each episode's end and texts; ids of calls are the server's own."""
    told = []
    for events in traces(out):
        replies = [e.reply.message for e in events if isinstance(e, ModelCalled) and e.reply]
        texts = [(m.content, [(c.name, c.arguments) for c in m.tool_calls]) for m in replies]
        kinds = [events[0].sample, *(type(e).__name__ for e in events)]
        told.append((kinds, texts, events[-1].answer))
    return told


def cost(out):
    facts = RunFolder(out).manifest.model_facts
    return sum(fold(events).paid.cost_usd(facts) for events in traces(out))


@pytest.mark.parametrize(
    ("api", "condition"), [*((api, "web") for api in APIS), ("chat", "python")]
)
def test_episodes_are_those_of_a_live_run_at_the_price_of_a_batch(
    api, condition, tmp_path, monkeypatch
):
    (tmp_path / "prices.toml").write_text(PRICES.format(model=APIS[api][1]))
    more = ("--prices", str(tmp_path / "prices.toml"), "--run-cost-usd", "1", "--concurrency", "1")
    live, batch = tmp_path / "live", tmp_path / "batch"
    with served(api, monkeypatch) as server:
        assert run(server, live, *more, condition=condition).returncode == 0
    with served(api, monkeypatch) as server:  # whose cache holds nothing
        done = run(server, batch, *more, "--batch", condition=condition)
        assert done.returncode == 0, done.stderr
        assert agent_env("replay", str(batch), env=server.keys).returncode == 0
    assert said(batch) == said(live)
    assert (batch / "scores.jsonl").read_bytes() == (live / "scores.jsonl").read_bytes()
    calls = model_calls(batch)
    assert len(server.asked) == len(set(server.asked)) == len(calls)
    assert len(server.batches) == max(len(texts) for _, texts, _ in said(batch))
    assert {(c.latency_s, c.batched, c.reply.usage.tier) for c in calls} == {(None, True, "batch")}
    has_cache = any(call.reply.usage.cached_tokens for call in calls)
    assert has_cache == (api in ("messages", "gemini"))
    assert cost(batch) == pytest.approx(cost(live) / 2)


@BATCHES
def test_a_batch_that_expires_is_handed_in_again_without_what_was_replied_to(server, tmp_path, api):
    server.expires = {1, 3}
    assert run(server, tmp_path / "r", "--batch", number=4).returncode == 0
    events = model_calls(tmp_path / "r")
    failed = [e for e in events if e.reply is None]
    assert len(failed) == (8 if api == "gemini" else 4)  # all, or two, of each; they cost nothing
    assert all("completion window expired" in e.error or "expired or" in e.error for e in failed)
    assert len(server.asked) == len(set(server.asked)) == len(events) - len(failed)


@NEW
def test_calls_that_fail_in_a_batch_go_again_unless_they_are_refused(api, tmp_path, monkeypatch):
    """One that is refused as it stands ends its episode; the others come through."""
    inner, seen = model_policy(Reference()), []

    async def policy(turns, offers):
        seen.append(turns)
        if len(seen) in (2, 6):
            raise Refusal(500, "it is overloaded")
        if len(seen) == 3:
            raise Refusal(400, "this is refused")
        return await inner(turns, offers)

    with served(api, monkeypatch, policy) as server:
        done = run(server, tmp_path / "r", "--batch", number=4)
    ends = sorted(trace[-1].kind for trace in traces(tmp_path / "r"))
    assert ends == ["episode_failed", *["episode_finished"] * 3], done.stderr
    events = model_calls(tmp_path / "r")
    errors = [e.error for e in events if e.reply is None]
    assert [sum(words in e for e in errors) for words in ("overloaded", "refused")] == [2, 1]
    assert len(server.asked) == len(set(server.asked)) == len(events)


@pytest.mark.parametrize("api", ["chat", "messages"])
def test_a_batch_whose_maker_heard_nothing_is_found_and_not_handed_in_again(server, tmp_path):
    server.loses = {1, 3}
    done = run(server, tmp_path / "r", "--batch")
    assert done.stderr.count("whether a batch was handed in is not known yet") == 2
    assert len(server.asked) == len(set(server.asked)) == 12
    assert {trace[-1].kind for trace in traces(tmp_path / "r")} == {"episode_finished"}


@BATCHES
def test_results_that_are_foreign_or_doubled_are_counted_and_never_used(server, tmp_path, api):
    def spoil(lines):  # the last comes first
        stolen = [{**line, "response": {}, "result": {"type": "succeeded"}} for line in lines]
        own = {"metadata": {"key": "x"}} if api == "gemini" else {"custom_id": "of another run"}
        return [*stolen, *lines, stolen[0] | own, {"no": "id"}]

    server.spoil = spoil
    err = run(server, tmp_path / "r", "--batch").stderr
    assert "2 results for calls that it did not have, 3 second results; none of these" in err
    server.spoil = lambda lines: lines
    run(server, tmp_path / "live")
    assert said(tmp_path / "r") == said(tmp_path / "live")


def test_results_that_are_nobodys_stop_the_run_before_they_are_paid_again(server, tmp_path):
    server.spoil = lambda lines: [{**line, "custom_id": "x"} for line in lines]
    done = run(server, tmp_path / "r", "--batch")
    assert (done.returncode, len(server.batches)) == (1, 1)
    assert "no result of a batch names a call of it" in done.stderr
    assert agent_env("resume", str(tmp_path / "r")).returncode == 1
    assert len(server.batches) == 1


@pytest.mark.parametrize(
    ("api", "limit", "most"), [("messages", "most_calls", 2), ("gemini", "most_bytes", 18_000)]
)
def test_a_wave_over_the_providers_limits_is_several_batches(
    server, tmp_path, monkeypatch, api, limit, most
):
    monkeypatch.setattr(AnthropicBatches if api == "messages" else GeminiBatches, limit, most)
    setattr(server, limit, most + 200)
    assert run(server, tmp_path / "r", "--batch", number=4).returncode == 0
    assert len(server.asked) == len(set(server.asked))
    assert len(server.batches) > max(len(texts) for _, texts, _ in said(tmp_path / "r"))


@NEW
def test_a_detached_run_ends_with_each_wave_and_resume_goes_on(server, tmp_path):
    server.moves = False
    first = run(server, tmp_path / "r", "--batch", "--detach")
    assert (first.returncode, first.stdout) == (0, "")
    assert f"continue with: agent-env resume {tmp_path / 'r'}" in first.stderr

    def move():
        for batch in server.batches:
            asyncio.run(server.tick(batch))

    resumed_to_its_end(first, tmp_path / "r", move, env=server.keys)
    assert len(server.asked) == len(set(server.asked)) == 12
    events = [e for trace in traces(tmp_path / "r") for e in trace]
    assert not any(isinstance(event, EpisodeResumed) for event in events)


def resumed_to_its_end(done, out, between, **how):
    """The detached run goes on until it waits for nothing; each time something happens first."""
    for _ in range(60):
        assert done.returncode == 0, done.stderr
        if "waits for its batches" not in done.stderr:
            return
        between()
        done = agent_env("resume", str(out), **how)
    raise AssertionError("it waits for ever")


def test_resume_has_the_last_word_on_whether_it_waits_where_there_are_batches(server, tmp_path):
    server.moves = False
    assert run(server, tmp_path / "r", "--batch", "--detach").returncode == 0
    server.moves = True
    done = agent_env("resume", str(tmp_path / "r"), "--no-detach", env=server.keys)
    assert (done.returncode, "waits for its batches" in done.stderr) == (0, False), done.stderr
    assert Run(tmp_path / "r").manifest.features == {"batch": {"dir": None, "detach": False}}
    assert run(server, tmp_path / "live").returncode == 0
    done = agent_env("resume", str(tmp_path / "live"), "--detach", env=server.keys)
    said = "--detach is of runs with the feature 'batch', and this is none; leave it out"
    assert (done.returncode, done.stderr) == (2, f"agent-env: {said}\n")


def test_files_that_something_else_answers_need_no_server(server, tmp_path):
    """In the form of `vllm run-batch`."""
    wave = tmp_path / "wave"

    def answer():
        for asked in wave.glob("ae-*.jsonl"):
            results = asked.with_suffix(".results.jsonl")
            if ".results" not in asked.name and not results.exists():
                replies = []
                for line in map(json.loads, asked.read_text().splitlines()):
                    assert line["url"] == "/v1/chat/completions"
                    reply = asyncio.run(server.done(line["url"], line["body"], {}))
                    replies.append(json.dumps(server.line(line["custom_id"], *reply)) + "\n")
                results.write_text("".join(replies))

    resumed_to_its_end(run_by_files(wave, tmp_path / "r"), tmp_path / "r", answer)
    run(server, tmp_path / "live")
    assert said(tmp_path / "r") == said(tmp_path / "live")


def run_by_files(wave, out, condition="web", number=3):
    line = "run time-puzzles --limit {} --condition {} --model compatible/x --batch-dir {} --detach"
    return typed(f"{line} --out {{}}", number, condition, wave, out)


class Killed(BaseException):
    """The end of a process."""


class Provider:
    """A batch API in memory, whose process is killed when it has got a batch."""

    most_calls = 2

    def __init__(self, most_bytes=1000, is_killing=True):
        self.got, self.most_bytes, self.is_killing = {}, most_bytes, is_killing

    def line(self, call, body):
        return json.dumps([call, body]).encode()

    async def submit(self, batch, lines):
        self.got[batch] = [json.loads(line)[0] for line in lines]
        if self.is_killing:
            raise Killed
        return batch

    async def find(self, batch, calls, since):
        return batch if batch in self.got else None

    async def state(self, id):
        lines = [json.dumps([call, {"said": call}]) for call in self.got[id]]
        return BatchState(True, "completed", lines=lines)

    def read(self, line):
        return BatchResult(*json.loads(line))


def opened(folder, provider):
    waves = Waves(folder, "run", provider, None, 6, print, lambda: datetime.now(UTC))
    waves.read()
    return waves


async def collected(folder, provider):
    """What another process finds, where none is killed."""
    provider.is_killing = False
    waves = opened(folder, provider)
    await waves.collect()
    return waves


async def killed(folder, provider, *episodes):
    """Their process is killed as it hands in a batch."""
    waves, provider.is_killing = opened(folder, provider), True
    assert set(await ask(waves, *episodes)) == {None}
    with pytest.raises(Killed):
        await waves.submit()


async def ask(waves, *episodes):
    """What each episode is replied to its question in a new wave; None where it has to wait."""
    waves.begin()
    replies = []
    for name in episodes:
        waves.episode.set(name)
        try:
            replies.append(await waves.post(None, "/chat/completions", {"q": 1}))
        except BatchWait:
            replies.append(None)
    return replies


async def test_a_batch_that_was_handed_in_as_the_process_was_killed_is_found_again(tmp_path):
    provider = Provider()
    await killed(tmp_path, provider, "a", "b")
    again = await collected(tmp_path, provider)
    one, other = await ask(again, "a", "b")
    assert set(one) == set(other) == {"said"}
    assert one != other  # the same question of two episodes is two calls
    assert (again.new, len(provider.got)) == ({}, 1)
    await killed(tmp_path, provider, "c")
    provider.got.popitem()  # it never got there
    anew = await collected(tmp_path, provider)
    assert await ask(anew, "c") == [None]
    assert await anew.submit() == 1


async def test_a_wave_is_split_by_what_one_batch_may_have(tmp_path):
    provider = Provider(most_bytes=100, is_killing=False)
    waves = opened(tmp_path, provider)
    await ask(waves, *"abcde")
    assert await waves.submit() == 5  # two lines are more than 100 bytes
    provider.most_bytes = 1000
    await ask(waves, *"fghij")
    assert await waves.submit() == 3
    assert sorted(map(len, provider.got.values())) == [1, 1, 1, 1, 1, 1, 2, 2]


def test_a_journal_of_somebody_else_leads_nowhere(tmp_path):
    (tmp_path / "batches").mkdir()
    journal, at = tmp_path / "batches/journal.jsonl", '"at":"2026-01-01T00:00:00+00:00"'
    ended = f'{{"kind":"ended",{at},"batch":"%s"}}\n'
    intended = f'{{"kind":"intended",{at},"batch":"../../x","calls":["a"]}}\n'
    journal.write_text(intended + ended % "../../x" + '{"torn')
    with pytest.raises(DatasetError, match="is not a name of a batch"):
        opened(tmp_path, Provider())
    assert journal.read_text().endswith("}\n")
    journal.write_text(ended % "b")
    with pytest.raises(DatasetError, match="no batch 'b' above"):
        opened(tmp_path, Provider())


def test_the_server_is_one_to_the_official_client(server, tmp_path):
    import openai

    client, file = openai.OpenAI(base_url=server.url, api_key="k"), tmp_path / "in.jsonl"
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
    line = {"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": body}
    file.write_text(json.dumps(line) + "\n")
    asked = {"input_file_id": client.files.create(file=file, purpose="batch").id,
             "completion_window": "24h"}  # fmt: skip
    with pytest.raises(openai.BadRequestError):
        client.files.create(file=file, purpose="fine-tune")
    ours = {"agent_env_batch": "ours"}
    made = client.batches.create(endpoint="/v1/chat/completions", metadata=ours, **asked)
    states = [client.batches.retrieve(made.id) for _ in range(3)]
    assert [state.status for state in states] == ["in_progress", "finalizing", "completed"]
    result = json.loads(client.files.content(states[-1].output_file_id).text)
    message = result["response"]["body"]["choices"][0]["message"]
    assert (result["custom_id"], message["role"]) == ("1", "assistant")
    assert [each.metadata for each in client.batches.list()] == [ours]
    other = client.batches.create(endpoint="/v1/responses", **asked)
    assert client.batches.cancel(other.id).status == "cancelling"
    assert client.batches.retrieve(other.id).status == "cancelled"


async def test_the_files_of_a_folder_are_read_line_by_line(tmp_path):
    batches = apis.FileBatches(tmp_path, "/responses", own_call())
    await batches.submit("b", [b"{}", b"{}"])
    (tmp_path / "b.results.jsonl").write_text('{"custom_id": "1"}\n{"custom_id": "2"')
    state = await batches.state("b")
    assert (state.is_ended, state.lines) == (False, ['{"custom_id": "1"}'])
    line = b'{"custom_id":"1","method":"POST","url":"/v1/responses","body":{}}'
    assert batches.line("1", {}) == line


def test_a_foreign_run_hands_nothing_in_without_trust(server, tmp_path):
    """Neither to the folder of batches that it names nor to its server."""
    wave = tmp_path / "wave"
    run_by_files(wave, tmp_path / "r", "base", 1)
    run(server, tmp_path / "s", "--batch", "--detach")
    wave.rename(tmp_path / "moved")
    requests = sum(server.counts.values())
    for name, asked in (("r", f"batch.dir {wave}"), ("s", f"address {server.url}")):
        other = {"XDG_STATE_HOME": str(tmp_path / "other")}
        done = agent_env("resume", str(tmp_path / name), env=other)
        assert (done.returncode, asked in done.stderr) == (2, True), done.stderr
    assert (wave.exists(), sum(server.counts.values())) == (False, requests)
