"""Local models, and servers of models that a run starts: `--model local` and `--serve COMMAND`.

`servers` says how a run's server is started and starts it, `process` keeps it up, `files` finds the
weights on this machine, `gguf` reads what they say of themselves, `llama` is our server of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from agent_env.features.local_models.records import LOCAL, ModelServer
from agent_env.features.local_models.servers import LocalOptions, Servers
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.family import Feature
from agent_env.sdk.inside import Check, OutsideSetting, Plugins
from agent_env.sdk.records import Reach


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
