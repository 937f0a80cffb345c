"""What `new` does: writes a package with a family or a tool that conforms, to be made one's own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path
from string import Template
from typing import Any

from agent_env.errors import ConfigError
from agent_env.registry import Registry
from agent_env.tasks.tool_registry import TOOLS
from agent_env.wiring.registry import FAMILIES

REGISTRIES: dict[str, Registry[Any]] = {"family": FAMILIES, "tool": TOOLS}
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Skeleton:
    """A package that was written."""

    folder: Path
    files: tuple[Path, ...]
    name: str
    """Of the family or the tool, as on the command line."""


def write_skeleton(kind: str, name: str, out: Path | None = None) -> Skeleton:
    """Writes the package into `out`, by default a new folder NAME here; ConfigError for a name that
    cannot be used and a folder that holds something."""
    if kind not in REGISTRIES:
        raise ConfigError(f"no skeleton of a '{kind}'; write family or tool")
    package = _package(name)
    registry = REGISTRIES[kind]
    entry = package if kind == "tool" else name
    if entry in registry.names():
        raise ConfigError(
            f"{kind} '{entry}' is there: {registry.entry(entry).origin}; take another"
        )
    if iskeyword(package) or find_spec(package) is not None:
        raise ConfigError(f"'{package}' is a module of Python or of an installed package already")
    folder = out or Path(name)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder} is there and not empty; name another folder by --out")
    texts = {
        "pyproject.toml": PROJECT,
        f"{package}/__init__.py": '"""What $name adds to agent-env."""\n',
        f"{package}/{kind}.py": FAMILY if kind == "family" else TOOL,
        f"tests/test_{package}.py": FAMILY_TEST if kind == "family" else TOOL_TEST,
    }
    values = {
        "name": name,
        "package": package,
        "entry": entry,
        "group": registry.group,
        "target": f"{package}.{kind}:{'FAMILY' if kind == 'family' else package}",
    }
    files = []
    try:
        for file, text in texts.items():
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(Template(text).substitute(values), encoding="utf-8")
            files.append(path)
    except OSError as exc:
        raise ConfigError(f"cannot write to {folder}: {exc.strerror}") from exc
    return Skeleton(folder, tuple(files), entry)


def _package(name: str) -> str:
    """The name of the package to import."""
    if not NAME.fullmatch(name) or len(name) > 40:
        raise ConfigError(
            f"'{name}' is no name for a package; write up to 40 small letters, digits and hyphens, "
            "such as leap-days"
        )
    return name.replace("-", "_")


PROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "$name"
version = "0.1"
requires-python = ">=3.11"
dependencies = ["agent-env"]

[project.entry-points."agent_env.$group"]
$entry = "$target"

[tool.setuptools]
packages = ["$package"]
"""

FAMILY = '''\
"""Which day comes so many days after another? Replace the questions by your own."""

from __future__ import annotations

import random
import re
from datetime import date, timedelta
from typing import Any

import agent_env as ae

NAME = "$entry"
QUESTION = "Which day is {days} days after {start}? End with MY ANSWER: YYYY-MM-DD."


class Question(ae.Sample):
    """What a question holds beside its id and its gold answer."""

    start: str
    """YYYY-MM-DD."""
    days: int


def make_samples(count: int, seed: int, options: Any) -> ae.SampleSet:
    """The same seed gives the same questions: nothing else may be drawn from."""
    rng = random.Random(seed)
    samples = []
    for number in range(1, count + 1):
        start = date(1900, 1, 1) + timedelta(rng.randrange(45_000))
        days = rng.randint(20, 400)
        gold = str(start + timedelta(days))
        name = f"{NAME}-{seed}-{number:05}"
        samples.append(Question(id=name, task=NAME, gold=(gold,), start=str(start), days=days))
    return ae.SampleSet(tuple(samples))


def prompt(sample: Any, condition: Any) -> tuple[ae.Message, ...]:
    """The first messages; `condition` names tools and wording. The gold may not be used."""
    text = QUESTION.format(days=sample.days, start=sample.start)
    return (ae.Message(role="user", content=text),)


def score(sample: ae.Sample, episode: Any) -> ae.Score:
    """1 for the right day; whatever the answer is, nothing may be raised."""

    def measure(answer: str | None) -> dict[str, object]:
        found = re.findall(r"MY ANSWER: *(\\d{4}-\\d\\d-\\d\\d)", answer or "")
        if not found:
            return {"outcome": "unreadable", "metrics": {"right": 0.0}}
        is_right = (found[-1],) == sample.gold
        return {"outcome": "read", "answer": (found[-1],), "metrics": {"right": float(is_right)}}

    return ae.episode_score(sample, episode, measure)


def next_step(turn: Any) -> tuple[str, tuple[Any, ...]] | None:
    """The scripted model `reference`, which needs no key: a reply and its tool calls, or None for a
    question of another family. It sees what a model sees."""
    match = re.search(r"(\\d+) days after (\\d{4}-\\d\\d-\\d\\d)", turn.messages[0].content)
    if match is None:
        return None
    return f"MY ANSWER: {date.fromisoformat(match[2]) + timedelta(int(match[1]))}", ()


def make_task(prompt_name: str, options: Any, tables: Any) -> ae.Task:
    """How questions are put and scored."""
    return ae.Task(
        name=NAME,
        sample_type=Question,
        prompt=prompt,
        scorer=score,
        metrics=("right",),
        default_conditions=("base",),
    )


FAMILY = ae.Family(NAME, make_task, make_samples, reference=next_step)
'''

FAMILY_TEST = '''\
"""The family keeps the contract of agent-env."""

from agent_env.testing import check_family

from $package.family import FAMILY


def test_the_family_conforms() -> None:
    check_family(FAMILY, gold_answer=lambda sample: f"MY ANSWER: {sample.gold[0]}")
'''

TOOL = '''\
"""The tool $entry. Replace what it does by your own."""

from __future__ import annotations

from datetime import date

import agent_env as ae


@ae.tool(timeout_s=10)
def $entry(start: date, end: date) -> str:
    """How many days lie between two days.

    Args:
        start: YYYY-MM-DD.
        end: YYYY-MM-DD, not before start.
    """
    if end < start:
        raise ae.ToolError(f"{end} is before {start}; give the earlier day as start")
    return f"{(end - start).days} days"
'''

TOOL_TEST = '''\
"""The tool keeps the contract of agent-env."""

from agent_env.testing import check_tool

from $package.tool import $entry


def test_the_tool_conforms() -> None:
    check_tool($entry, arguments=[{"start": "2000-02-28", "end": "2000-03-01"}])
'''
