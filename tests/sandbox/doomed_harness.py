"""A harness with open sessions, one of them busy, that waits to be killed; run by the tests."""

import asyncio
import sys

from agent_env.sandbox.limits import SandboxLimits
from tests.sandbox.conftest import opened


async def main(name, docker_host):
    async with (
        opened(name, SandboxLimits(memory_mb=96), docker_host) as backend,
        backend.session() as idle,
        backend.session() as busy,
    ):
        await idle.run("import os, time\nif os.fork() == 0:\n    os.setsid(); time.sleep(600)", 10)
        stop = "import os, signal\nos.kill(os.getppid(), signal.SIGSTOP)\nwhile True: pass"
        task = asyncio.create_task(busy.run(stop, 600))  # its supervisor cannot end it any more
        await asyncio.sleep(0.2)
        print("ready", flush=True)
        await task


asyncio.run(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None))
