"""What the web ablations change for one sample; stored with it in the run's samples.jsonl."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, JsonValue

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
