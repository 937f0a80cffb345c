"""generate as a user types it; puzzles of events that no model of a panel can date, with models
behind a real socket."""

import asyncio
import json
import re

import pytest

from agent_env.errors import ConfigError
from agent_env.features.facts.tables.tables import read_events, shipped_tables
from agent_env.runs.generate import GenerateOptions, make_set
from agent_env.runs.start import Listener
from tests import ROOT
from tests.commands import typed
from tests.fake_server import FakeServer, ScriptedAnswer


def test_any_number_of_processes_gives_the_same_bytes(tmp_path):
    sets = []
    for processes in (1, 3):
        out = tmp_path / f"{processes}.jsonl"
        options = f"--limit 40 --seed 3 --option processes={processes}"
        done = typed(f"questions generate time-puzzles {options} --out {{}}", out)
        assert done.returncode == 0, done.stderr
        assert "constant 0 (0.0%), majority 0 (0.0%), ignore-event 0 (0.0%)" in done.stderr
        sets.append(out.read_bytes())
    assert sets[0] == sets[1]


def test_the_published_format_can_be_written_and_run(tmp_path):
    out = tmp_path / "published.json"
    typed("questions generate time-puzzles --limit 4 --seed 2 --out {} --format published", out)
    assert {"identifier", "constraints_meta", "solutions"} <= json.loads(out.read_text())[0].keys()
    done = typed(
        "run time-puzzles --dataset {} --condition explicit --out {} --json", out, tmp_path / "run"
    )
    assert json.loads(done.stdout)["conditions"]["explicit"]["exact_match"] == 1.0


def test_sets_of_all_calendars(tmp_path):
    out = tmp_path / "mixed.jsonl"
    options = "--limit 12 --option solutions=0-2 --option calendars=all"
    done = typed(f"questions generate time-puzzles {options} --out {{}}", out)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [len(row["gold"]) for row in rows] == [0, 1, 2] * 4
    told = json.loads(typed("questions audit {} --json", out).stdout)
    assert not [row for row in told["per_puzzle"] if row["causes"]]


KNOWN = {"the Battle of Trafalgar", "the Battle of Waterloo"}
"""What the fake model dates rightly."""


async def remembering(turns, offers):
    event = re.search(r"Event: (.*)", turns[-1].content)[1]
    if event == "the Battle of Austerlitz":
        return ScriptedAnswer("Some day in winter.")
    row = next(row for row in shipped_tables().events if row.event == event)
    first, last = (row.start, row.end) if event in KNOWN else ("UNKNOWN", "UNKNOWN")
    return ScriptedAnswer(f"FIRST: {first}\nLAST: {last}\nYEARS: UNKNOWN")


def screened(folder, table):
    file = folder / "events.csv"
    file.write_text(table, encoding="utf-8")

    async def run():
        async with FakeServer(remembering) as server:
            options = GenerateOptions(
                task="time-puzzles",
                out=folder / "set.jsonl",
                limit=2,
                options=(f"facts_table={file}", "unchecked=true"),
                screened_by="compatible/a,compatible/b",
                base_url=server.url,
            )
            return await make_set(options, Listener(print, lambda f, n: None, lambda k, s: None))

    return asyncio.run(run())


def table_of(*names):
    table = ROOT / "agent_env/features/facts/tables/events.csv"
    header, *rows = table.read_text("utf-8").splitlines()
    return "\n".join([header, *(row for row in rows if row.startswith(names))]) + "\n"


def test_puzzles_are_made_of_what_no_model_of_the_panel_can_date(tmp_path):
    table = table_of("the Battle of", "the Congress of Berlin", "the Algeciras Conference")
    made = screened(tmp_path, table).sample_set
    rows = {row.event: row.obscurity for row in read_events(tmp_path / "set.screened.csv")}
    events = ("the Battle of Trafalgar", "the Congress of Berlin", "the Battle of Austerlitz")
    assert [rows[event] for event in events] == [0, 1, None]  # the last has no clear answer
    assert all(rows[sample.event] == sample.obscurity == 1 for sample in made.samples)
    assert json.loads((tmp_path / "set.summary.json").read_text())["options"]["obscurity"] == 1.0


def test_a_table_that_a_model_knows_whole_is_refused_with_what_to_do(tmp_path):
    with pytest.raises(ConfigError, match=r"no event of 1 is obscure to all .*web build --world"):
        screened(tmp_path, table_of("the Battle of Waterloo"))
