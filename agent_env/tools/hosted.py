"""Stand-ins for tools that the provider runs itself: offered, never run here."""

from __future__ import annotations

from collections.abc import Sequence

from agent_env.errors import ToolError
from agent_env.records.schema import ToolResult, ToolSpec

HOSTED = {"web_search": "web_search", "open_page": "web_search", "python": "code_interpreter"}
"""The provider's tool that stands for each of ours; what is not here stays ours."""


class HostedTool:
    """A Tool of the provider's."""

    def __init__(self, name: str) -> None:
        text = f"The provider's own {name}, run by the provider within its reply."
        self.spec = ToolSpec(name=name, description=text, parameters={}, hosted=name)

    async def run(self, arguments: dict[str, object]) -> ToolResult:
        raise ToolError(f"{self.spec.name} is run by the provider; it cannot be called here")


def hosted_names(tools: Sequence[str]) -> tuple[str, ...]:
    """The provider's tools for these of ours, and ours that have none, in order."""
    return tuple(dict.fromkeys(HOSTED.get(tool, tool) for tool in tools))
