"""A level of difficulty, as samples and run.json state it."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from agent_env.records.reach import Plain


class Tier(BaseModel):
    """A family's options under a name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Plain[str] = Field(pattern=r"^[a-z][a-z0-9-]{0,39}$")
    """Such as `easy`; `paper` is the family's defaults."""
    about: Plain[str]
    """What its questions are."""
    options: Plain[tuple[str, ...]] = ()
    """Its options as KEY=VALUE."""
    replaced: Plain[tuple[str, ...]] = Field(default=(), exclude_if=lambda names: not names)
    """Those of them that the user gave another value."""

    def __str__(self) -> str:
        """For users, in one line."""
        options = f" ({' '.join(self.options)})" if self.options else ""
        own = f", but for your own {', '.join(self.replaced)}" if self.replaced else ""
        return f"{self.name}: {self.about}{options}{own}"
