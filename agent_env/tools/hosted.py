"""Stand-ins for tools that the provider runs itself: offered, never run here."""

from __future__ import annotations

from agent_env.errors import ToolError
from agent_env.records.schema import ToolResult, ToolSpec


class HostedTool:
    """A Tool of the provider's."""

    def __init__(self, name: str) -> None:
        text = f"The provider's own {name}, run by the provider within its reply."
        self.spec = ToolSpec(name=name, description=text, parameters={}, hosted=name)

    async def run(self, arguments: dict[str, object]) -> ToolResult:
        raise ToolError(f"{self.spec.name} is run by the provider; it cannot be called here")
