"""What every plugged-in tool gets around it: a limit of time, a limit of output, errors with names.

What the model can mend is told to the model (ToolError, a call that takes too long); anything else
that the tool raises ends its episode, and no other.
"""

from __future__ import annotations

from agent_env.errors import EpisodeError, ToolError, place_of
from agent_env.foreign_calls import Overdue, call
from agent_env.protocols import Supplies, Tool, ToolDeclaration
from agent_env.records.schema import ToolResult, ToolSpec
from agent_env.records.tool_traits import ToolTraits


def open_plugin(declaration: ToolDeclaration, traits: ToolTraits, supplies: Supplies) -> Tool:
    """The tool of one episode; EpisodeError names the plug-in that cannot be made."""
    try:
        tool = declaration.open(supplies)
    except Exception as exc:  # the code of others
        raise _failure(traits, exc) from exc
    spec = getattr(tool, "spec", None)
    if spec is None or not hasattr(tool, "run"):
        raise EpisodeError(f"{_named(traits)} makes a {type(tool).__name__}, which is no tool")
    if spec.name != traits.name:
        raise EpisodeError(f"{_named(traits)} calls itself {spec.name} in its spec")
    return PluginTool(tool, traits)


class PluginTool:
    """A tool of somebody else's."""

    def __init__(self, inner: Tool, traits: ToolTraits) -> None:
        self._inner = inner
        self._traits = traits
        self.spec = inner.spec

    async def run(self, arguments: dict[str, object]) -> ToolResult:
        traits = self._traits
        try:
            if getattr(self._inner, "keeps_time", False):
                result = await self._inner.run(arguments)
            else:
                who = f"the tool {traits.name}"
                result = await call(who, traits.timeout_s, self._inner.run, arguments)
        except (ToolError, EpisodeError):
            raise
        except Overdue as exc:
            text = f"{traits.name} gave nothing within {traits.timeout_s:g} s"
            stood = f"; it stood at {exc.place}" if exc.place else ""
            return ToolResult(output=f"Error: {text}", error=text + stood)
        except Exception as exc:  # the code of others
            raise _failure(traits, exc) from exc
        if not isinstance(result, ToolResult):
            raise EpisodeError(f"{_named(traits)} gave a {type(result).__name__}, no ToolResult")
        if len(result.output) <= traits.output_limit:
            return result
        most = traits.output_limit
        notice = f"The output has {len(result.output):,} characters; these are the first {most:,}."
        return result.model_copy(update={"output": f"{result.output[:most]}\n[{notice}]"})

    def close(self) -> None:
        """Closes the tool where it wants that."""
        if (close := getattr(self._inner, "close", None)) is not None:
            try:
                close()
            except Exception as exc:  # the code of others
                raise _failure(self._traits, exc) from exc


def _named(traits: ToolTraits) -> str:
    return f"the tool {traits.name} ({traits.path})"


def _failure(traits: ToolTraits, exc: Exception) -> EpisodeError:
    where = f" at {place}" if (place := place_of(exc)) else ""
    return EpisodeError(f"{_named(traits)} raised {type(exc).__name__}: {exc}{where}")


class HostedTool:
    """A Tool of the provider's."""

    def __init__(self, name: str) -> None:
        text = f"The provider's own {name}, run by the provider within its reply."
        self.spec = ToolSpec(name=name, description=text, parameters={}, hosted=name)

    async def run(self, arguments: dict[str, object]) -> ToolResult:
        raise ToolError(f"{self.spec.name} is run by the provider; it cannot be called here")
