"""How hard the sealed web makes it to find and to read."""

from __future__ import annotations

from dataclasses import dataclass

from agent_env.errors import ConfigError
from agent_env.web.site.sheet import chance


@dataclass(frozen=True, slots=True)
class Difficulty:
    """What changes between levels; pages that prove something exist on all of them."""

    name: str
    keywords: float
    """Part of the words of an allusion to an event that its article gives."""
    copies: float
    """Chance that an event has an outdated copy with other dates."""
    namesakes: float
    """Chance that something else bears its name."""
    anniversaries: float
    """Chance of a report on its commemoration many years later."""
    late_dates: float
    """Part of the articles whose dates stand in running text behind a long passage, so that no
    snippet shows them and the page must be opened."""

    def hides_dates(self, title: str) -> bool:
        """Whether the article of this title has its dates behind a long passage."""
        return chance("late dates", title).random() < self.late_dates


LEVELS = {
    level.name: level
    for level in (
        Difficulty("easy", 1.0, 0.0, 0.0, 0.0, late_dates=0.0),
        Difficulty("medium", 2 / 3, 0.3, 0.25, 0.2, late_dates=0.5),
        Difficulty("hard", 1 / 2, 0.6, 0.5, 0.6, late_dates=1.0),
    )
}
DEFAULT = "medium"
LIKELY_FIRST = sorted(LEVELS.values(), key=lambda level: level.name != DEFAULT)
"""Where a web does not say its level."""


def difficulty(name: str) -> Difficulty:
    """The level of this name; ConfigError lists the known ones."""
    if name not in LEVELS:
        raise ConfigError(f"unknown difficulty '{name}'; known: {', '.join(LEVELS)}")
    return LEVELS[name]
