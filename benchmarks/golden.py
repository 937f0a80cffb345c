"""What a rewrite must keep, as digests: generated sets; samples, scores, tables, reports, exports
and replays of small runs by scripted models; stored runs of every version; help texts.

    python benchmarks/golden.py OUT.json [--quick] [--tree DIR] [--texts DIR]
    python benchmarks/golden.py OUT.json --against OLD.json

Two runs on one tree give the same digests. `--tree` imports agent_env from another checkout,
so one script measures a commit before and after. `--against` names what differs, is new or is
gone; `--texts` keeps what the digests are of, to be compared by diff. Times, run ids, versions and
paths are blanked out first.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]
STORED = "tests/data/runs"
TIMEOUT_S = 600

GENERATED: dict[str, dict[str, list[str]]] = {
    "time-puzzles": {
        "": [],
        "unchecked": ["unchecked=true"],
        "calendars": ["calendars=chinese,hebrew,islamic,persian"],
    },
    "tdbench": {
        "": [],
        "shipped": ["tables=shipped"],
        "kinds": ["kinds=current,nth,longest,count,duration,hops"],
    },
    "tempreason": {"": [], "open-web": ["setting=open-web"]},
    "timeqa": {"": []},
    "traveler": {"": []},
    "temp-answers": {"": []},
}
"""By task: names of sets and their options; each with every seed."""
SEEDS = (1, 2, 7)
CONDITIONS = {
    "time-puzzles": ("base", "explicit", "web", "web+python"),
    "traveler": ("base", "events"),
}
"""Of the runs by `reference`; else `base` and what the task offers by default."""
EXPORTS = ("jsonl", "sft", "verifiers", "atif", "inspect")
HELP = """
import json, typer
from agent_env.cli.app import app
def walk(command, name, parent=None):
    context = command.context_class(command, info_name=name.split()[-1], parent=parent)
    yield name, command.get_help(context)
    for sub in getattr(command, "list_commands", lambda context: [])(context):
        yield from walk(command.get_command(context, sub), f"{name} {sub}", context)
print(json.dumps(dict(walk(typer.main.get_command(app), "agent-env"))))
"""


def main() -> None:
    """Writes the digests; exits with 1 where `--against` finds a difference."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--quick", action="store_true", help="one seed, two tasks, no help texts")
    parser.add_argument("--tree", type=Path, default=HERE, help="the checkout to measure")
    parser.add_argument("--texts", type=Path, help="a folder for what the digests are of")
    parser.add_argument("--against", type=Path, help="digests of another tree")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        golden = Golden(options.tree.resolve(), Path(folder), options.texts)
        golden.measure(options.quick)
    options.out.write_text(json.dumps(golden.digests, indent=1) + "\n")
    print(f"{len(golden.digests)} digests in {options.out}")
    if options.against is not None:
        lines = list(differences(json.loads(options.against.read_text()), golden.digests))
        print("\n".join(lines) or "nothing differs")
        sys.exit(bool(lines))


def differences(old: dict[str, str], new: dict[str, str]) -> Iterator[str]:
    """What differs, by name; a part of a full set is compared with that part."""
    for name in sorted({*old, *new}):
        if old.get(name) != new.get(name):
            what = "new" if name not in old else "gone" if name not in new else "differs"
            yield f"{what}: {name}"


@dataclass
class Golden:
    """The digests of one tree."""

    tree: Path
    folder: Path
    texts: Path | None
    digests: dict[str, str] = field(default_factory=dict)
    ids: set[str] = field(default_factory=set)
    """Of the runs that were made here."""

    def measure(self, quick: bool) -> None:
        """Takes all digests; a part of them where `quick`."""
        tasks = ("time-puzzles", "temp-answers") if quick else tuple(GENERATED)
        for task in tasks:
            for name, own in GENERATED[task].items():
                for seed in SEEDS[:1] if quick else SEEDS:
                    self._generate(task, name, own, seed)
        for task in tasks:
            self._run(task)
        stored = sorted(each for each in (self.tree / STORED).iterdir() if each.is_dir())
        for each in stored:
            self._stored(each)
        if not quick:
            self._help()

    def _generate(self, task: str, name: str, own: list[str], seed: int) -> None:
        out = self.folder / f"{task}{name}{seed}.jsonl"
        options = [part for option in own for part in ("--option", option)]
        done = self._call(
            "questions",
            "generate",
            task,
            "--limit",
            "12",
            "--seed",
            str(seed),
            *options,
            "--out",
            out,
        )
        label = f"generate {task} {name}".strip() + f" seed {seed}"
        self._file(label, out, done.returncode)

    def _run(self, task: str) -> None:
        run = self.folder / f"run-{task}"
        conditions = [part for c in CONDITIONS.get(task, ()) for part in ("--condition", c)]
        done = self._call("run", task, "--limit", "4", "--repeats", "2", "--seed", "3",
                          "--out", run, "--no-preflight", *conditions)  # fmt: skip
        if (manifest := run / "run.json").exists():
            self.ids.add(str(json.loads(manifest.read_text()).get("id") or "no id"))
        self._file(f"samples {task}", run / "samples.jsonl", done.returncode)
        self._readings(task, run)
        html = self.folder / f"{task}.html"
        figures = self._call("compare", run, "--html", html)
        self._file(f"report {task}", html, figures.returncode)
        for kind in EXPORTS:
            out = self.folder / f"{task}-{kind}"
            done = self._call("episodes", "export", run, "--to", kind, "--out", out)
            files = (each for each in out.rglob("*") if each.is_file())
            parts = sorted(f"{self._plain(str(each))}\n{self._content(each)}" for each in files)
            self._keep(f"export {task} {kind}", "\n".join(parts), done.returncode)

    def _stored(self, folder: Path) -> None:
        run = self.folder / folder.name
        shutil.copytree(folder, run)
        self._readings(f"stored {folder.name}", run)
        traces = sorted((run / "episodes").rglob("*.jsonl"))
        for trace in traces[:: max(1, len(traces) // 4)]:
            self._output(f"show {folder.name}/{trace.parent.name}/{trace.stem}", "show", trace)

    def _readings(self, name: str, run: Path) -> None:
        """What commands make of a run folder."""
        self._output(f"score {name}", "show", run, "--json")
        self._output(f"diagnose {name}", "show", run, "--why")
        self._output(f"episodes {name}", "episodes", "list", run, "--json")
        done = self._call("replay", run)
        self._keep(f"replay {name}", "", done.returncode)
        compare = ("compare", run)
        self._output(f"compare {name} json", *compare, "--json")
        self._output(f"compare {name} text", *compare)
        out = self.folder / f"csv-{name.replace(' ', '-')}"
        self._call(*compare, "--table", "all", "--to", "csv", "--out", out)
        for file in sorted(out.glob("*.csv")):
            self._file(f"compare {name} table {file.stem}", file)

    def _help(self) -> None:
        done = self._python("-c", HELP)
        for command, text in json.loads(done.stdout or b"{}").items():
            self._keep(f"help {command}", text)

    # One command, one digest --------------------------------------------------------------------

    def _call(self, *arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
        return self._python("-m", "agent_env", *map(str, arguments))

    def _python(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        state = self.folder / "state"
        environment = {
            **{name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")},
            "PYTHONPATH": str(self.tree), "PYTHONHASHSEED": "0", "COLUMNS": "100",
            "HOME": str(state), "XDG_STATE_HOME": str(state), "XDG_CACHE_HOME": str(state),
            "MPLCONFIGDIR": str(state), "NO_COLOR": "1",
        }  # fmt: skip
        return subprocess.run(
            [sys.executable, *arguments], capture_output=True, env=environment, cwd=self.folder,
            timeout=TIMEOUT_S, check=False,
        )  # fmt: skip

    def _output(self, label: str, *arguments: str | Path) -> None:
        done = self._call(*arguments)
        self._keep(label, self._plain(done.stdout.decode("utf-8", "replace")), done.returncode)

    def _file(self, label: str, file: Path, code: int = 0) -> None:
        self._keep(label, self._content(file) if file.exists() else "", code)

    def _content(self, file: Path) -> str:
        """What is to be kept of a file."""
        if file.suffix == ".eval":
            from inspect_ai.log import read_eval_log

            return self._plain(read_eval_log(str(file)).model_dump_json())
        if file.suffix == ".csv":
            return _blank_table(file.read_text("utf-8"))
        text = self._plain(file.read_text("utf-8", "replace"))
        # the tables are digested as JSON and CSV; here, seconds stand among the figures
        return _FIGURE.sub("0", _TABLE.sub("", text)) if file.suffix == ".html" else text

    def _keep(self, label: str, text: str, code: int = 0) -> None:
        """The digest of an output and its exit code."""
        text = f"exit {code}\n{text}"
        self.digests[label] = hashlib.sha256(text.encode()).hexdigest()[:16]
        if self.texts is not None:
            self.texts.mkdir(parents=True, exist_ok=True)
            (self.texts / re.sub(r"[^\w.+-]+", "_", label)[:180]).write_text(text)

    def _plain(self, text: str) -> str:
        """Without what differs from run to run: JSON by names of keys, other text by form."""
        for name in (str(self.folder), str(self.tree)):
            text = text.replace(name, "PATH")
        for name in self.ids:
            text = text.replace(name, "ID")
        try:
            return json.dumps(_blank(json.loads(text)), ensure_ascii=False, indent=1)
        except ValueError:
            pass
        lines = []
        for line in text.splitlines():
            try:
                lines.append(json.dumps(_blank(json.loads(line)), ensure_ascii=False))
            except ValueError:
                lines.append(_blank_text(line))
        return "\n".join(lines)


_VARIES = re.compile(
    r"(^|_)(id|ids|start|checksum|path|timing|uuid|at|time|timestamp|timestamps|ts|started|completed|created|date|duration|"
    r"seconds|secs|s|ms|us|latency|version|versions|machine|python|platform|host|pid|revision|commit|"
    r"generated|eval_id|run_id|digest|digests|code|size|mtime|stats)$|\bseconds?\b|^duration_s\b"
)
"""Names of JSON keys whose values differ between two runs of one tree, or between machines."""
_KEPT = {"sample_id", "doc_id", "source_id", "tool_call_id", "call_id"}
_FORMS = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d[:-]\d\d[:-]\d\d[\d.,:-]*(Z|[+-]\d\d:?\d\d)?"), "TIME"),
    (re.compile(r"\b\d+(?:\.\d+)?(?:e-\d+)? ?(?:s|ms|seconds|CPU-s)\b"), "TIME"),
    (re.compile(r"(?<=-)[a-z][0-9a-f]{10}\b"), "MARK"),  # of matplotlib's SVG
    (re.compile(r"(?<![0-9a-f])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f])"), "ID"),
    (re.compile(r"^[0-9a-f]{12}$"), "CODE"),
)


_TABLE = re.compile(r"<table.*?</table>", re.S)
_FIGURE = re.compile(r"\b[0-9a-f]{12}\b|(?:[-+−]\s?)?\d[\d.,]*")


def _blank(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _blank(own)
            for key, own in value.items()
            if key in _KEPT or not _VARIES.search(key)
        }
    if isinstance(value, list):
        return [_blank(own) for own in value]
    if isinstance(value, float):
        return float(f"{value:.12g}")
    return _blank_text(value) if isinstance(value, str) else value


def _blank_table(text: str) -> str:
    """A table without its columns of seconds."""
    head, *rows = csv.reader(text.splitlines())
    kept = [at for at, name in enumerate(head) if not _VARIES.search(name)]
    return "\n".join(",".join(row[at] for at in kept if at < len(row)) for row in (head, *rows))


def _blank_text(text: str) -> str:
    for form, becomes in _FORMS:
        text = form.sub(becomes, text)
    return text


if __name__ == "__main__":
    main()
