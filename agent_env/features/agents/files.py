"""What an agent is: a file that says how it is started, given its question, and read.

Ours lie in `files/`; a path names somebody else's, of the same form, and a text with `{prompt}` in
it is a command line of its own. docs/features/agents.md has the fields and the placeholders.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
import tomllib
from importlib.metadata import distributions
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent_env.sdk.commands import need_extra
from agent_env.sdk.errors import ConfigError, user_problem
from agent_env.sdk.records import AgentUse

OURS = Path(__file__).with_name("files")
ADDRESSES = {
    "OPENAI_BASE_URL": "{openai_url}",
    "OPENAI_API_BASE": "{openai_url}",
    "OPENAI_API_KEY": "{token}",
    "ANTHROPIC_BASE_URL": "{url}",
    "ANTHROPIC_API_KEY": "{token}",
    "GOOGLE_GEMINI_BASE_URL": "{url}",
    "GEMINI_API_KEY": "{token}",
    "AGENT_MODEL": "{model}",
    "AGENT_MCP_URL": "{mcp_url}",
}
"""What every agent's environment says, so that a command line alone is often enough."""
BARE = "-bare"
"""Behind a name of ours: the agent without its own tools."""


_MARKED = re.compile(r"\.{0,2}/")
"""A word of a command that is a file or folder: `run` is none, even where there is a folder run."""


class AgentFile(BaseModel):
    """The fields of a file; texts have placeholders, which each episode fills in."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    install: str = ""
    """The command that installs it, for who lacks it."""
    package: str | None = None
    """Its package, of Python or npm, by which its version is known."""
    command: tuple[str, ...] = Field(min_length=1)
    variables: dict[str, str] = Field(default_factory=dict)
    """Of its environment."""
    files: dict[str, str] = Field(default_factory=dict)
    """Texts by their places in its home."""
    reads: tuple[str, ...] = ()
    """Folders of this machine that it must see, beside its own installation and what its command
    names."""
    answer: str = "reply"
    """Where its answer is: `reply`, `stdout`, or a file's place in its home."""
    own_tools: tuple[str, ...] = ()
    """Names of its own tools."""


def names() -> list[str]:
    """The agents that we have files of."""
    return sorted(path.stem for path in OURS.glob("*.toml"))


def read(text: str) -> AgentUse:
    """The agent of this name, of this file, or of this command line; ConfigError where there is
    none, its file is not right, or it is not installed."""
    if text.endswith(BARE) and text.removesuffix(BARE) in names():
        return read(text.removesuffix(BARE)).model_copy(update={"name": text, "is_bare": True})
    if "{prompt" in text:
        try:
            words = shlex.split(text)
        except ValueError as exc:
            raise ConfigError(f"--agent {text}: {exc}") from exc
        return _use(_name(Path(words[0]).name), AgentFile(command=tuple(words)))
    if text.endswith(".toml"):
        path, name = Path(text), _name(Path(text).stem)
    else:
        path, name = OURS / f"{text}.toml", text
        if text not in names():
            raise ConfigError(
                f"--agent {text}: no such agent; there are loop, {', '.join(names())}, a file "
                "NAME.toml, and a command line with {prompt} in it"
            )
    try:
        found = AgentFile.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except ValidationError as exc:
        problem = user_problem(exc.errors(), AgentFile.model_fields)
        raise ConfigError(f"--agent {text}: {problem}") from exc
    except (OSError, ValueError) as exc:
        raise ConfigError(f"--agent {text}: {exc}") from exc
    return _use(name, found)


def _name(text: str) -> str:
    """As conditions have it; ConfigError where another one is meant by it."""
    name = re.sub("[^a-z0-9]+", "-", text.lower()).strip("-")[:32]
    if name in ("", "loop"):
        raise ConfigError(f"--agent: '{text}' cannot be an agent's name; call the file another")
    return name


def _use(name: str, file: AgentFile) -> AgentUse:
    need_extra("mcp.client", what=f"--agent {name}")
    if sys.platform != "linux":
        raise ConfigError(f"--agent {name}: agents of others need Linux, which can shut them in")
    program = shutil.which(file.command[0])
    version = None if program is None or file.package is None else _version(program, file.package)
    if program is None or (file.package is not None and version is None):
        what = f"there is no program '{file.command[0]}' on the PATH"
        if program is not None:
            what = f"the environment of {program} has no package {file.package}"
        hint = f"; install it: {file.install}" if file.install else ""
        raise ConfigError(f"--agent {name}: {what}{hint}")
    is_file = [_MARKED.match(word) is not None and os.path.exists(word) for word in file.command]
    words = [
        os.path.abspath(w) if there else w for w, there in zip(file.command, is_file, strict=True)
    ]
    named = [word for word, there in zip(words[1:], is_file[1:], strict=True) if there]
    return AgentUse(
        name=name,
        version=version,
        command=(file.command[0], *words[1:]),
        variables={**ADDRESSES, **file.variables},
        files=file.files,
        reads=tuple(dict.fromkeys((*file.reads, *named))),
        answer=file.answer,
        own_tools=file.own_tools,
    )


def _version(program: str, package: str) -> str | None:
    """Of an installed package, without running anything of it; None where it is not there."""
    folders = [str(path) for path in Path(program).parent.parent.glob("lib/python3*/site-packages")]
    for found in distributions(name=package, path=folders):
        return found.version
    for above in Path(program).resolve().parents:
        about = above / "package.json"
        if about.is_file() and (fields := json.loads(about.read_text())).get("name") == package:
            return str(fields.get("version"))
    return None
