"""Sessions that begin with something in them."""

import pytest

from agent_env.errors import SandboxError
from agent_env.records.schema import ExecResult
from agent_env.testing import FakeSandbox
from agent_env.tools.function import CHUNK, Prepared
from tests.loops import in_loop


@in_loop
async def run(sandbox, setup, *codes):
    async with Prepared(sandbox, setup, 5.0) as session:
        return [await session.run(code, 5.0) for code in codes]


def test_the_setup_runs_once_and_again_only_after_a_lost_session():
    sandbox = FakeSandbox()
    run(sandbox, "x = 1", "x", "x + 1")
    assert sandbox.code == ["x = 1", "x", "x + 1"]
    lost = ExecResult(status="timeout")
    sandbox = FakeSandbox([ExecResult(), lost])
    run(sandbox, "x = 1", "while True: pass", "x")
    assert sandbox.code == ["x = 1", "while True: pass", "x = 1", "x"]
    sandbox = FakeSandbox([ExecResult(), ExecResult(status="error", error="NameError")])
    run(sandbox, "x = 1", "y", "x")
    assert sandbox.code == ["x = 1", "y", "x"]
    sandbox = FakeSandbox([ExecResult(status="error", error="SyntaxError")])
    with pytest.raises(SandboxError, match="could not be prepared: SyntaxError"):
        run(sandbox, "x =", "x")


def test_a_long_setup_goes_in_parts_and_comes_out_whole():
    sandbox = FakeSandbox()
    setup = f"text = {'é' * (2 * CHUNK)!r}"
    run(sandbox, setup, "text")
    assert len(sandbox.code) > 4
    assert max(map(len, sandbox.code[:-1])) < 1_000_000
    found = {}
    exec("\n".join(sandbox.code[:-1]), found)
    assert found["text"] == "é" * (2 * CHUNK)
    assert "_setup" not in found
