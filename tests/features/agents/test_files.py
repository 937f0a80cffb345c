"""An agent is known by a name of ours, a file, or a command line."""

import sys
from pathlib import Path
from shlex import quote

import pytest

from agent_env.errors import ConfigError
from agent_env.features.agents import files
from agent_env.features.agents.files import ADDRESSES, names, read


def test_files_of_agents_come_with_packages_and_without_own_tools(monkeypatch):
    assert names() == [
        "codex", "gemini-cli", "inspect-react", "langgraph", "mini-swe-agent", "openai-agents",
        "opencode", "pydantic-ai", "qwen-code", "smolagents",
    ]  # fmt: skip
    monkeypatch.setattr(files, "OURS", Path(__file__).parent)
    monkeypatch.setattr(files, "names", lambda: ["shy"])
    monkeypatch.setattr(Path, "read_text", lambda path, **_: 'command = ["sh"]')
    for name, is_bare in (("shy", False), ("shy-bare", True)):
        assert (read(name).name, read(name).is_bare) == (name, is_bare)


def test_command_lines_and_own_files_say_all_of_it(tmp_path, monkeypatch):
    script = tmp_path / "agent.py"
    script.write_text("")
    use = read(f"{quote(sys.executable)} {script} --ask {{prompt}}")
    assert use.name == sys.executable.rpartition("/")[2].replace(".", "-")
    assert use.command == (sys.executable, str(script), "--ask", "{prompt}")
    assert use.reads == (str(script),)
    assert (use.variables, use.answer, use.version) == (ADDRESSES, "reply", None)
    monkeypatch.chdir(tmp_path)  # only a word that is marked as a file is one
    for name in ("run", "mine"):
        (tmp_path / name).mkdir()
    use = read("sh run ./mine openai/run {prompt}")
    assert use.command == ("sh", "run", str(tmp_path / "mine"), "openai/run", "{prompt}")
    assert use.reads == (str(tmp_path / "mine"),)
    file = tmp_path / "My Agent.toml"
    file.write_text(
        'command = ["sh", "-c", "echo"]\nanswer = "out.txt"\nown_tools = ["shell"]\n'
        '[variables]\nX = "{token}"\n[files]\n"a/b" = "text"\n'
    )
    use = read(str(file))
    assert (use.name, use.answer, use.own_tools) == ("my-agent", "out.txt", ("shell",))
    assert (use.files, use.variables["X"]) == ({"a/b": "text"}, "{token}")


def test_a_package_that_is_not_there_is_told_with_its_command(tmp_path):
    file = tmp_path / "agent.toml"
    file.write_text('command = ["sh"]\npackage = "no-such-package"\ninstall = "pip install it"')
    says = "has no package no-such-package; install it: pip install it"
    with pytest.raises(ConfigError, match=says):
        read(str(file))
