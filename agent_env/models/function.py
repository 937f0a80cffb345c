"""Plugged-in models: a function of the messages, the tools and the options, as many as it takes, or
an object with such a `generate`.

An `async def` runs in the run's event loop and must not block it; a plain function runs in a thread
of its own. Either gives a Reply, or the text of one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from agent_env.errors import AgentEnvError, ConfigError, ModelError, place_of
from agent_env.foreign_calls import Overdue, call
from agent_env.models.langchain import ChatModelMaker, is_chat_model
from agent_env.protocols import Model, ReplyOptions
from agent_env.records.schema import Message, Reply, ToolSpec

TIMEOUT_S = 600.0
MAX_PARAMETERS = 3


class PluginModel:
    """Asks a function. What it raises ends its episode, named with the line that raised it."""

    def __init__(self, function: Callable[..., Any], name: str, takes: int, owner: Any) -> None:
        """`takes`: how many of messages, tools and options; `owner` may have a `close`."""
        self._function = function
        self._takes = takes
        self._owner = owner
        self.name = name

    async def generate(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        options: ReplyOptions = ReplyOptions(),
    ) -> Reply:
        arguments = (tuple(messages), tuple(tools), options)[: self._takes]
        who = f"the model {self.name}"
        try:
            reply = await call(who, TIMEOUT_S, self._function, *arguments)
        except AgentEnvError:
            raise
        except Overdue as exc:
            where = f", and stood at {exc.place}" if exc.place else ""
            raise ModelError(f"{who} gave no reply within {TIMEOUT_S:g} s{where}") from exc
        except Exception as exc:  # the code of others
            where = f" at {line}" if (line := place_of(exc)) else ""
            text = f"{who} raised {type(exc).__name__}: {exc}{where}"
            raise ModelError(text, kind="bad_request") from exc
        if isinstance(reply, Reply):
            return reply
        if isinstance(reply, str):
            return Reply(message=Message(role="assistant", content=reply), finish_reason="stop")
        kind = type(reply).__name__
        raise ModelError(f"{who} gave a {kind}, not a Reply or a text", kind="bad_request")

    async def close(self) -> None:
        """Closes what was plugged in, where it wants that."""
        if (close := getattr(self._owner, "close", None)) is not None:
            await close()


def model_of(thing: Any, name: str) -> Callable[[], Model] | None:
    """Makes the model of a class or an object with `generate`, of a chat model of LangChain, of a
    function that answers, or of one without parameters that gives either; None for anything
    else."""
    if is_chat_model(thing):
        return ChatModelMaker(thing, name)
    if inspect.isclass(thing):
        return (lambda: _asking(thing(), name)) if hasattr(thing, "generate") else None
    if hasattr(thing, "generate"):
        return lambda: _asking(thing, name)
    if not callable(thing):
        return None
    takes = _parameters(thing)
    if takes == 0:
        return lambda: _asking(thing(), name)
    return lambda: PluginModel(thing, name, takes, thing)


def _asking(model: Any, name: str) -> PluginModel:
    if not hasattr(model, "generate"):
        raise ConfigError(f"model '{name}' makes a {type(model).__name__} without `generate`")
    return PluginModel(model.generate, name, MAX_PARAMETERS, model)


def _parameters(function: Callable[..., Any]) -> int:
    """How many of messages, tools and options it takes."""
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    if any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters):
        return MAX_PARAMETERS
    number = sum(each.kind in by_place for each in parameters)
    if number > MAX_PARAMETERS:
        raise ConfigError("a model takes messages, tools and options, and nothing more")
    return number
