"""What a model sees of a session, the same on every backend."""

from __future__ import annotations

import asyncio
import os

import pytest

from agent_env.records.execution import ExecResult
from agent_env.sandbox.packages import importable
from tests.sandbox.conftest import Bench
from tests.sandbox.hostile import LIMITS


def run(bench: Bench, *codes: str, timeout_s: float = 5.0) -> list[ExecResult]:
    """The results of calls in one fresh session."""

    async def call() -> list[ExecResult]:
        async with bench.backend.session() as session:
            return [await session.run(code, timeout_s) for code in codes]

    results: list[ExecResult] = bench.run(call())
    return results


def test_variables_and_imports_last_between_calls(bench: Bench) -> None:
    *_, last = run(bench, "import datetime\nx = datetime.date(2001, 2, 28)", "x.replace(day=1)")
    assert last.value == "datetime.date(2001, 2, 1)"
    assert last.status == "ok"
    assert last.error is None


def test_prints_go_to_stdout_and_the_last_expression_to_value(bench: Bench) -> None:
    (result,) = run(bench, "import sys\nprint('a')\nprint('b', file=sys.stderr)\n'c' * 2")
    assert (result.stdout, result.stderr, result.value) == ("a\n", "b\n", "'cc'")


def test_what_is_written_past_python_is_kept_too(bench: Bench) -> None:
    (result,) = run(bench, "import os\nprint(os.write(1, b'raw\\n') and 'after')")
    assert sorted(result.stdout.split()) == ["after", "raw"]


def test_code_is_not_changed_by_the_future_statements_of_ours(bench: Bench) -> None:
    code = "def f(x: int): pass\nf.__annotations__['x'] is int"
    assert run(bench, code)[0].value == "True"


def test_a_text_of_a_class_that_misbehaves_costs_no_variables(bench: Bench) -> None:
    code = (
        "class S(str):\n def __len__(s): raise OSError\n"
        "class R:\n def __repr__(s): return S('abc')\nR()"
    )
    assert [r.value for r in run(bench, "x = 5", code, "x")] == [None, "abc", "5"]


def test_a_process_ends_with_the_call_that_started_it(bench: Bench) -> None:
    code = (
        "import subprocess, sys\n"
        "p = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(60)'])\n"
        "p.poll()"
    )
    begun, after = run(bench, code, "p.wait(5)")
    assert (begun.status, begun.value) == ("ok", None)
    assert after.value == "-9"


def test_a_statement_or_none_has_no_value(bench: Bench) -> None:
    assert [r.value for r in run(bench, "x = 1", "None", "x", "_ + 1")] == [None, None, "1", "2"]


def test_an_error_shows_the_line_and_keeps_the_variables(bench: Bench) -> None:
    failed, after = run(bench, "x = 5\nx / 0", "x")
    assert failed.status == "error"
    assert failed.error is not None
    assert failed.error.splitlines()[-1] == "ZeroDivisionError: division by zero"
    assert "x / 0" in failed.error
    assert "notebook.py" not in failed.error
    assert after.value == "5"


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("def f(:", "SyntaxError"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("import sys; del sys.stdout; 1 / 0", "ZeroDivisionError"),
        ("class X(Exception):\n def __str__(s): raise SystemExit\nraise X", "X"),
        ("class X:\n def __str__(s): raise OSError\nraise SystemExit(X())", "cannot be shown"),
        ("class X:\n def __eq__(s, o): raise OSError\nraise SystemExit(X())", "SystemExit"),
    ],
)
def test_errors_of_every_kind_leave_the_session_open(bench: Bench, code: str, error: str) -> None:
    failed, after = run(bench, code, "1")
    assert error in (failed.error or "")
    assert after.value == "1"


@pytest.mark.parametrize(
    "code",
    [
        r"raise ValueError('\udc80')",
        r"'\ud800'",
        "open(b'\\xff', 'w').close(); import os; raise OSError(os.listdir('.')[0])",
        r"import sys; sys.exit('\ud800')",
    ],
)
def test_text_that_is_no_unicode_costs_no_variables(bench: Bench, code: str) -> None:
    _, odd, after = run(bench, "x = 5", code, "x")
    assert odd.status in ("ok", "error")
    assert after.value == "5"


def test_exit_ends_the_call_but_not_the_session(bench: Bench) -> None:
    _, left, failed, after = run(bench, "x = 1", "exit()", "import sys; sys.exit('no')", "x")
    assert (left.status, left.error) == ("ok", None)
    assert (failed.status, failed.error) == ("error", "SystemExit: no")
    assert after.value == "1"


def test_a_timeout_says_so_keeps_what_was_printed_and_loses_the_variables(bench: Bench) -> None:
    code = "x = 1\nprint('begun', flush=True)\nwhile True: pass"

    async def call() -> list[ExecResult]:
        async with bench.backend.session() as session:
            return [await session.run(code, 0.4), await session.run("x", 5)]

    late, after = bench.run(call())
    assert late.status == "timeout"
    assert late.stdout == "begun\n"
    assert late.error == (
        "no end after 0.4 s. The session and its variables are lost; "
        "the next call starts a fresh one."
    )
    assert late.duration_s >= 0.4
    assert "NameError" in (after.error or "")


def test_a_crash_says_how_and_the_next_call_is_fresh(bench: Bench) -> None:
    crashed, after = run(bench, "import os; os.kill(os.getpid(), 11)", "6 * 7")
    assert crashed.status == "crashed"
    assert (crashed.error or "").startswith("the process was killed by SIGSEGV. The session and")
    assert after.value == "42"


def test_files_do_not_outlive_a_lost_session(bench: Bench) -> None:
    *_, after = run(
        bench,
        "open('f', 'w').close()",
        "import os; os._exit(3)",
        "os = __import__('os'); os.listdir()",
    )
    assert after.value == "[]"


def test_long_output_loses_its_middle_and_says_how_much(bench: Bench) -> None:
    (result,) = run(bench, "print('a' * 10000 + 'b' * 10000)\n'c' * 10000")
    assert result.truncated
    assert result.stdout.startswith("aaa")
    assert result.stdout.endswith("bbb\n")
    assert f"... {20001 - LIMITS.output_bytes} bytes left out ..." in result.stdout
    assert "characters left out" in (result.value or "")


def test_memory_beyond_the_limit_is_an_error_that_names_it(bench: Bench) -> None:
    (result,) = run(bench, "x = bytearray(10**9)")
    assert result.status == "error"
    assert "MemoryError" in (result.error or "")


def test_a_forked_child_that_runs_to_the_end_says_nothing(bench: Bench) -> None:
    code = "import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nelse: print('child')"
    results = run(bench, code, "pid > 0")
    assert (results[0].status, results[0].stdout) == ("ok", "child\n")
    assert results[1].value == "True"


def test_threads_subprocesses_and_asyncio_work(bench: Bench) -> None:
    code = (
        "import asyncio, subprocess, sys, threading\n"
        "found = []\n"
        "t = threading.Thread(target=found.append, args=(1,)); t.start(); t.join()\n"
        "found += [int(subprocess.run([sys.executable, '-c', 'print(2)'], capture_output=True,"
        " timeout=9).stdout)]\n"
        "async def three(): await asyncio.sleep(0); return 3\n"
        "found + [asyncio.run(three())]"
    )
    assert run(bench, code)[0].value == "[1, 2, 3]"


def test_the_promised_packages_are_importable_and_time_zones_are_there(bench: Bench) -> None:
    names = ", ".join(importable())
    (result,) = run(bench, f"import {names}, zoneinfo\nlen(zoneinfo.available_timezones()) > 400")
    assert result.error is None
    assert result.value == "True"


def test_the_harness_s_own_packages_are_not_there(bench: Bench) -> None:
    code = (
        "import importlib.util as u\n"
        "[n for n in ('openai', 'langgraph', 'pydantic', 'pip') if u.find_spec(n)]"
    )
    assert run(bench, code)[0].value == "[]"
    gone = run(bench, "import agent_env.records.schema")[0]
    assert "ModuleNotFoundError" in (gone.error or "")


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        (b"1", "code must be text, but it is bytes; send a string of Python"),
        ("a\0b", "code holds a NUL character at position 1; remove it"),
        ("'\ud800'", "code is not valid UTF-8 at position 1; remove the lone surrogate there"),
        ("#" * 1_000_001, "code is 1000001 bytes long; at most 1000000 can be run in one call"),
    ],
    ids=["bytes", "nul", "surrogate", "huge"],
)
def test_code_that_cannot_be_run_is_explained(bench: Bench, code: str, complaint: str) -> None:
    refused, after = run(bench, code, "1")
    assert (refused.status, refused.error) == ("error", complaint)
    assert after.value == "1"


def test_the_longest_code_that_is_taken_runs(bench: Bench) -> None:
    assert run(bench, "#" * 999_997 + "\n7")[0].value == "7"


def test_sessions_do_not_see_each_other(bench: Bench) -> None:
    async def call() -> ExecResult:
        async with bench.backend.session() as one, bench.backend.session() as two:
            await one.run("x = 1; open('mine', 'w').close()", 5)
            return await two.run("import os; 'x' in globals(), os.listdir()", 5)

    assert bench.run(call()).value == "(False, [])"


def test_many_sessions_are_open_at_once(bench: Bench) -> None:
    count = 8 if bench.name == "docker" else 30

    async def one(number: int) -> str | None:
        async with bench.backend.session() as session:
            await session.run(f"x = {number}", 10)
            await asyncio.sleep(0.1)
            return (await session.run("x", 10)).value

    async def all_of_them() -> list[str | None]:
        return list(await asyncio.gather(*(one(number) for number in range(count))))

    assert bench.run(all_of_them()) == [str(number) for number in range(count)]


def test_episodes_in_a_row_leak_no_descriptors(bench: Bench) -> None:
    """Thousands of them are in benchmarks/sandbox.py."""
    run(bench, "1")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3 if bench.name == "docker" else 15):
        run(bench, "1")
    assert len(os.listdir("/proc/self/fd")) <= before + 1


def test_a_cancelled_call_ends_its_session(bench: Bench) -> None:
    """It does not wait for the call's own time, which is an hour."""

    async def call() -> ExecResult:
        async with bench.backend.session() as session:
            await session.run("x = 1", 5)
            task = asyncio.create_task(session.run("while True: pass", 3600))
            await asyncio.sleep(0.2)
            task.cancel()
            async with asyncio.timeout(300):
                with pytest.raises(asyncio.CancelledError):
                    await task
            return await session.run("x", 5)

    after = bench.run(call())
    assert "NameError" in (after.error or "")
