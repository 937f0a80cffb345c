"""What a model sees of a session, the same on every backend."""

import asyncio
import os

import pytest

from agent_env.sandbox.packages import importable
from tests.sandbox.hostile import LIMITS

VALUES = {
    "variables and imports last between calls": (
        ["import datetime\nx = datetime.date(2001, 2, 28)", "x.replace(day=1)"],
        [None, "datetime.date(2001, 2, 1)"],
    ),
    "a statement or None has no value": (["x = 1", "None", "x", "_ + 1"], [None, None, "1", "2"]),
    "code is not changed by the future statements of ours": (
        ["def f(x: int): pass\nf.__annotations__['x'] is int"], ["True"]
    ),
    "a text of a class that misbehaves costs no variables": (
        ["x = 5",
         "class S(str):\n def __len__(s): raise OSError\n"
         "class R:\n def __repr__(s): return S('abc')\nR()", "x"],
        [None, "abc", "5"],
    ),
    "a process ends with the call that started it": (
        ["import subprocess, sys\n"
         "p = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(60)'])\n"
         "p.poll()", "p.wait(5)"],
        [None, "-9"],
    ),
    "files do not outlive a lost session": (
        ["open('f', 'w').close()", "import os; os._exit(3)",
         "os = __import__('os'); os.listdir()"],
        [None, None, "[]"],
    ),
    "threads, subprocesses and asyncio work": (
        ["import asyncio, subprocess, sys, threading\n"
         "found = []\n"
         "t = threading.Thread(target=found.append, args=(1,)); t.start(); t.join()\n"
         "found += [int(subprocess.run([sys.executable, '-c', 'print(2)'], capture_output=True,"
         " timeout=9).stdout)]\n"
         "async def three(): await asyncio.sleep(0); return 3\n"
         "found + [asyncio.run(three())]"],
        ["[1, 2, 3]"],
    ),
    "the promised packages are importable and time zones are there": (
        [f"import {', '.join(importable())}, zoneinfo\n"
         "len(zoneinfo.available_timezones()) > 400"],
        ["True"],
    ),
    "the harness's own packages are not there": (
        ["import importlib.util as u\n"
         "[n for n in ('openai', 'langgraph', 'pydantic', 'pip') if u.find_spec(n)]"],
        ["[]"],
    ),
    "the longest code that is taken runs": (["#" * 999_997 + "\n7"], ["7"]),
}  # fmt: skip


@pytest.mark.parametrize(("codes", "values"), VALUES.values(), ids=VALUES)
def test_the_values_of_calls_in_a_session(bench, codes, values):
    results = bench.calls(*codes)
    assert [result.value for result in results] == values
    assert results[-1].error is None


@pytest.mark.parametrize(
    ("code", "stdout", "stderr", "value"),
    [
        ("import sys\nprint('a')\nprint('b', file=sys.stderr)\n'c' * 2", ["a"], "b\n", "'cc'"),
        ("import os\nprint(os.write(1, b'raw\\n') and 'after')", ["after", "raw"], "", None),
        ("import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nelse: print('child')",
         ["child"], "", None),
    ],
    ids=["printed", "written past Python", "by a forked child that runs to its end"],
)  # fmt: skip
def test_output_goes_to_stdout_and_stderr_and_the_session_goes_on(
    bench, code, stdout, stderr, value
):
    result, after = bench.calls(code, "1")
    assert sorted(result.stdout.split()) == stdout
    assert (result.status, result.stderr, result.value, after.value) == ("ok", stderr, value, "1")


def test_an_error_shows_the_line_and_keeps_the_variables(bench):
    failed, after = bench.calls("x = 5\nx / 0", "x")
    assert failed.status == "error"
    assert failed.error.splitlines()[-1] == "ZeroDivisionError: division by zero"
    assert "x / 0" in failed.error
    assert "notebook.py" not in failed.error
    assert after.value == "5"


ERRORS = [
    ("def f(:", "error", "SyntaxError"),
    ("raise KeyboardInterrupt", "error", "KeyboardInterrupt"),
    ("import sys; del sys.stdout; 1 / 0", "error", "ZeroDivisionError"),
    ("class X(Exception):\n def __str__(s): raise SystemExit\nraise X", "error", "X"),
    ("class X:\n def __str__(s): raise OSError\nraise SystemExit(X())", "", "cannot be shown"),
    ("class X:\n def __eq__(s, o): raise OSError\nraise SystemExit(X())", "", "SystemExit"),
    (r"raise ValueError('\udc80')", "error", ""),
    (r"'\ud800'", "", ""),
    ("open(b'\\xff', 'w').close(); import os; raise OSError(os.listdir('.')[0])", "", ""),
    (r"import sys; sys.exit('\ud800')", "", ""),
    ("exit()", "ok", ""),
    ("import sys; sys.exit('no')", "error", "SystemExit: no"),
    ("import agent_env.records.schema", "error", "ModuleNotFoundError"),
    ("y = bytearray(10**9)", "error", "MemoryError"),
]


def test_errors_of_every_kind_leave_the_session_open_with_its_variables(bench):
    codes = [part for code, _, _ in ERRORS for part in (code, "x")]
    _, *results = bench.calls("x = 5", *codes)
    pairs = zip(results[::2], results[1::2], strict=True)
    for (code, status, error), (failed, after) in zip(ERRORS, pairs, strict=True):
        assert failed.status == status or (not status and failed.status in ("ok", "error")), code
        assert error in (failed.error or ""), code
        assert (failed.error is None) == (failed.status == "ok"), code
        assert after.value == "5", code


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
def test_code_that_cannot_be_run_is_explained(bench, code, complaint):
    refused, after = bench.calls(code, "1")
    assert (refused.status, refused.error) == ("error", complaint)
    assert after.value == "1"


def test_a_timeout_says_so_keeps_what_was_printed_and_loses_the_variables(bench):
    code = "x = 1\nprint('begun', flush=True)\nwhile True: pass"

    async def call(session):
        return [await session.run(code, 0.4), await session.run("x", 5)]

    late, after = bench.in_session(call)
    end = (late.status, late.stdout, late.error)
    assert end == ("timeout", "begun\n", "stopped after 0.4 s")
    assert late.duration_s >= 0.4
    assert "NameError" in (after.error or "")


def test_a_crash_says_how_and_long_output_loses_its_middle(bench):
    crashed, after = bench.calls("import os; os.kill(os.getpid(), 11)", "6 * 7")
    end = (crashed.status, crashed.error, after.value)
    assert end == ("crashed", "the process was killed by SIGSEGV", "42")
    (result,) = bench.calls("print('a' * 10000 + 'b' * 10000)\n'c' * 10000")
    assert result.truncated
    assert result.stdout.startswith("aaa")
    assert result.stdout.endswith("bbb\n")
    assert f"... {20001 - LIMITS.output_bytes} bytes left out ..." in result.stdout
    assert "characters left out" in (result.value or "")


def test_many_sessions_are_open_at_once_and_do_not_see_each_other(bench):
    count = 8 if bench.name == "docker" else 30

    async def one(number):
        async with bench.backend.session() as session:
            await session.run(f"x{number} = {number}; open('f{number}', 'w').close()", 10)
            await asyncio.sleep(0.1)
            code = "import os; [n for n in globals() if n[0] == 'x'] + os.listdir()"
            return (await session.run(code, 10)).value

    async def all_of_them():
        return await asyncio.gather(*map(one, range(count)))

    assert bench.run(all_of_them()) == [f"['x{n}', 'f{n}']" for n in range(count)]


def test_episodes_in_a_row_leak_no_descriptors(bench):
    """Thousands of them are in benchmarks/sandbox.py."""
    bench.calls("1")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3 if bench.name == "docker" else 15):
        bench.calls("1")
    assert len(os.listdir("/proc/self/fd")) <= before + 1


def test_a_cancelled_call_ends_its_session(bench):
    """It does not wait for the call's own time, which is an hour."""

    async def call(session):
        await session.run("x = 1", 5)
        task = asyncio.create_task(session.run("while True: pass", 3600))
        await asyncio.sleep(0.2)
        task.cancel()
        async with asyncio.timeout(300):
            with pytest.raises(asyncio.CancelledError):
                await task
        return await session.run("x", 5)

    assert "NameError" in (bench.in_session(call).error or "")
