"""The server of a run's model: how it is started, by the run's options; and started."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from pydantic import JsonValue

from agent_env.features.local_models.records import LOCAL, ModelServer
from agent_env.sdk.commands import Opt
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.inside import COMPATIBLE, SERVER, StartedServer
from agent_env.sdk.records import Reach

if TYPE_CHECKING:
    from agent_env.sdk.run import Run, RunOptions

LOCAL_SLOTS = 2
"""Requests at a time that our own server has room for."""
SMALL_MODEL: Mapping[str, JsonValue] = {
    "tool_protocol": "text",
    "temperature": 0,
    "max_output_tokens": 160,
    "extra_body": {"dry_multiplier": 0.8},
}
"""Parameters of the packaged models, where the user gives none: their templates know no tools, they
talk without end, and they repeat themselves, against which llama.cpp has the sampler DRY."""
SMALL_LIMITS = {"steps": 3}
"""Of their episodes: a search, a page and an answer; more only repeats."""
SMALL_FORMATS = ("schema",)
"""In which their answers and calls come: free ones have no form that could be read."""


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
        self, options: RunOptions, its: LocalOptions, note: Callable[[str], None]
    ) -> tuple[RunOptions, ModelServer | None]:
        """The run's options as its server needs them, and how that is started; ConfigError where
        it cannot be."""
        if self.has(options.model):
            return _with_local(options, its, note)
        if its.chat_template is not None:
            raise ConfigError(
                f"--chat-template is for --model local; give it to the server of {options.model}"
            )
        if its.serve is None:
            return options, None
        if not options.model.startswith(COMPATIBLE):
            raise ConfigError(
                f"--serve starts the server of a model compatible/NAME, not of {options.model}"
            )
        if "{port}" not in its.serve:
            if options.base_url is None:
                raise ConfigError(
                    "--serve: write --port {port} in the command, for which a free one is put, or "
                    "say by --base-url where the server will be"
                )
            return options, ModelServer(command=its.serve)
        if options.base_url is not None:
            raise ConfigError("--serve with {port} and --base-url exclude each other; drop one")
        return replace(options, base_url=_free_address()), ModelServer(command=its.serve)

    async def start(
        self,
        run: Run,
        model: str,
        url: str,
        settings: ModelServer,
        note: Callable[[str], None],
        stack: AsyncExitStack,
    ) -> StartedServer:
        """The server, when it is ready; at another port where the recorded one is taken."""
        from agent_env.features.local_models.files import words_of
        from agent_env.features.local_models.process import ServerProcess, is_free, served_permit
        from agent_env.sdk.inside import facts_of_server

        if not re.fullmatch(r"https?://[^/@]+:\d+(/.*)?", url):
            raise ConfigError(f"{run.path}/run.json: its server is at no HOST:PORT, but at {url}")
        if "{port}" in settings.command and not is_free(_port_of(url)):
            url = _free_address()
        run.permit = served_permit(run.permit, settings.command, url)  # at another port, too
        process = ServerProcess(
            settings.command, words_of(settings, _port_of(url)), url, run.place("server.log"), note,
            permit=run.permit,
        )  # fmt: skip
        await process.start()
        stack.push_async_callback(process.close)
        facts = await facts_of_server(model, url, run.plugins)
        seen = {
            "models": facts.models,
            "context_tokens": facts.context_tokens,
            "template_digest": facts.template_digest,
        }
        return StartedServer(
            url, settings.model_copy(update=seen), process.is_up, settings.is_packaged
        )


def _with_local(
    options: RunOptions, its: LocalOptions, note: Callable[[str], None]
) -> tuple[RunOptions, ModelServer]:
    from agent_env.features.local_models.files import local_server

    if its.serve is not None:
        raise ConfigError("--serve is for compatible/NAME; a local model brings its command")
    slots = min(options.concurrency, LOCAL_SLOTS)
    name, server = local_server(options.model, slots, template=its.chat_template)
    assert server.file is not None
    if options.model == LOCAL:
        options = replace(
            options,
            parameters={**SMALL_MODEL, **options.parameters},
            limits={**SMALL_LIMITS, **options.limits},
            answer_formats=options.answer_formats or SMALL_FORMATS,
        )
    file = server.file
    licence = f", licence {file.licence}" if file.licence else ""
    note(f"{name}: {file.quantisation or 'unknown quantisation'}{licence}, by {server.build}")
    return replace(options, model=name, base_url=_free_address(), concurrency=slots), server


def _free_address() -> str:
    from agent_env.features.local_models.process import free_port

    return f"http://127.0.0.1:{free_port()}/v1"


def _port_of(url: str) -> int:
    return int(url.rpartition(":")[2].partition("/")[0])
