"""A run in shards, some of which are killed with -9 after a random number of episodes and then
resumed, beside the same run in one piece: every table byte for byte, and the digest.

    python benchmarks/shards.py [--shards 16] [--kills 4] [--limit 32] [--seed 1] [--at-once 2]

Tables are compared whole but for the columns of a clock, which differ between any two runs.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from agent_env.analysis.result_tables import ResultTable, render
from agent_env.runs.compare import CompareOptions, compare_tasks, select_tables

WHAT = ("--condition", "base", "--condition", "web", "--condition", "web+python",
        "--condition", "explicit", "--repeats", "2")  # fmt: skip
CLOCK = ("duration_s", "seconds", "per second")
"""How the headings of the columns end that a clock measures."""


def main() -> None:
    """Prints what was killed, and whether all is the same; exit 1 where it is not."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--shards", type=int, default=16)
    parser.add_argument("--kills", type=int, default=4)
    parser.add_argument("--limit", type=int, default=32)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=2)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    limit, killed = str(options.limit), rng.sample(range(1, options.shards + 1), options.kills)
    with tempfile.TemporaryDirectory() as home:
        whole, merged, shards = (Path(home, *p) for p in (("a", "run"), ("b", "run"), ("shards",)))
        begin("run", "time-puzzles", *WHAT, "--limit", limit, "--out", str(whole)).wait()

        def shard(number: int) -> str:
            out = shards / str(number)
            part = f"{number}/{options.shards}"
            words = ("run", "time-puzzles", *WHAT, "--limit", limit, "--shard", part)
            process = begin(*words, "--out", str(out))
            if number in killed:
                chance = random.Random(number)
                after = chance.randrange(options.limit * 8 // options.shards)  # of 8 a sample
                while process.poll() is None and ended(out) < after:
                    time.sleep(0.005)
                time.sleep(chance.uniform(0, 0.05))
                process.kill()
            code = process.wait()
            return f"shard {number}: {ended(out)} episodes ended" if code < 0 else ""

        with ThreadPoolExecutor(options.at_once) as pool:
            notes = [note for note in pool.map(shard, range(1, options.shards + 1)) if note]
        print(*notes, sep="\n")
        cut = merge(shards, Path(home, "cut"))
        print(
            f"merged at once: {cut['ended']} of {cut['episodes']}; {cut['incomplete'] or 'whole'}"
        )
        marked = sum("(incomplete)" in table.title for table in tables(Path(home, "cut")))
        for number in killed:
            begin("resume", str(shards / str(number))).wait()
        result = merge(shards, merged)
        pairs = list(zip(tables(merged), tables(whole), strict=True))
        same = sum(render([one], "md") == render([other], "md") for one, other in pairs)
        is_same = result["digest"] == output("show", str(whole), "--json")["digest"]
        print(
            f"{len(notes)} killed, {marked} tables marked incomplete; when resumed: "
            f"{result['ended']} of {result['episodes']} episodes, {same} of {len(pairs)} tables "
            f"byte for byte, {'the same' if is_same else 'another'} digest"
        )
        sys.exit(not (is_same and same == len(pairs) and not result["incomplete"]))


def begin(*words: str) -> subprocess.Popen[bytes]:
    """The command in a process of its own."""
    quiet = subprocess.DEVNULL
    return subprocess.Popen([sys.executable, "-m", "agent_env", *words], stdout=quiet, stderr=quiet)


def output(*words: str) -> dict[str, object]:
    """The object that the command prints."""
    command = [sys.executable, "-m", "agent_env", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result: dict[str, object] = json.loads(done.stdout)
    return result


def merge(shards: Path, out: Path) -> dict[str, object]:
    """What `merge` says."""
    return output("episodes", "merge", str(shards), "--out", str(out), "--json")


def ended(run: Path) -> int:
    """Episodes whose trace has an end."""
    return sum(b"episode_finished" in each.read_bytes() for each in run.glob("episodes/*/*.jsonl"))


def tables(run: Path) -> list[ResultTable]:
    """Every table that `compare` makes of the run, without the columns of the clock."""
    (task,) = compare_tasks(CompareOptions((run,)), lambda text: None)
    return [
        table.of_columns(k for k, column in enumerate(table.columns) if not is_clock(column.name))
        for table in select_tables(task.comparison, ("all",), ())
    ]


def is_clock(heading: str) -> bool:
    """Whether a clock makes this column."""
    return heading.endswith(CLOCK)


if __name__ == "__main__":
    main()
