"""What the web ablations change for one sample; stored with it in the run's samples.jsonl."""

from __future__ import annotations

from collections.abc import Sequence

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
