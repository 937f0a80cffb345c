"""No command over a stranger's folder does anything outside it, by whatever name it is called.

`test_permits.py` finds the callers in our source, which `getattr(os, "sys" + "tem")` and an
imported library escape. Here an audit hook sees what Python itself does while the main commands run
over a folder in which every field asks for something: any process that is not our confined worker,
any code from elsewhere than Python, its packages and ours, any socket, any file read or written
outside the folder and what is this user's own. Nothing is allowed that is not named here.
"""

import importlib
import json
import os
import site
import socket
import subprocess
import sys
import sysconfig
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import agent_env
from tests.audit import watching
from tests.commands import agent_env as command
from tests.test_canaries import commands, hostile, payloads
from tests.test_canaries import folder as folder  # a fixture

HOME = Path(agent_env.__file__).resolve().parents[1]
INSTALLED = tuple(
    dict.fromkeys(
        str(Path(each).resolve())
        for each in (*sysconfig.get_paths().values(), *site.getsitepackages(), sys.base_prefix,
                     sys.prefix, HOME / "agent_env", HOME / "agent_env.egg-info", HOME / "tests",
                     "/usr/lib", "/usr/share")
    )
)  # fmt: skip
"""Code, and what it brings along."""
SYSTEM = ("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/mounts", "/proc/sys", "/proc/stat",
          "/proc/uptime", "/proc/cgroups", f"/proc/{os.getpid()}", "/sys", "/etc", "/dev/null",
          "/dev/urandom", "/lib")  # fmt: skip
PROCESSES = {"subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.fork",
             "os.forkpty", "pty.spawn", "os.startfile"}  # fmt: skip
SOCKETS = {"socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo",
           "socket.gethostbyname", "urllib.Request", "webbrowser.open"}  # fmt: skip
CHANGES = {"os.remove", "os.rmdir", "os.mkdir", "os.chmod", "os.chown", "os.truncate", "os.utime",
           "os.rename", "os.link", "os.symlink", "shutil.rmtree", "shutil.move",
           "sqlite3.connect"}  # fmt: skip
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


@dataclass
class Outside:
    """What was done that is not allowed."""

    own: tuple[str, ...] = ()
    """Folders in which everything is allowed."""
    done: list[str] = field(default_factory=list)
    is_looking: bool = True

    def hook(self, event, arguments):
        if self.is_looking:
            self.is_looking = False  # what is called here is not looked at
            try:
                if self._is_outside(event, arguments):
                    self.done.append(f"{event} {arguments!r}"[:300])
            finally:
                self.is_looking = True

    def _is_outside(self, event, arguments):
        if event in PROCESSES:
            return not (event == "subprocess.Popen" and _is_worker(arguments[1]))
        if event in SOCKETS:
            return event != "socket.connect" or not isinstance(arguments[1], str | bytes)
        if event == "exec":
            name = getattr(arguments[0], "co_filename", "")
            return not name.startswith("<") and not self._is_in(name, INSTALLED)
        if event in CHANGES:
            return not all(
                self._is_in(each) for each in arguments[:2] if isinstance(each, str | os.PathLike)
            )
        if event == "open" and not isinstance(arguments[0], int):
            path, mode, flags = arguments
            if set(str(mode or "")) & set("wax+") or (mode is None and flags & WRITING):
                return not self._is_in(path, ("/dev/null", "/dev/shm"))
            return os.path.exists(path) and not self._is_in(path, (*INSTALLED, *SYSTEM))
        return False

    def _is_in(self, path, more=()):
        text = os.fsdecode(path).removeprefix("file:").partition("?")[0]
        if text in ("", ":memory:"):
            return True
        whole = os.path.realpath(text)
        return any(whole == each or whole.startswith(f"{each}/") for each in (*self.own, *more))


def _is_worker(words):
    """Our confined worker, and nothing else that Python runs."""
    return list(words[:4]) == [sys.executable, "-I", "-S", "-c"] and "agent_env.worker" in words[4]


@contextmanager
def looking(*own):
    """What is done outside in the block."""
    seen = Outside(tuple(str(each.resolve()) for each in own))
    with watching(seen.hook):
        yield seen.done


@pytest.mark.parametrize("model", ["reference", "compatible/x", "openai/x"])
def test_no_command_over_a_hostile_folder_does_anything_outside(
    folder, tmp_path, model, monkeypatch
):
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path / "drawing"))
    monkeypatch.chdir(tmp_path)
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    plants = payloads(theirs)
    run = hostile(folder, tmp_path / "folder/run", plants, model)
    env = {"XDG_STATE_HOME": str(tmp_path / "mine"), "MY_SECRET": "sk-canary",
           "TMPDIR": str(tmp_path / "folder")}  # fmt: skip
    logs = str(run.parent / "logs")
    more = [("episodes", "trust", str(run)),
            ("episodes", "export", str(run), "--to", "inspect", "--out", logs)]  # fmt: skip
    for words in [*commands(run), *more]:
        with looking(tmp_path / "folder", tmp_path / "mine", tmp_path / "drawing") as done:
            command(*words, env=env)
        assert done == [], words


@pytest.mark.parametrize(
    "act",
    [
        lambda place: getattr(os, "sys" + "tem")("true"),
        lambda place: importlib.import_module("sub" + "process").run(["true"]),
        lambda place: os.posix_spawn("/bin/true", ["true"], {}),
        lambda place: socket.create_connection(("127.0.0.1", 9), 0.1),
        lambda place: socket.getaddrinfo("localhost", 9),
        lambda place: __import__("runpy").run_path(str(place / "code.py")),
        lambda place: (place / "secret").read_text(),
        lambda place: (place / "secret").write_text("x"),
        lambda place: (place / "secret").unlink(),
        lambda place: os.open(place / "secret", os.O_RDWR),
        lambda place: __import__("sqlite3").connect(place / "base.db"),
        lambda place: subprocess.run([sys.executable, "-c", "agent_env.worker"], check=False),
    ],
)
def test_the_hook_sees_it_by_any_name(tmp_path, act):
    (tmp_path / "code.py").write_text("x = 1\n")
    (tmp_path / "secret").write_text(json.dumps("x"))
    with looking(tmp_path / "own") as done, suppress(OSError):
        act(tmp_path)
    assert done
