"""A run on a two-node Ray cluster of this machine, one node of which is removed on the way.

python -m tests.ray_cluster FOLDER SAMPLES CONCURRENCY LATENCY_S   prints what came of it as JSON

A process of its own, as Ray leaves traces in the one it is started from.
"""

import asyncio
import json
import re
import sys
import time
from collections import Counter
from pathlib import Path

from agent_env.episodes.trace.lines import read_trace
from agent_env.features.ray.engine import require_ray, run_on_ray
from agent_env.features.reference.policy import Reference
from agent_env.records.trace_events import EpisodeResumed
from agent_env.runs.options.run_options import RunOptions
from agent_env.runs.run import Run
from agent_env.runs.scores.score import score_folder
from agent_env.runs.start import Listener, start_run
from tests.episodes.killing import held_requests, request_of
from tests.fake_server.server import serve


async def ordeal(where, samples, concurrency, latency_s):
    """What a run that loses a node comes to, beside one that does not."""
    log = []
    async with serve(Reference(), latency_s=latency_s) as server:
        server.recent = log  # all of them, not the latest

        def options(name):
            return RunOptions(
                "time-puzzles", model="compatible/x", base_url=server.url, limit=samples,
                conditions=("explicit+cal",), concurrency=concurrency, out=where / name,
            )  # fmt: skip

        quiet = Listener(lambda text: None, lambda *a: None, lambda *a: None)
        await start_run(options("calm"), quiet)
        calm = list(log)
        log.clear()
        found = await _lose_a_node(options("lost"), log)
    scored = (score_folder(Run(where / name), print) for name in ("calm", "lost"))
    scores = [sorted(score.model_dump_json() for _, score in each) for each in scored]
    asked = Counter(json.dumps(body["messages"], sort_keys=True) for body in log)
    return found | {
        "episodes": len(scores[1]),
        "same_scores": scores[0] == scores[1],
        "calls": len(log),
        "calls_calm": len(calm),
        "asked_twice": sum(number - 1 for number in asked.values()),
        "lost_with_the_node": sum(
            map(int, re.findall(r"others take its (\d+) episodes", str(found["notes"])))
        ),
        "resumed": _resumed(Run(where / "lost")),
    }


async def _lose_a_node(options, log):
    ray = require_ray()
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 1, "include_dashboard": False}
    started = time.monotonic()
    cluster = Cluster(initialize_head=True, connect=True, head_node_args=head)  # main thread only
    other = cluster.add_node(num_cpus=1)
    up_s = time.monotonic() - started
    notes = []
    removal = {}
    listener = Listener(notes.append, lambda *a: None, lambda *a: None)

    async def engine(folder, *arguments):
        run = asyncio.ensure_future(run_on_ray(folder, *arguments))
        remove = asyncio.ensure_future(_remove(folder, cluster, other, removal, log, run))
        await run
        await remove

    began = time.monotonic()
    try:
        await start_run(options, listener, engine)
    finally:
        ray.shutdown()
        cluster.shutdown()
    held, later = removal.pop("held"), log[removal.pop("at") :]
    return {
        **removal,
        "held_asked": sum(request_of(body) in held for body in later),
        "notes": notes,
        "cluster_up_s": round(up_s, 1),
        "run_s": round(time.monotonic() - began, 1),
    }


async def _remove(folder, cluster, node, removal, log, run):
    """Remove the node when all places are taken, and some episodes have ended before."""
    at_once = folder.manifest.concurrency
    for _ in range(2000):
        flying, finished = _counts(folder)
        if run.done() or (flying >= at_once and finished >= at_once // 4):
            break
        await asyncio.sleep(0.05)
    removal |= {"in_flight": _counts(folder)[0], "finished_before": _counts(folder)[1]}
    await asyncio.to_thread(cluster.remove_node, node, False)
    removal |= {"held": held_requests(folder.path), "at": len(log)}


def _counts(folder):
    """Episodes in flight, and finished."""
    files = list(folder.traces())
    done = sum(b'"kind":"episode_finished"' in file.read_bytes() for file in files)
    return len(files) - done, done


def _resumed(folder):
    """Episodes that went on from events that another worker had sent."""
    found = (read_trace(file) for file in folder.traces())
    return sum(any(isinstance(e, EpisodeResumed) for e in events) for events in found)


if __name__ == "__main__":
    path, *rest = sys.argv[1:]
    numbers = (int(rest[0]), int(rest[1]), float(rest[2]))
    print(json.dumps(asyncio.run(ordeal(Path(path), *numbers))))
