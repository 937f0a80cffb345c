"""An agent of somebody else, as a run keeps it: how it is started and where its answer is read."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from agent_env.records.reach import Command, OutsideFile, Plain


class AgentUse(BaseModel):
    """An agent that conditions use; its texts have placeholders, such as `{prompt}`, which
    `extensions.agents` fills in for each episode."""

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
