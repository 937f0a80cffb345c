"""The contract of a sandbox."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from agent_env.errors import SandboxError
from agent_env.protocols import Sandbox, SandboxBackend
from agent_env.records.schema import ExecResult
from agent_env.registry import PluginEntry
from agent_env.runs.waiting import wait_for
from agent_env.sandbox.choose import AUTO_ORDER, SANDBOXES, UNSAFE, make
from agent_env.sandbox.limits import SandboxLimits
from agent_env.sandbox.probe import why_it_does_not_hold
from agent_env.sandbox.unsafe import UnsafeSubprocess
from agent_env.testing.fakes import raise_findings, raised
from agent_env.wiring.trust import own_call

TIMEOUT_S = 20.0
LOOP_S = 1.0


def check_sandbox(
    sandbox: SandboxBackend | Callable[[SandboxLimits], SandboxBackend] | str,
    *,
    contains: bool = True,
) -> None:
    """Checks a sandbox: a backend, or a class or function of SandboxLimits, or its NAME,
    MODULE:NAME or file.py:NAME.

    A session keeps its variables and shares them with no other; errors, output and values are
    told apart; a loop ends in time and the session goes on afresh; large output is cut; code inside
    reaches no file, port or socket of this machine. `contains=False` leaves the last one out.
    """
    limits = SandboxLimits(output_bytes=4096)
    backend: Any = sandbox
    if sandbox == UNSAFE:
        backend = UnsafeSubprocess(limits, own_call())
    elif sandbox in AUTO_ORDER:
        backend = wait_for(make(str(sandbox), limits, os.environ.get("DOCKER_HOST")))
    elif isinstance(sandbox, str):
        backend = SANDBOXES.find(sandbox, own_call())(limits)
    elif not hasattr(sandbox, "session") or isinstance(sandbox, type):
        name = getattr(sandbox, "__name__", "sandbox")
        backend = SANDBOXES.adapted(sandbox, PluginEntry(SANDBOXES.kind, name, name, None))(limits)
    name = getattr(backend, "name", "") or type(backend).__name__
    findings = wait_for(_findings(backend, limits))
    if contains and (reason := wait_for(why_it_does_not_hold(backend, limits))):
        findings.append(f"it does not contain code: {reason}")
    raise_findings(f"sandbox {name}", findings)


async def _findings(backend: SandboxBackend, limits: SandboxLimits) -> list[str]:
    findings: list[str] = []
    try:
        async with backend, backend.session() as session:
            findings += await _of_session(session, limits)
            async with backend.session() as second:
                shared = await second.run("'mark' in globals()", TIMEOUT_S)
                if shared.value != "False":
                    findings.append("a second session sees the variables of the first")
    except SandboxError as exc:
        findings.append(f"it failed: {raised(exc)}")
    except Exception as exc:  # the code of others
        findings.append(f"it raised {raised(exc)}; raise a SandboxError")
    return findings


async def _of_session(session: Sandbox, limits: SandboxLimits) -> list[str]:
    findings = []

    async def expect(code: str, want: str, right: Callable[[ExecResult], bool]) -> None:
        result = await session.run(code, LOOP_S if "while" in code else TIMEOUT_S)
        if not isinstance(result, ExecResult):
            findings.append(f"`{code}` gave a {type(result).__name__}; give an ExecResult")
        elif not right(result):
            fields = result.model_dump(exclude_defaults=True, exclude={"duration_s"})
            findings.append(f"`{code}` is to give {want}; it gave {str(fields)[:200]}")

    await expect("mark = 20", "status ok", lambda r: r.status == "ok" and r.error is None)
    await expect("mark + 1", "value 21, from the call before", lambda r: r.value == "21")
    await expect(
        "print('said')", "stdout 'said' and no value",
        lambda r: (r.stdout.strip(), r.value) == ("said", None),
    )  # fmt: skip
    await expect(
        "1 / 0", "status error with its traceback",
        lambda r: r.status == "error" and "ZeroDivisionError" in (r.error or ""),
    )  # fmt: skip
    await expect("mark", "value 20 still after an error", lambda r: r.value == "20")
    most = 2 * limits.output_bytes
    await expect(
        "print('x' * 100_000)", f"output cut to {limits.output_bytes} bytes, with `truncated`",
        lambda r: r.truncated and len(r.stdout) <= most,
    )  # fmt: skip
    await expect("while True: pass", "status timeout", lambda r: r.status == "timeout")
    await expect("6 * 7", "value 42 in a session begun afresh", lambda r: r.value == "42")
    await expect("mark = 21", "status ok", lambda r: r.status == "ok")
    return findings
