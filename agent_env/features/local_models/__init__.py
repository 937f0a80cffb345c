"""Local models, and servers of models that a run starts: `--model local` and `--serve COMMAND`.

`servers` says how a run's server is started and starts it, `process` keeps it up, `files` finds the
weights on this machine, `gguf` reads what they say of themselves, `llama` is our server of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from agent_env.features.local_models.records import ModelServer
from agent_env.sdk.commands import Opt
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.family import Feature
from agent_env.sdk.inside import SERVER, Check, OutsideSetting, Plugins, StartedServer
from agent_env.sdk.records import Reach

if TYPE_CHECKING:
    from agent_env.sdk.run import Run, RunOptions

LOCAL = "local"
"""The model of the first package with weights; LOCAL/FILE.gguf is that of a file."""


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """How the model's server is started."""

    serve: Annotated[
        str | None,
        Opt(
            "Start the server of a compatible/ model by this command, and end it with the run: "
            "'vllm serve NAME --port {port}'.",
            SERVER,
            metavar="COMMAND",
            reach=Reach.COMMAND,
        ),
    ] = None
    chat_template: Annotated[
        str | None,
        Opt(
            "Of a local model: a Jinja file in place of its own template, or fenced-json.",
            SERVER,
            reach=Reach.FILE,
        ),
    ] = None


class Servers:
    """Our server of weights on this machine, and those of the user's commands."""

    def has(self, model: str) -> bool:
        """Whether we start the model's server; false for a model of a run that exists already."""
        return model == LOCAL or (model.startswith(f"{LOCAL}/") and model.endswith(".gguf"))

    def of_run(
        self, run_options: RunOptions, options: LocalOptions, note: Callable[[str], None]
    ) -> tuple[RunOptions, ModelServer | None]:
        """The options with the model's name, address and parameters as its server needs them."""
        if not self.has(run_options.model) and options == LocalOptions():
            return run_options, None
        from agent_env.features.local_models.servers import server_of_run

        return server_of_run(run_options, options, self.has(run_options.model), note)

    def of_model(self, model: str) -> tuple[str, str, ModelServer]:
        """The local model's name in run.json, its address and its server."""
        from agent_env.features.local_models.servers import server_of_model

        return server_of_model(model)

    async def start(
        self,
        run: Run,
        model: str,
        url: str,
        settings: ModelServer,
        note: Callable[[str], None],
        stack: AsyncExitStack,
    ) -> StartedServer:
        """At another port where the recorded one is taken."""
        from agent_env.features.local_models.servers import start_server

        return await start_server(run, model, url, settings, note, stack)


async def read_again(
    settings: ModelServer, note: Callable[[str], None], plugins: Plugins
) -> ModelServer:
    """The server with its file and build as they are now."""
    from agent_env.features.local_models.files import as_now

    return as_now(settings)


def changes(before: ModelServer | None, now: ModelServer | None) -> list[str]:
    """A line for each difference that can change replies."""
    was, its = ({} if each is None else each.compared for each in (before, now))
    return [
        f"{name}: {was.get(name) or 'none'} → {its.get(name) or 'none'}"
        for name in was | its
        if was.get(name) != its.get(name)
    ]


def addresses(options: LocalOptions, urls: Mapping[str, str | None]) -> Mapping[str, str | None]:
    """As they are; ConfigError where one command is to serve several models."""
    if options.serve is not None and len(urls) > 1:
        raise ConfigError(
            "--serve starts the server of one model; run each by itself, or give each its "
            "`serve` in a study file"
        )
    return urls


def outside(settings: ModelServer) -> Iterator[OutsideSetting]:
    """The command, and the weights that it serves."""
    command, file, notice = settings.command, settings.file, " (runs on this machine)"
    grants = ((Reach.COMMAND, command),)
    yield OutsideSetting("server", command, notice, grants=grants, fields=("command",))
    if file is not None:
        grants = ((Reach.FILE, file.path),)
        yield OutsideSetting("model file", file.path, grants=grants, fields=("file.path",))


def checks() -> Iterator[Check]:
    """Whether `--model local` works."""
    from agent_env.features.local_models.files import find_local, server_build

    try:
        chosen = find_local(LOCAL)
    except ConfigError as exc:
        yield Check("model local", False, str(exc))
    else:
        yield Check("model local", True, f"{chosen.file.name}, by {server_build()}")


FEATURE = Feature(
    "local_models",
    options=LocalOptions,
    settings=ModelServer,
    servers=Servers(),
    addresses=addresses,
    read_again=read_again,
    changes=changes,
    outside=outside,
    checks=checks,
)
