"""What a tool says of itself; nobody else compares tools by their names."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from agent_env.records.reach import Code, Command, OutsideFile, Plain


class ToolTraits(BaseModel):
    """What the rest of the system must know of a tool. Stored with the conditions of runs whose
    tools are not built in; unknown fields are kept."""

    model_config = ConfigDict(frozen=True, extra="allow")

    name: Plain[str] = Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")
    """As models call it."""
    path: Code[str | None] = None
    """What finds the declaration: the name of an entry point, MODULE:NAME or FILE.py:NAME; None for
    a built-in tool, and for one of a feature's source."""
    source: Plain[str | None] = Field(default=None, exclude_if=lambda name: name is None)
    """ORIGIN/TOOL, where a feature's source of tools has it, such as `mcp:SERVER/TOOL`; ORIGIN is
    the part of a condition that brings all of it."""
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
        return self.path is not None or self.source is not None

    @property
    def origin(self) -> str:
        """The part of a condition that brings a tool that is not built in, at least."""
        return self.name if self.source is None else self.source.partition("/")[0]


class AgentUse(BaseModel):
    """An agent that conditions use; its texts have placeholders, such as `{prompt}`, which
    `features.agents` fills in for each episode."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Plain[str] = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,31}$")
    """As in conditions: `web~by-NAME`."""
    version: Plain[str | None] = None
    """What its installation says; None where it says nothing."""
    command: Command[tuple[str, ...]]
    variables: Command[dict[str, str]] = Field(default_factory=dict)
    """Its environment, beside HOME, PATH and LANG."""
    files: Command[dict[str, str]] = Field(default_factory=dict)
    """Texts by their places in its folder, which is its HOME and its working directory."""
    reads: OutsideFile[tuple[str, ...]] = ()
    """Folders of this machine that it sees, read-only: where it is installed."""
    answer: Plain[str] = "reply"
    """Where its answer is: `reply` (the text of the model's last one), `stdout`, or a file's place
    in its folder."""
    own_tools: Plain[tuple[str, ...]] = ()
    """Names of its own tools, which we do not run."""
    is_bare: Plain[bool] = Field(default=False, exclude_if=lambda value: not value)
    """Whether the model is told of the condition's tools alone, and of none of its own."""

    def __hash__(self) -> int:
        return hash((self.name, self.command))  # dictionaries have none
