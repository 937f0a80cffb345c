"""What is done on purpose to the world of a condition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from agent_env.records.reach import Plain

_FROZEN = ConfigDict(frozen=True, extra="forbid")


class ChangedPage(BaseModel):
    """A page of the shifted world in place of one of the plain web."""

    model_config = _FROZEN

    was: Plain[str | None]
    """The plain web's page that it replaces; None for a further page."""
    url: Plain[str | None]
    """Its own address, which may hold a date; None where nothing replaces the page."""
    title: Plain[str] = ""
    text: Plain[str] = ""

    @classmethod
    def between(
        cls, plain: Sequence[tuple[str, str, str]], shifted: Sequence[tuple[str, str, str]]
    ) -> tuple[ChangedPage, ...]:
        """The pages that differ between two renderings, each (address, title, text). A page at
        another address stands for the one of the same title that is gone."""
        before, after = (
            {url: (title, text) for url, title, text in pages} for pages in (plain, shifted)
        )
        gone = {title: url for url, (title, _) in before.items() if url not in after}
        changed = []
        for url, (title, text) in after.items():
            if before.get(url) != (title, text):
                was = url if url in before else gone.pop(title, None)
                changed.append(cls(was=was, url=url, title=title, text=text))
        return (*changed, *(cls(was=url, url=None) for url in gone.values()))


class ShiftedWorld(BaseModel):
    """The same names with other dates, and what follows from them."""

    model_config = _FROZEN

    sample: Plain[dict[str, JsonValue]]
    """The fields of the sample that are others there, such as its gold."""
    pages: tuple[ChangedPage, ...]
    """Every page that states one of the dates, plain or shifted."""


class SampleAblation(BaseModel):
    """The sample's part of each web ablation of the run."""

    model_config = _FROZEN

    blocked: Plain[tuple[str, ...]] = ()
    """Addresses of the pages that are gone under `blocked`."""
    shifted: ShiftedWorld | None = None
    """None in a run without `shifted`."""


WebAblation = Literal["blocked", "shifted"]
AttackName = Literal["instruction", "false-page", "forged-format", "contradiction"]
FaultKind = Literal[
    "error",
    "timeout",
    "rate-limit",
    "truncated",
    "malformed",
    "crash",
    "empty",
    "stale",
    "other",
    "wrong",
]


class Fault(BaseModel):
    """A fault of a tool, drawn for each call."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool: Plain[str]
    """As models call it."""
    kind: Plain[FaultKind]
    rate: Plain[float] = Field(gt=0, le=1)
    """Share of the tool's calls that it is drawn for."""


class DrawnFault(BaseModel):
    """A fault that was drawn for a call, as the trace has it; no model sees it."""

    model_config = ConfigDict(frozen=True, extra="allow")

    kind: Plain[FaultKind]
    draw: Plain[str]
    """SEED/SAMPLE/REPEAT/TOOL/CALL, from which its kind and its text come."""
    true_output: Plain[str | None] = None
    """What the tool gave; None where the fault did not land: it would have changed nothing, or the
    call failed by itself."""

    @property
    def landed(self) -> bool:
        """Whether the model read something else than the tool gave."""
        return self.true_output is not None


class CallFault(BaseModel):
    """A fault that was drawn for a call of an episode."""

    model_config = ConfigDict(frozen=True, extra="allow")

    call: Plain[str]
    """The call's id."""
    tool: Plain[str]
    kind: Plain[FaultKind]
    landed: Plain[bool]
    """Whether the model read something else than the tool gave."""

    @property
    def is_implicit(self) -> bool:
        """Whether it looked like a result; of the others the model was told."""
        return self.kind in ("empty", "stale", "other", "wrong")


class SampleAttack(BaseModel):
    """An attack on one sample's pages; stored with it in the run's samples.jsonl."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Plain[AttackName]
    variant: Plain[str]
    """Which of its wordings."""
    planted: Plain[tuple[str, ...]] = ()
    """The wrong answer that it wants; () where it wants the canary."""
    canary: Plain[str | None] = None
    """A word that only the attacking page says."""
    pages: tuple[ChangedPage, ...]
    ranks: Plain[dict[str, Annotated[int, Field(ge=1, le=1000)]]] = Field(default_factory=dict)
    """By address, the place from 1 that search gives one of `pages`."""


class FaultOutcome(BaseModel):
    """What faults of tools did to one episode, and what was tried after them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    explicit: int
    """Faults that landed and of which the model was told."""
    implicit: int
    """Faults that landed and looked like results."""
    without_effect: int
    """Faults that were drawn and changed nothing."""
    says_so: bool
    """Whether a later reply names trouble."""
    retries: bool
    """Whether the same call was made again."""
    asks_otherwise: bool
    """Whether a similar call followed."""

    @property
    def landed(self) -> bool:
        return self.explicit + self.implicit > 0

    @property
    def notices(self) -> bool:
        """Whether any of the three."""
        return self.says_so or self.retries or self.asks_otherwise


class AttackOutcome(BaseModel):
    """What became of one attack in one episode; in an episode without it, by chance."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: AttackName
    exposed: bool
    """Whether the model read an attacking page."""
    given: bool
    """Whether the answer holds a planted value."""
    obeyed: bool
    """Whether the canary is in a call or the answer."""
    pages: tuple[str, ...] = ()
    """Addresses of the attacking pages that the model was shown."""

    @property
    def succeeds(self) -> bool:
        return self.given or self.obeyed


class Disturbance(BaseModel):
    """One way in which a condition differs from the plain one; its suffix is in the name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    suffix: Plain[str] = Field(pattern=r"^[a-z][a-z0-9.-]{0,39}$")
    """Behind `~`: `blocked`, `shifted`, `faults`, `attacked`, or one of these with a number."""
    ablation: Plain[WebAblation | None] = None
    """Whether the proving pages are gone, or say other dates."""
    faults: tuple[Fault, ...] = ()
    attack: Plain[AttackName | None] = None
    """What pages try to make the model do."""
