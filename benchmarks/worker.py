"""What the worker costs: its start, and a `sql` call in it beside the same query in this process.

    python benchmarks/worker.py [CALLS]

The table has 1,000 rows. Also how long short queries wait while other episodes' queries run into
their limit of CPU time.
"""

from __future__ import annotations

import asyncio
import resource
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from agent_env.errors import ToolError
from agent_env.records.schema import MaterialTable
from agent_env.tools.builtin.sql import Sql
from agent_env.worker import sql
from agent_env.worker.host import Worker

ROWS = tuple((f"member {n}", str(1950 + n % 70), str(1951 + n % 70)) for n in range(1000))
TABLE = MaterialTable(name="members", columns=("name", "start", "end"), rows=ROWS)
QUERY = "SELECT name, start FROM members WHERE start >= '1999' ORDER BY start, name LIMIT 20"
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"


def start_ms() -> float:
    """From nothing to the first answer of a new process."""
    began = time.perf_counter()
    worker = Worker("sql")
    worker.call({"key": "", "query": ""})
    took = time.perf_counter() - began
    worker.close()
    return took * 1000


async def per_call(calls: int, ask: Callable[[], Any]) -> tuple[float, float]:
    """Milliseconds on the clock (median), and of this process's CPU."""
    took, cpu = [], time.process_time()
    for _ in range(calls):
        began = time.perf_counter()
        await ask()
        took.append(time.perf_counter() - began)
    return statistics.median(took) * 1000, (time.process_time() - cpu) * 1000 / calls


async def beside_slow_ones(slow: int) -> list[float]:
    """Seconds that 20 short queries take, sent together with queries that never end."""
    tool, took = Sql([TABLE], cpu_s=1.0), []

    async def ask(query: str) -> None:
        began = time.perf_counter()
        try:
            await tool.run({"query": query})
        except ToolError:
            return
        took.append(time.perf_counter() - began)

    await asyncio.gather(*(ask(ENDLESS) for _ in range(slow)), *(ask(QUERY) for _ in range(20)))
    return took


async def main() -> None:
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    starts = sorted(start_ms() for _ in range(20))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = (used.ru_utime + used.ru_stime) * 1000 / len(starts)
    print(f"to the first answer: median {starts[10]:.0f} ms, least {starts[0]:.0f}; CPU {cpu:.0f}")
    tool = Sql([TABLE])
    thread = ThreadPoolExecutor(1)
    thread.submit(sql.select, tool.key, QUERY, tool.tables).result()

    async def within() -> None:
        await asyncio.get_running_loop().run_in_executor(thread, sql.select, tool.key, QUERY)

    async def in_worker() -> None:
        await tool.run({"query": QUERY})

    for _ in range(3):
        for name, ask in (("in this process, in a thread", within), ("in the worker", in_worker)):
            wall, cpu = await per_call(calls, ask)
            print(f"{name}: {wall:.2f} ms a call, {cpu:.2f} ms of this process's CPU")
    for slow in (3, 8):
        took = await beside_slow_ones(slow)
        print(
            f"beside {slow} endless: {len(took)} of 20 answered, the last after {max(took):.1f} s"
        )


if __name__ == "__main__":
    asyncio.run(main())
