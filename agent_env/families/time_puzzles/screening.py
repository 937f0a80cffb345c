"""Screens the events of puzzles: a panel of models dates them from memory, without tools.

The table with each event's obscurity, the share of the panel that could not date it, is written
beside the set; puzzles are made of the events that no model could date.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

from agent_env.families.time_puzzles.family import PuzzleOptions, tables_of
from agent_env.features.facts.event_facts import dated_by_model
from agent_env.features.facts.tables.tables import EventRow, write_events, write_world
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.run import Listener, RunOptions


async def screen_events(
    options: PuzzleOptions, panel: Sequence[RunOptions], out: Path, listener: Listener
) -> PuzzleOptions:
    """The options with the screened table in place of the events' own. ConfigError where a model of
    the panel knows each event, or none was answered."""
    tables = tables_of(options)
    replies = [
        await dated_by_model(tables.events, model, listener, _latest(tables.events))
        for model in panel
    ]
    events = tuple(replace(row, obscurity=_obscurity(row.event, replies)) for row in tables.events)
    table = out.with_name(f"{out.stem}.screened.csv")
    if tables.presidents:
        write_events(events, table)
    else:  # an own table that has its own people
        write_world(replace(tables, events=events), table)
    unknown = sum(row.obscurity == 1 for row in events)
    models = ", ".join(model.model for model in panel)
    listener.note(f"{unknown} of {len(events)} events can be dated by none of {models}: {table}")
    if not unknown:
        raise ConfigError(
            f"--screened-by: no event of {len(events)} is obscure to all of {models}; use a larger "
            "table (facts import-wikidata), or a fictional world (web build --world fictional)"
        )
    return options.model_copy(update={"facts_table": table, "obscurity": 1.0, "after": ""})


def _obscurity(event: str, replies: Sequence[Mapping[str, str]]) -> float | None:
    """The share of `no`; None where a model gave no clear answer."""
    known = [reply.get(event) for reply in replies]
    return None if not {"yes", "no"}.issuperset(known) else known.count("no") / len(known)


def _latest(rows: Sequence[EventRow]) -> date:
    """The last day of any event, as of which prompts ask: the same for the same table."""
    bounds = [bound.last for row in rows for bound in (row.start, row.end) if bound]
    stated = [row.now for row in rows if row.now]
    return max([*bounds, *stated], default=date(2000, 1, 1))
