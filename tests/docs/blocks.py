"""The code blocks of a page, and how they are run.

A comment before a block says what a reader does not see: `<!-- file: NAME -->` saves it under this
name, `<!-- not run: REASON -->` leaves it alone. A block of `text` shows what the commands before
it print. Commands run in this process and ask the scripted model, by a server on loopback where the
page has an address; large numbers of questions are cut.
"""

import ast
import asyncio
import json
import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

from tests import ROOT
from tests.commands import agent_env

BLOCK = re.compile(
    r"(?:^ *<!-- (?P<kind>file|not run): (?P<value>[^\n]+) -->\s*\n)?"
    r"^ *(?P<fence>`{3,})(?P<language>\w*) *\n(?P<text>.*?)^ *(?P=fence)",
    re.M | re.S,
)
ADDRESS = re.compile(r"http://127\.0\.0\.1:(?:8000|8765)(?:/v1)?")
"""The servers of models that pages name."""
MOST = {
    "--limit": 2, "--repeats": 2, "--max": 4, "--forks": 8, "--entities": 150, "--count": 6,
}  # fmt: skip
"""How much is asked in a test."""
FEW_PUZZLES = 12
"""What a page may ask whose output is compared."""


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a page; the file where it is saved, or the reason why it is not run."""

    language: str
    text: str
    file: str
    reason: str


def blocks_of(page: Path) -> Iterator[Block]:
    """All blocks of the page, in order."""
    for found in BLOCK.finditer(page.read_text(encoding="utf-8")):
        kind, value, _, language, text = found.groups()
        told = {"file": "", "not run": ""} | ({kind: value} if kind else {})
        yield Block(language, text, *told.values())


@dataclass(slots=True)
class Page:
    """A page that is being run, in a folder of its own."""

    name: str
    folder: Path
    address: str
    """Of the server of models."""
    environment: dict[str, str] = field(default_factory=dict)
    names: dict[str, object] = field(default_factory=dict)
    printed: str = ""
    """By the last block of commands."""

    def run(self, block: Block) -> None:
        """Runs or checks the block."""
        if block.file:
            (self.folder / block.file).write_text(block.text, encoding="utf-8")
        runs = {"bash": self._run_commands, "python": self._run_python, "toml": tomllib.loads}
        runs |= {"json": _read_json, "text": (lambda text: None) if block.file else self._compare}
        assert block.language in runs, f"'{block.language}' needs a reason why it is not run"
        runs[block.language](block.text)

    def _run_commands(self, text: str) -> None:
        printed = []
        for words in commands_of(text):
            if words[0] == "agent-env":
                printed.append(self._run_agent_env(words[1:]))
            elif words[0] == "export":
                self.environment |= dict(word.split("=", 1) for word in words[1:])
            elif words[0] == "pip":
                check_extras(words)
            else:
                command = shlex.join(words).replace("'>'", ">")
                subprocess.run(["sh", "-c", command], cwd=self.folder, check=True)
        self.printed = "\n".join(printed)

    def _run_agent_env(self, words: list[str]) -> str:
        if words[-1] == "&":  # a server, in whose place ours answers
            return ""
        assert words[0] not in ("view", "serve"), "it waits for somebody: say so as a reason"
        words, target = (words[:-2], words[-1]) if words[-2:-1] == [">"] else (words, "")
        words = [ADDRESS.sub(self.address, word) for word in self._smaller(words)]
        environment = {"OPENAI_API_KEY": "a-key-for-tests"} | self.environment
        environment |= {"COLUMNS": "80", "OPENAI_BASE_URL": self.address}
        done = agent_env(*words, cwd=self.folder, env=environment)
        assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}\n{done.stderr}"
        if target:
            (self.folder / target).write_text(done.stdout, encoding="utf-8")
        return done.stdout + done.stderr

    def _smaller(self, words: list[str]) -> list[str]:
        """The command with fewer questions, where its output is not compared."""
        smaller = list(words)
        for number, word in enumerate(words[:-1], 1):
            most = FEW_PUZZLES if self.is_compared and word == "--limit" else MOST.get(word)
            if most is not None and int(words[number]) > most:
                smaller[number] = str(MOST[word])
        if words[0] == "run" and "--limit" not in words and not self.is_compared:
            smaller += ["--limit", "2"]
        return smaller

    @property
    def is_compared(self) -> bool:
        return self.name in ("README", "tutorial")

    def _run_python(self, text: str) -> None:
        code = compile(text, self.name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        with chdir(self.folder), redirect_stdout(StringIO()):
            if (awaited := eval(code, self.names)) is not None:
                asyncio.run(awaited)
            for name in [name for name in self.names if name.startswith("test_")]:
                self.names.pop(name)()

    def _compare(self, shown: str) -> None:
        """Each line that is shown was printed; blanks do not count, and `…` stands for anything."""
        printed = " ".join(self.printed.split())
        for line in shown.splitlines():
            parts = [" ".join(part.split()) for part in line.split("…")]
            missing = [part for part in parts if part not in printed]
            assert not missing, f"{self.name}: not printed: {missing}\n{self.printed}"


def commands_of(text: str) -> Iterator[list[str]]:
    """The words of each command, comments left out."""
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        while words:
            end = words.index("&&") if "&&" in words else len(words)
            yield words[:end]
            words = words[end + 1 :]


def check_extras(words: list[str]) -> None:
    """The extras of agent-env that are installed exist."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for word in words:
        if named := re.fullmatch(r"\.\[(.+)\]", word):
            assert set(named[1].split(",")) <= project["optional-dependencies"].keys(), word


def _read_json(text: str) -> None:
    try:
        json.loads(text)
    except json.JSONDecodeError:
        for line in text.splitlines():
            json.loads(line)
