"""A model's server that a run starts itself, as run.json has it."""

from __future__ import annotations

from pydantic import Field

from agent_env.sdk.inside import Command, OutsideFile, Plain
from agent_env.sdk.records import Record

LOCAL = "local"
"""The model of the first package with weights; LOCAL/FILE.gguf is that of a file."""


class ModelFile(Record):
    """The weights of a local model."""

    path: OutsideFile[str]
    bytes: Plain[int]
    digest: Plain[str]
    """SHA-256 of the file."""
    architecture: Plain[str]
    quantisation: Plain[str | None] = None
    """As the file's header has it, such as Q4_1."""
    licence: Plain[str | None] = None
    """As the file or its package says; None where neither does."""
    context_tokens: Plain[int | None] = None
    """What the model was trained for."""
    package: Plain[str | None] = None
    """Name and version of the package that the file is part of."""


class ModelServer(Record):
    """How the server is started, and what it said of itself then; None is unknown."""

    command: Command[str]
    """With `{port}`; a model of ours also has `{server}`, our llama.cpp server, and `{file}`."""
    build: Plain[str | None] = None
    """Package and version of our llama.cpp server."""
    file: ModelFile | None = Field(default=None, exclude_if=lambda file: file is None)
    """The weights, where the command is ours."""
    models: Plain[tuple[str, ...] | None] = None
    """Names under which it serves models."""
    context_tokens: Plain[int | None] = None
    """The context of one request."""
    template_digest: Plain[str | None] = None
    """SHA-256 of the chat template."""

    @property
    def is_packaged(self) -> bool:
        """Whether server and weights are known from their packages, so that neither needs a
        preflight."""
        return self.file is not None and self.file.package is not None

    @property
    def compared(self) -> dict[str, str | None]:
        """What decides its replies."""
        return {
            "server command": self.command,
            "server build": self.build,
            "model file": None if self.file is None else self.file.digest,
        }
