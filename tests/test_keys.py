"""Whose key goes where: by the command line, against servers that note what they are sent."""

from functools import partial

import pytest

from agent_env.episodes.run_folder import RunFolder
from agent_env.errors import ConfigError
from agent_env.wiring.trust import own_plugins
from agent_env.wiring.web import search_access
from tests.commands import agent_env, typed
from tests.noting_server import noting_servers

KEYS = {
    "OPENAI_API_KEY": "openai-0123456789",
    "COMPATIBLE_API_KEY": "compatible-0123456789",
    "A_SECRET": "a-0123456789",
    "B_SECRET": "b-0123456789",
}
USAGE = {"prompt_tokens": 9, "completion_tokens": 3, "input_tokens": 9, "output_tokens": 3}
MESSAGE = {"role": "assistant", "content": "MY ANSWER: None"}
ITEM = {"type": "message", "role": "assistant",
        "content": [{"type": "output_text", "text": "MY ANSWER: None"}]}  # fmt: skip
CHOICE = {"message": MESSAGE, "finish_reason": "stop"}
REPLIES = {
    "/v1/models": {"data": [{"id": name} for name in ("a", "b", "m", "x")]},
    "/v1/chat/completions": {"choices": [CHOICE], "usage": USAGE},
    "/v1/responses": {"status": "completed", "output": [ITEM], "usage": USAGE},
}
key_servers = partial(noting_servers, replies=REPLIES)


def bearer(variable):
    return f"Bearer {KEYS[variable]}"


def run(out, line, *values, **env):
    """One puzzle under base, asked with all keys."""
    common = "run time-puzzles --limit 1 --condition base --retries 0 --out {}"
    return typed(f"{common} {line}", out, *values, env=KEYS | env)


def test_three_models_at_three_addresses_each_see_only_their_own_key(tmp_path):
    with key_servers(3) as servers:
        a, b, c = servers
        models = "--model compatible/a@{} --model compatible/b@{} --model openai/gpt-5"
        keys = "--api-key-env compatible/a=A_SECRET --api-key-env compatible/b@{}=B_SECRET"
        line = f"{models} {keys} --tokenizer estimate"
        done = run(tmp_path / "runs", line, a.url, b.url, b.url, OPENAI_BASE_URL=c.url)
    assert done.returncode == 0, done.stderr
    for server, key in zip(servers, ("A_SECRET", "B_SECRET", "OPENAI_API_KEY"), strict=True):
        assert server.seen - {""} == {bearer(key)}
    written = b"".join(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())
    assert not [key for key in KEYS.values() if key.encode() in written]


def test_names_with_addresses_stand_in_folders_manifest_compare_and_resume(tmp_path):
    with key_servers(2) as (a, b):
        models = [f"compatible/m@{server.url}" for server in (a, b)]
        out = tmp_path / "runs"
        done = run(out, "--model {} --model {}", *models)
        assert done.returncode == 0, done.stderr
        folders = sorted(folder.name for folder in out.iterdir() if folder.is_dir())
        ports = sorted(str(server.server_address[1]) for server in (a, b))
        assert folders == [f"m-127.0.0.1-{port}" for port in ports]
        manifests = [RunFolder(out / name).manifest for name in folders]
        parameters = {m.model: m.model_parameters for m in manifests}
        assert {name: of["base_url"] for name, of in parameters.items()} == {
            f"compatible/m@{server.url}": server.url for server in (a, b)
        }
        assert {of["api_key_env"] for of in parameters.values()} == {""}
        compared = agent_env("compare", str(out), "--json")
        assert all(model in compared.stdout for model in models), compared.stderr
        next(out.rglob("*.1.jsonl")).unlink()
        resumed = agent_env("resume", str(out), env=KEYS)
        assert resumed.returncode == 0, resumed.stderr
    assert a.seen | b.seen <= {"Bearer none", ""}


def test_openais_key_goes_to_no_base_url(tmp_path):
    with key_servers(2) as (a, b):
        line = "--model openai/gpt-5 --model compatible/x --base-url {}"
        both = run(tmp_path / "both", line, a.url, OPENAI_BASE_URL=b.url)
        alone = run(tmp_path / "alone", "--model openai/gpt-5 --base-url {}", a.url)
    assert both.returncode == 0, both.stderr
    assert a.seen <= {bearer("COMPATIBLE_API_KEY"), ""}
    assert b.seen <= {bearer("OPENAI_API_KEY"), ""}
    assert alone.returncode == 2
    assert f"--base-url {a.url} belongs to a model compatible/NAME" in alone.stderr


def test_a_run_that_stored_a_base_url_for_openai_is_not_gone_on_with_there(tmp_path):
    with key_servers(2) as (stranger, own):
        env, out = {"OPENAI_BASE_URL": own.url}, tmp_path / "run"
        assert run(out, "--model openai/gpt-5", **env).returncode == 0
        folder = RunFolder(out)
        parameters = folder.manifest.model_parameters | {"base_url": stranger.url}
        folder.change(model_parameters=parameters)
        next(out.rglob("*.1.jsonl")).unlink()
        refused = agent_env("resume", str(out), "--trust-run", env=KEYS | env)
    assert refused.returncode == 2
    assert stranger.seen == set()


@pytest.mark.parametrize("model", ["compatible/m", "openai/m"])
def test_a_redirect_carries_nothing_on(tmp_path, model):
    with key_servers(2) as (first, second):
        first.redirect = second.url
        where = f"--base-url {first.url}" if model == "compatible/m" else ""
        line = f"--model {model} {where} --no-preflight"
        done = run(tmp_path / "run", line, OPENAI_BASE_URL=first.url)
    assert done.returncode == 1
    trace = next((tmp_path / "run").rglob("*.1.jsonl")).read_text()
    assert f"a redirect to {second.url}" in trace
    assert "it is not followed; give that base URL if it is meant" in trace
    assert second.seen == set()


def test_a_judge_gets_the_key_that_is_named_and_the_servers_tokenizer_that_of_its_model(tmp_path):
    out = tmp_path / "run"
    with key_servers(2) as (a, b):
        line = f"--model compatible/a@{a.url} --tokenizer server --api-key-env"
        unset = run(out, f"{line} NOT_THERE")
        assert unset.returncode == 2
        assert "--api-key-env NOT_THERE: the variable is not set" in unset.stderr
        assert (out.exists(), a.seen) == (False, set())
        done = run(out, f"{line} A_SECRET")
        assert done.returncode == 0, done.stderr
        judge = "episodes judge {} --model compatible/b@{} --api-key-env B_SECRET"
        typed(judge, out, b.url, env=KEYS)
    assert a.seen <= {bearer("A_SECRET"), ""}
    assert b.seen - {""} == {bearer("B_SECRET")}


def test_a_search_at_an_own_address_gets_openais_key_only_where_the_two_are_paired(monkeypatch):
    key, address = KEYS["OPENAI_API_KEY"], "https://a.example/v1"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    monkeypatch.setenv("OPENAI_BASE_URL", "")
    assert search_access("openai", None, own_plugins()).key == key
    with pytest.raises(ConfigError, match="would send it the key of OpenAI"):
        search_access("openai", address, own_plugins())
    monkeypatch.setenv("OPENAI_BASE_URL", f"{address}/")
    assert search_access("openai", address, own_plugins()).key == key


def test_nothing_of_openais_account_goes_to_another_server(tmp_path):
    account = {
        "OPENAI_ORG_ID": "org-canary",
        "OPENAI_PROJECT_ID": "project-canary",
        "OPENAI_ADMIN_KEY": "admin-canary",
        "OPENAI_CUSTOM_HEADERS": "X-Team: canary\nAuthorization: Bearer canary",
    }
    with key_servers(2) as (other, openai):
        env = account | {"OPENAI_BASE_URL": openai.url}
        for model in (f"compatible/m@{other.url}", "openai/gpt-5"):
            done = run(tmp_path / model.partition("/")[0], f"--model {model}", **env)
            assert done.returncode == 0, done.stderr
    assert other.seen <= {bearer("COMPATIBLE_API_KEY"), ""}
    assert "canary" not in other.headers
    assert "org-canary" in openai.headers
    assert "project-canary" in openai.headers
