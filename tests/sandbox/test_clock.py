"""The clock of a session: Python and the libraries tell its day, and nothing tells the real one."""

import asyncio
import re
import subprocess
from datetime import date
from pathlib import Path

import pytest

from agent_env.errors import ConfigError, SandboxError
from agent_env.sandbox import clock
from agent_env.sandbox.choose import choose
from agent_env.sandbox.docker import Docker
from agent_env.sandbox.unsafe import UnsafeSubprocess
from agent_env.wiring.trust import own_call, own_plugins
from tests.programs import needs
from tests.sandbox.conftest import open_bench
from tests.sandbox.hostile import LIMITS

DAY, OTHER = date(1995, 6, 1), date(2031, 12, 24)
NOON_S = 802_008_000
"""Of DAY, in UTC."""

TOLD = """
import ctypes, datetime, email.utils, os, sqlite3, tempfile, threading, time, uuid
def seconds(when): return when.replace(tzinfo=datetime.timezone.utc).timestamp()
def forked():
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.write(writing, str(time.time()).encode()); os._exit(0)
    os.wait()
    return float(os.read(reading, 99))
def of_thread():
    found = []
    thread = threading.Thread(target=lambda: found.append(time.time())); thread.start()
    thread.join(); return found[0]
def sql(text): return sqlite3.connect(":memory:").execute(text).fetchone()[0]
c = ctypes.CDLL(None); c.time.restype = ctypes.c_long
buffer = (ctypes.c_long * 32)()
def of_c(function, *arguments, at=0): function(*arguments); return buffer[at]
file = tempfile.NamedTemporaryFile()
times = [
    time.time(), time.time_ns() / 1e9, time.mktime(time.localtime()), c.time(None),
    seconds(datetime.datetime.now()), time.clock_gettime(time.CLOCK_TAI), forked(), of_thread(),
    of_c(c.gettimeofday, buffer, None), of_c(c.timespec_get, buffer, 1), of_c(c.ftime, buffer),
    of_c(c.clock_gettime, 5, buffer), float(sql("select strftime('%s', 'now')")),
    (uuid.uuid1().time - 0x01b21dd213814000) / 1e7,
    email.utils.parsedate_to_datetime(email.utils.formatdate()).timestamp(),
    os.stat(file.name).st_mtime, os.lstat(".").st_ctime, os.fstat(file.fileno()).st_atime,
    next(os.scandir(".")).stat().st_mtime, os.path.getmtime(os.__file__), os.stat("/dev/null")[8],
    os.fstat(os.pipe()[0]).st_mtime, of_c(c.stat, b"/", buffer, at=11),
    of_c(c.statx, -100, b"/", 0, 4095, buffer, at=14),
    *(mtime for finder in __import__("sys").path_importer_cache.values()
      if (mtime := getattr(finder, "_path_mtime", -1)) not in (None, -1)),
]
[t for t in times if not 0 <= t - NOON < 60] + [str(datetime.date.today())]
"""

REFUSED = """
import ctypes, mmap, os, socket, subprocess, sys
c = ctypes.CDLL(None, use_errno=True)
buffer = ctypes.create_string_buffer(512)
def call(number, *arguments):
    longs = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return c.syscall(ctypes.c_long(number), *longs)
told = {f"clock {n}" for n in (0, 5, 8, 9, 10, 11, 12, 16) if call(228, n, buffer) == 0}
at = ctypes.addressof(buffer)
calls = {
    "gettimeofday": (96, buffer, 0), "time": (201, 0), "adjtimex": (159, buffer),
    "clock_adjtime": (305, 0, buffer), "sleep until": (230, 0, 1, buffer, 0),
    "timer": (283, 0, 0), "kernel's memory": (158, 0x2003, 0), "fstat": (5, 0, buffer),
    "stat": (4, b"/", buffer), "newfstatat": (262, -100, b"/", buffer, 0),
    "statx": (332, -100, b"/", 0, 4095, buffer), "sysinfo": (99, buffer),
    "wait until": (202, at, 9 | 256 | 128, 0, at, 0, 0xFFFFFFFF),
    "lock until": (202, at, 134, 0, at),
}
told |= {name for name, arguments in calls.items() if call(*arguments) != -1}
code = mmap.mmap(-1, 4096, prot=7)  # clock_gettime(0, this page)
code.write(bytes.fromhex("b8e400000031ff488d35000100000f05c3"))
run = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
told |= {"machine code"} if run() == 0 else set()
def tells(attempt):
    try:
        attempt(); return True
    except OSError:
        return False
told |= {name for name, attempt in {
    "a new program": lambda: subprocess.run([sys.executable, "-c", "0"]),
    "proc": lambda: open("/proc/stat"), "rtc": lambda: open("/dev/rtc"),
    "stamped packets": lambda: socket.socketpair()[0].setsockopt(1, 29, 1),
}.items() if tells(attempt)}
sorted(told)
"""
ELAPSES = """
import threading, time, multiprocessing
def waits(what):
    began = time.monotonic(); what(); return 0.04 < time.monotonic() - began < 9
lock = threading.Lock(); lock.acquire()
before = time.time(); time.sleep(0.05)
condition = threading.Condition(); condition.acquire()
[time.time() - before > 0.04, waits(lambda: lock.acquire(timeout=0.05)),
 waits(lambda: condition.wait(0.05)), time.get_clock_info("time").adjustable]
"""


@pytest.fixture(scope="module")
def bench():
    yield from open_bench("namespaces", None)


def values(bench, *codes, today=DAY):
    results = bench.calls(*codes, timeout_s=20, day=today)
    assert [each.error for each in results] == [None] * len(codes)
    return [each.value for each in results]


@pytest.mark.parametrize(
    ("code", "value"),
    [
        (TOLD.replace("NOON", str(NOON_S)), "['1995-06-01']"),
        (REFUSED, "[]"),
        (ELAPSES, "[True, True, True, True]"),
    ],
    ids=["all that tells the time tells noon of the day, and no file is older or younger",
         "no other way leads to the real time", "time goes on and waits end"],
)  # fmt: skip
def test_a_session_on_a_day_tells_that_day_and_nothing_else(bench, code, value):
    assert values(bench, code) == [value]


def test_the_plain_session_beside_it_tells_what_this_one_is_refused(bench):
    """The attacks work: without a clock most of them succeed."""
    (told,) = values(bench, REFUSED, today=None)
    assert set(re.findall(r"'([^']*)'", told)) >= {
        "a new program", "clock 0", "clock 5", "clock 11", "fstat", "gettimeofday", "machine code",
        "newfstatat", "sleep until", "stat", "statx", "time", "timer",
    }  # fmt: skip


def test_sessions_at_the_same_time_have_their_own_day_each_from_the_first_century_of_clocks(bench):
    days = (DAY, OTHER, None, date(1678, 1, 1), date(2261, 12, 31))

    async def called():
        async def one(day):
            async with bench.backend.session(day) as session:
                return (await session.run("__import__('datetime').date.today()", 20)).value

        return await asyncio.gather(*map(one, days))

    seen = bench.run(called())
    real = seen.pop(2)
    assert seen == [repr(day) for day in days if day]
    assert eval(real, {"datetime": __import__("datetime")}) >= date(2026, 1, 1)


def test_a_lost_session_begins_at_noon_again(bench):
    codes = ("import os; os._exit(1)", "import time; time.time()")
    _, after = bench.calls(*codes, timeout_s=20, day=DAY)
    assert 0 <= float(after.value) - NOON_S < 60


def test_what_has_no_clock_is_refused_in_one_line():
    for backend in (UnsafeSubprocess(LIMITS, own_call()), Docker(LIMITS)):
        with pytest.raises(SandboxError, match=f"the sandbox {backend.name} has the real clock"):
            backend.session(DAY)
    with pytest.raises(ConfigError, match="the sandbox bubblewrap has the real clock; for a sess"):
        asyncio.run(choose("bubblewrap", LIMITS, plugins=own_plugins(), on_day=True))


def test_a_clock_that_cannot_be_set_is_an_error_and_never_the_real_clock(monkeypatch):
    monkeypatch.setattr(clock.os, "uname", lambda: type("", (), {"machine": "riscv64"}))
    with pytest.raises(RuntimeError, match="no clock can be set on riscv64"):
        clock.set_clock(0, None)


@needs("binutils")
def test_the_code_is_what_its_source_says(tmp_path):
    source = Path(__file__).with_name("clock.S")
    copy = ["objcopy", "-O", "binary", "-j", ".text", tmp_path / "o", tmp_path / "b"]
    for command in (["as", source, "-o", tmp_path / "o"], copy):
        subprocess.run(command, check=True)
    assert (tmp_path / "b").read_bytes() == clock.CODE
    names = subprocess.run(["nm", tmp_path / "o"], check=True, capture_output=True, text=True)
    places = {line.split()[2]: int(line.split()[0], 16) for line in names.stdout.splitlines()}
    for name, place in {**clock.OF_VDSO, **clock.OF_LIBRARY}.items():
        assert places[name.removeprefix("__vdso_").removesuffix("64")] == place, name
