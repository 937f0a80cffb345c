"""A program of somebody else's sees the system, what its command names, and nothing more."""

import asyncio
import os
import subprocess
import sys

import pytest

from agent_env.sandbox.programs import confine

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="namespaces are Linux's")


def confined(*command, **environment):
    async def main():
        plan = await confine(command, {"PATH": "/usr/bin:/bin", **environment})
        process = await asyncio.create_subprocess_exec(
            *plan.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            pass_fds=plan.descriptors, env={},
        )  # fmt: skip
        for each in plan.descriptors:
            os.close(each)
        output, _ = await process.communicate()
        return process.returncode or 0, output.decode()

    code, text = asyncio.run(main())
    if "PermissionError" in text and "stage" in text:
        pytest.skip("no namespaces may be made here")
    return code, text


def test_it_has_its_files_its_variables_and_nothing_of_the_host(tmp_path):
    named, other = tmp_path / "named", tmp_path / "other"
    named.write_text("shown\n")
    other.write_text("hidden")
    script = (
        f"cat {named}; cat {other}; echo x > {named}; echo x > /usr/x; echo own > file; cat file; "
        "echo $VARIABLE; id -u; getent hosts localhost; ls /proc; exit 7"
    )
    code, text = confined("sh", "-c", script, str(named), VARIABLE="given")
    assert code == 7
    lines = [line for line in text.splitlines() if "cannot" not in line and "cat:" not in line]
    assert lines == ["shown", "own", "given", "1000"]
    assert text.count("cannot create") == 2
    assert named.read_text() == "shown\n"


def test_it_reaches_no_network():
    connect = "import socket; socket.create_connection(('127.0.0.1', 9))"
    code, text = confined("/usr/bin/env", "python3", "-c", connect)
    assert code != 0
    assert "Address family not supported" in text or "No such file" in text
