"""A file, and a prompt, in a sandbox."""

import asyncio

import pytest

from agent_env.errors import ConfigError
from agent_env.sandbox.by_hand import read_code, read_statement, run_file, shell
from agent_env.sandbox.limits import SandboxLimits
from agent_env.sandbox.unsafe import UnsafeSubprocess
from agent_env.wiring.trust import own_call

BACKEND = UnsafeSubprocess(SandboxLimits(), own_call())


def test_a_file_runs_in_a_session_of_its_own(tmp_path):
    path = tmp_path / "a.py"
    path.write_text("print('é')\n1 / 0\n")
    result = asyncio.run(run_file(path, BACKEND, 10))
    assert (result.status, result.stdout) == ("error", "é\n")
    assert (result.error or "").endswith("ZeroDivisionError: division by zero")


def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path):
    path = tmp_path / "a.py"
    path.write_bytes(b"x = '\xe9'")
    with pytest.raises(ConfigError, match=r"a\.py is not UTF-8 at byte 5; save it as UTF-8"):
        read_code(path)
    with pytest.raises(ConfigError, match=r"none\.py cannot be read: No such file"):
        read_code(tmp_path / "none.py")


def test_the_shell_keeps_variables_and_shows_what_happens():
    lines = iter(["x = 2", "print('hi')", "x * 3", "y", None])
    written = []
    asyncio.run(shell(BACKEND, lambda prompt: next(lines), written.append, 10))
    assert written[:2] == ["hi\n", "6\n"]
    assert written[2].endswith("NameError: name 'y' is not defined\n")
    assert len(written) == 3


def test_the_shell_reads_whole_statements():
    lines = iter(["def f():", "    return 1", "", "f()", "1 +* 2", None])
    prompts = []

    def read(prompt):
        prompts.append(prompt)
        return next(lines)

    read_all = [read_statement(read) for _ in range(4)]
    assert read_all == ["def f():\n    return 1\n", "f()", "1 +* 2", None]
    assert prompts == [">>> ", "... ", "... ", ">>> ", ">>> ", ">>> "]
