"""What a tool says of itself; nobody else compares tools by their names."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from agent_env.records.reach import Code, Plain


class ToolTraits(BaseModel):
    """What the rest of the system must know of a tool. Stored with the conditions of runs whose
    tools are not built in; unknown fields are kept."""

    model_config = ConfigDict(frozen=True, extra="allow")

    name: Plain[str] = Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")
    """As models call it."""
    path: Code[str | None] = None
    """What finds the declaration: the name of an entry point, MODULE:NAME or FILE.py:NAME; None for
    a built-in tool, and for one of an MCP server."""
    mcp: Plain[str | None] = Field(default=None, exclude_if=lambda name: name is None)
    """SERVER/TOOL, as the server calls it, where it is a tool of an MCP server."""
    needs_web: Plain[bool] = False
    """Whether it searches or fetches through the run's web."""
    needs_sandbox: Plain[bool] = False
    """Whether it runs code, in a sandbox session of its own."""
    needs_table: Plain[str | None] = None
    """What tables of the sample it needs, in words; None for none."""
    keeps_state: Plain[bool] = False
    """Whether a call changes what later calls give: such calls are run again on resume."""
    shows_web: Plain[bool] = False
    """Whether its results show pages of the web. The judges of evidence then read its results, and
    take no word of its arguments for a word of the answer."""
    opens_pages: Plain[bool] = False
    """Whether its argument `url` names the page that it shows."""
    gives_dates: Plain[bool] = False
    """Whether its output can hold dates of the answer that its arguments do not, so that their use
    can be checked."""
    hosted: Plain[str | None] = None
    """The provider's own tool that stands for it with --hosted-tools."""
    timeout_s: Plain[float] = Field(default=30.0, gt=0)
    """Of one call of a plugged-in tool."""
    output_limit: Plain[int] = Field(default=20_000, ge=1)
    """Characters that the model gets of one call of a plugged-in tool."""

    @property
    def is_own(self) -> bool:
        """Whether it is no built-in tool, so that its traits are stored with the condition."""
        return self.path is not None or self.mcp is not None
