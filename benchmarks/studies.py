"""A study against fake servers with planted accuracies and errors of each class: killed five times,
resumed; its report must equal a plain computation over the traces.

python -m benchmarks.studies [SAMPLES] [FOLDER]

Run it from the repository's root. 3 models × 4 conditions × 2 tasks; each server fails 80 % of its
requests, 10 % in each of eight ways. The plain computation reads the traces as JSON and shares no
code with the package.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the tests' fake server

import agent_env as ae
from agent_env.records.schema import Message, ToolSpec
from tests.fake_server import FakeServer, Policy, ScriptedAnswer, tool_call

ERRORS = {
    "429": 0.1, "500": 0.1, "cut": 0.1, "html": 0.1, "empty": 0.1, "no-reply": 0.1,
    "error-body": 0.1, "hang": 0.1,
}  # fmt: skip
CONDITIONS = ("base", "cal", "web", "web+cal")
PLANTED = {
    "low": {"base": 0.1, "cal": 0.2, "web": 0.7, "web+cal": 0.7},
    "middle": {"base": 0.3, "cal": 0.3, "web": 0.8, "web+cal": 0.9},
    "high": {"base": 0.5, "cal": 0.5, "web": 0.9, "web+cal": 0.95},
}
KILLS = 5
RESUMES = 30
STUDY = """\
conditions = ["base", "cal", "web", "web+cal"]
contrasts = ["web:base", "web+cal:web", "(web:base)@high:(web:base)@low"]
concurrency = 8
reply_timeout_s = 1.0
retries = 12
stop_after_failures = 0

[tasks.puzzles]
task = "time-puzzles"
limit = {samples}
seed = 7

[tasks.sums]
task = "qa"
dataset = "sums.jsonl"
options = {{ scorer = "exact" }}
limit = {half}
"""
MODEL = """
[models.{name}]
model = "compatible/{name}"
base_url = "{url}"
prices = {{ input_per_million = 1.0, output_per_million = 2.0, date = "2026-11-01", source = "us" }}
"""


def main() -> None:
    """Runs the study and compares; exit 1 where a figure differs."""
    samples = int(sys.argv[1]) if sys.argv[1:] else 80
    with tempfile.TemporaryDirectory() as where:
        folder = Path(sys.argv[2] if sys.argv[2:] else where) / "study"
        folder.mkdir(parents=True)
        rows = [
            {"id": f"s{n}", "question": f"How much is {n} and {7 * n}?", "answer": str(8 * n)}
            for n in range(1, samples + 1)
        ]
        (folder / "sums.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        golds = {row["question"]: str(row["answer"]) for row in rows}
        golds |= {
            _constraints(sample.constraints): ", ".join(sample.gold) or "None"
            for sample in ae.task("time-puzzles", limit=samples, seed=7).samples()
        }
        with ExitStack() as stack:
            servers = {
                name: FakeServer(_policy(name, golds), errors=ERRORS, seed=place)
                for place, name in enumerate(PLANTED)
            }
            urls = {name: stack.enter_context(_serving(each)) for name, each in servers.items()}
            text = STUDY.format(samples=samples, half=samples // 2)
            text += "".join(MODEL.format(name=name, url=url) for name, url in urls.items())
            (folder / "study.toml").write_text(text)
            begun = time.monotonic()
            starts = _run(folder, samples)
            print(f"{starts} starts, {KILLS} of them killed, {time.monotonic() - begun:.0f} s")
            for name, server in servers.items():
                faults = ", ".join(f"{n} {kind}" for kind, n in sorted(server.counts.items()))
                print(f"{name}: {faults}")
        problems = list(_differences(folder, samples))
    print("\n".join(problems) or "every figure of the report equals the plain computation")
    sys.exit(bool(problems))


def _constraints(texts: Sequence[str]) -> str:
    """The part of a prompt that tells puzzles apart."""
    return "\n".join(f"- {text}" for text in texts)


def _policy(model: str, golds: dict[str, str]) -> Policy:
    """Calls each tool once, then answers right as often as was planted."""

    async def answer(turns: Sequence[Message], offers: Sequence[ToolSpec]) -> ScriptedAnswer:
        names = {offer.name for offer in offers}
        used = {call.name for turn in turns for call in turn.tool_calls}
        for name in sorted(names & {"calendars", "web_search"} - used):
            return ScriptedAnswer(calls=(tool_call(name, json.dumps({"query": "the question"})),))
        parts = [p for p, tool in (("web", "web_search"), ("cal", "calendars")) if tool in names]
        condition = "+".join(parts) or "base"
        prompt = next(turn.content for turn in turns if turn.role == "user")
        question = next((key for key in golds if key in prompt), "")
        draw = hashlib.sha256(f"{model}/{condition}/{question}".encode()).digest()[0] / 256
        is_right = question in golds and draw < PLANTED[model][condition]
        return ScriptedAnswer(f"MY ANSWER: {golds[question] if is_right else '1850-01-01'}")

    return answer


@contextmanager
def _serving(server: FakeServer) -> Iterator[str]:
    """The server's address; it answers in a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(60)
    try:
        yield server.url
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


# The runs ----------------------------------------------------------------------------------------

COMMAND = """\
import sys
from agent_env.episodes.calls import retries
retries.doubled_s = lambda attempt, first_s, longest_s: 0.02  # not minutes between attempts
from agent_env.cli.app import main
sys.argv[0] = "agent-env"
main()
"""


def _run(folder: Path, samples: int) -> int:
    """Starts the study, kills it five times, and goes on until it is done; the number of starts."""
    most = 3 * 4 * (samples + samples // 2)
    for start in range(1, RESUMES):
        verb = "run" if start == 1 else "resume"
        process = subprocess.Popen([sys.executable, "-c", COMMAND, "study", verb, str(folder)])
        if start <= KILLS:
            aim = most * start // (2 * KILLS + 2)
            while process.poll() is None and _traces(folder) < aim:
                time.sleep(0.1)
            process.send_signal(signal.SIGKILL)
            process.wait()
        elif (code := process.wait()) == 0 and not _failed(folder):
            return start
        elif code == 2:
            raise SystemExit("the study was refused")
    raise SystemExit(f"not done after {RESUMES} starts")


def _traces(folder: Path) -> int:
    return sum(1 for _ in folder.glob("*/*/episodes/*/*.jsonl"))


def _failed(folder: Path) -> int:
    """Episodes without an answer, which the next start runs again."""
    files = folder.glob("*/*/episodes/*/*.jsonl")
    return sum('"episode_finished"' not in file.read_text().splitlines()[-1] for file in files)


# The plain computation ---------------------------------------------------------------------------


def _differences(folder: Path, samples: int) -> Iterator[str]:
    """Each figure of the report that is not the plain one, and each promise that was not kept."""
    subprocess.run([sys.executable, "-m", "agent_env", "study", "report", str(folder)], check=True)
    page = (folder / "report.html").read_text()
    for task, most in (("puzzles", samples), ("sums", samples // 2)):
        means = _table(page, f"{task}-conditions-", "exact_match")
        changes = _table(page, f"{task}-differences-", "exact_match")
        scores = {
            f"{model} {condition}": _scores(folder / task / model, condition)
            for model in PLANTED
            for condition in CONDITIONS
        }
        for arm, own in scores.items():
            plain = sum(own.values()) / len(own)
            model, _, condition = arm.partition(" ")
            planted = PLANTED[model][condition]
            print(f"{task:8} {arm:16} planted {planted:.2f}, {plain:.3f} of {len(own):3} of {most}")
            if abs(means[arm] - plain) > 1e-9:
                yield f"{task}: {arm} is {means[arm]} in the report and {plain}"
            if len(own) != most:
                yield f"{task}: {arm} has {len(own)} of {most} episodes"
        for model in PLANTED:
            for after, before in (("web", "base"), ("web+cal", "web")):
                one, other = scores[f"{model} {after}"], scores[f"{model} {before}"]
                pairs = [one[name] - other[name] for name in one.keys() & other.keys()]
                name, plain = f"{model} {after} − {model} {before}", sum(pairs) / len(pairs)
                print(f"{task:8} {name}: {plain:+.3f} over {len(pairs)} pairs")
                if abs(changes[name] - plain) > 1e-9:
                    yield f"{task}: {name} is {changes[name]} in the report and {plain}"


def _scores(run: Path, condition: str) -> dict[str, float]:
    """By sample 1 where the last event is a finished answer that is the gold one."""
    golds = {}
    for line in (run / "samples.jsonl").read_text().splitlines():
        sample = json.loads(line)
        golds[sample["id"]] = ", ".join(sample["gold"]) or "None"
    scores = {}
    for file in (run / "episodes" / condition).glob("*.jsonl"):
        event = json.loads(file.read_text().splitlines()[-1])
        if event["kind"] == "episode_finished":
            name = file.name.removesuffix(".1.jsonl")
            scores[name] = float(event["answer"].endswith(f"MY ANSWER: {golds[name]}"))
    return scores


def _table(page: str, name: str, column: str) -> dict[str, float]:
    """A column of a table of the report, by its first cells."""
    place = re.search(rf'<section class="table" id="{name}\d+">(.*?)</section>', page, re.DOTALL)
    assert place is not None, name
    heads = re.findall(r"<th[^>]*><button[^>]*>([^<]*)</button>", place[1])
    rows = re.findall(r"<tr>(<td.*?)</tr>", place[1], re.DOTALL)
    values = {}
    for row in rows:
        cells = re.findall(r'<td[^>]*data-w="([^"]*)"', row)
        values[cells[0].replace("&#43;", "+")] = float(cells[heads.index(column)])
    return values


if __name__ == "__main__":
    main()
