"""Which pages of a world belong together: people and their events, the events of a series."""

from __future__ import annotations

import re
from collections import defaultdict

from agent_env.temporal.facts.articles import article_url, event_title
from agent_env.temporal.facts.tables import EventRow, FactTables, IntervalRow
from agent_env.web.site.sheet import Link

MOST = 12
"""Links of one sort that a page has."""
_NUMBER = re.compile(r"\b\d+(?:st|nd|rd|th) ")
_NAME = re.compile(r"(?=\b([A-Z][\w'’.-]* [A-Z][\w'’-]*))")


class CrossLinks:
    """Found once for all pages of a world."""

    def __init__(self, tables: FactTables) -> None:
        self._people = {row.person for row in tables.people}
        self._part_in: dict[str, list[EventRow]] = defaultdict(list)
        self._series: dict[str, list[EventRow]] = defaultdict(list)
        self._place: dict[str, int] = {}
        self.spells: dict[str, list[IntervalRow]] = defaultdict(list)
        """By person, and by office or club: who stood in which relation, in order of time."""
        for row in tables.events:
            for person in self._people_in(row):
                self._part_in[person].append(row)
            series = self._series[_NUMBER.sub("", row.event)]
            self._place[row.event] = len(series)
            series.append(row)
        for spell in sorted(tables.intervals, key=lambda spell: spell.start):
            self.spells[spell.subject].append(spell)
            self.spells[spell.object].append(spell)

    def of_event(self, row: EventRow) -> list[Link]:
        """The people in it, and those before and after it in its series."""
        links = [(person, article_url(person)) for person in self._people_in(row)]
        series, at = self._series[_NUMBER.sub("", row.event)], self._place[row.event]
        near = [*series[max(0, at - 1) : at], *series[at + 1 : at + 2]]
        return links + [_to(other) for other in near]

    def of_person(self, person: str) -> list[Link]:
        """What the person had part in, and offices and clubs."""
        links = [_to(row) for row in self._part_in[person][:MOST]]
        objects = dict.fromkeys(spell.object for spell in self.spells.get(person, ()))
        return links + [(name, article_url(name)) for name in objects]

    def _people_in(self, row: EventRow) -> list[str]:
        names = _NAME.findall(row.summary) if self._people else []
        return [name for name in dict.fromkeys(names) if name in self._people]


def _to(row: EventRow) -> Link:
    title = event_title(row.event)
    return title, article_url(title)
