"""`run --model local`: CPU time of the server and of ours, memory, wall time, one thread.

python benchmarks/local_model.py [SAMPLES [OUT]]     two samples under the five default conditions

CPU time is read from /proc every 0.2 s, so that a loaded machine does not matter so much.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    count = sys.argv[1] if len(sys.argv) > 1 else "2"
    with TemporaryDirectory() as folder:
        out = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(folder) / "run"
        command = (sys.executable, "-m", "agent_env", "run", "time-puzzles", "--model", "local")
        begun = time.monotonic()
        with subprocess.Popen([*command, "--limit", count, "--out", str(out)]) as ours:
            cpu, memory, first_s = _watch(ours.pid, out, begun)
        wall_s = time.monotonic() - begun
        traces = list(out.glob("episodes/*/*.jsonl"))
        steps = sum(trace.read_text().count('"kind":"model_called"') for trace in traces)
    server_s = sum(s for name, s in cpu.items() if "llama.py" in name)
    ours_s = sum(s for name, s in cpu.items() if "agent_env run" in name)
    load, per_step = os.getloadavg()[0], 1000 * ours_s / max(steps, 1)
    print(f"episodes {len(traces)}, steps {steps}, wall {wall_s:.0f} s, load {load:.1f}")
    print(f"CPU: server {server_s:.1f} s, ours {ours_s:.1f} s ({per_step:.0f} ms a step)")
    print(f"peak memory of all: {memory / 1e6:.0f} MB; first scored answer after {first_s:.0f} s")


def _watch(root: int, out: Path, begun: float) -> tuple[dict[str, float], int, float]:
    """CPU seconds by command, peak memory in bytes, seconds to the first ended episode."""
    cpu: dict[tuple[int, str], float] = {}
    memory, first_s = 0, 0.0
    while os.waitpid(root, os.WNOHANG)[0] == 0:
        family = list(_family(root))
        for pid, name, seconds, _ in family:
            cpu[pid, name] = seconds
        memory = max(memory, sum(size for *_, size in family))
        if not first_s and any('"kind":"episode_finished"' in trace.read_text()
                               for trace in out.glob("episodes/*/*.jsonl")):  # fmt: skip
            first_s = time.monotonic() - begun
        time.sleep(0.2)
    total: dict[str, float] = {}
    for (_, name), seconds in cpu.items():
        total[name] = total.get(name, 0.0) + seconds
    return total, memory, first_s


def _family(root: int) -> Iterator[tuple[int, str, float, int]]:
    """Pid, command, CPU seconds and resident bytes of the process and its descendants."""
    parents: dict[int, tuple[int, float, int, str]] = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            fields = (place / "stat").read_text().rpartition(")")[2].split()
            name = (place / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
        seconds = (int(fields[11]) + int(fields[12])) / TICKS
        parents[int(place.name)] = (int(fields[1]), seconds, int(fields[21]) * 4096, name)
    family = {root}
    while more := {p for p, (parent, *_) in parents.items() if parent in family} - family:
        family |= more
    for pid in family & parents.keys():
        _, seconds, size, name = parents[pid]
        yield pid, name, seconds, size


if __name__ == "__main__":
    main()
