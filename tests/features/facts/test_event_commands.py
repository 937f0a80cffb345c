"""Screening and checking a table from file to file, with a model behind a real socket."""

import csv
import json
import re
from dataclasses import replace
from datetime import date

import pytest

from agent_env.errors import ConfigError
from agent_env.features.facts.event_facts import check, screen
from agent_env.runs.options.run_options import RunOptions
from tests.fake_server import FakeServer, Refusal, ScriptedAnswer, tool_call
from tests.plans import QUIET

NOW = date(2026, 1, 31)
TABLE = """\
event,kind,start,end,multi_year_spans
the Battle of Trafalgar,battle,1805-10-21,1805-10-21,
the Battle of Eylau,battle,1807-02-07,1807-02-08,
the Battle of Wagram,battle,1809-07,1809-07,
the Reign of Nobody,reign,2001-01-01,,
"""
TRAFALGAR = "https://encyclopedia.example/article/Battle_of_Trafalgar"


@pytest.fixture
def table(tmp_path):
    file = tmp_path / "own.csv"
    file.write_text(TABLE)
    return file


def options(server, folder, **more):
    asked = {"task": "", "model": "compatible/m-1", "base_url": server.url, "concurrency": 2}
    return RunOptions(**asked, out=folder / "run", **more)


async def remembering(turns, offers):
    assert not offers
    said = re.search(r"Event: (.*)", turns[-1].content)[1]
    if "Nobody" in said:
        raise Refusal(400, "no opinion")
    known = {
        "the Battle of Trafalgar": "I am sure.\nFIRST: 1805-10-21\nLAST: 21 October 1805",
        "the Battle of Eylau": "FIRST: 1807-02-07\nLAST: UNKNOWN",
        "the Battle of Wagram": "It was in July 1809.",
    }
    return ScriptedAnswer(known[said])


async def test_screening_says_of_each_row_whether_the_model_knows_it(tmp_path, table):
    out, ended = tmp_path / "known.csv", []
    listener = replace(QUIET, end=lambda key, status: ended.append(status))
    async with FakeServer(remembering) as server:
        done = await screen(table, out, options(server, tmp_path), listener, NOW)
    assert out.read_bytes() == (
        b"event,known,answer\n"
        b"the Battle of Trafalgar,yes,1805-10-21; 1805-10-21\n"
        b"the Battle of Eylau,no,1807-02-07; unknown\n"
        b"the Battle of Wagram,unreadable,\n"
        b"the Reign of Nobody,failed,\n"
    )
    assert done.counts == {"yes": 1, "no": 1, "unreadable": 1, "failed": 1}
    assert sorted(ended) == ["answered", "answered", "answered", "failed"]
    for body in server.recent:
        assert "tools" not in body
        assert not re.search("180[579]|2001", json.dumps(body))


async def test_the_same_command_asks_only_what_is_missing_or_failed(tmp_path, table):
    async with FakeServer(remembering) as server:
        run = options(server, tmp_path)
        done = await screen(table, tmp_path / "a.csv", run, QUIET, NOW)
        next(done.run.glob("episodes/base/*.jsonl")).unlink()
        await screen(table, tmp_path / "b.csv", run, QUIET, NOW)
    assert server.counts["/v1/chat/completions"] == 6  # the four, the missing, the failed one
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


async def test_a_folder_that_holds_other_questions_is_left_alone(tmp_path, table):
    async with FakeServer(remembering) as server:
        await screen(table, tmp_path / "a.csv", options(server, tmp_path, limit=2), QUIET, NOW)
        with pytest.raises(ConfigError, match="holds another run; name another folder"):
            await screen(table, tmp_path / "b.csv", options(server, tmp_path, limit=3), QUIET, NOW)
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 3
    assert not (tmp_path / "b.csv").exists()


async def looking_up(turns, offers):
    """Opens one page and trusts it; for the other rows it pretends to have read one."""
    assert {offer.name for offer in offers} == {"web_search", "open_page"}
    why = "Everybody knows."
    if "Trafalgar" in turns[0].content:
        if turns[-1].role == "user":
            return ScriptedAnswer(calls=(tool_call("open_page", json.dumps({"url": TRAFALGAR})),))
        assert "1805" in turns[-1].content
        why = "The article says so, to the day."
    return ScriptedAnswer(f"VERDICT: correct\nWHY: {why}\nPAGES: {TRAFALGAR}")


async def test_checking_gives_verdict_reason_and_pages(tmp_path, table):
    out = tmp_path / "checked.csv"
    async with FakeServer(looking_up) as server:
        done = await check(table, out, options(server, tmp_path), QUIET, NOW)
    first, second, *_ = csv.DictReader(out.read_text().splitlines())
    assert first == {
        "event": "the Battle of Trafalgar", "start": "1805-10-21", "end": "1805-10-21",
        "multi_year_spans": "", "verdict": "correct",
        "why": "The article says so, to the day.", "pages": TRAFALGAR,
    }  # fmt: skip
    assert (second["verdict"], second["pages"]) == ("unclear", "")
    assert done.counts == {"unclear": 3, "correct": 1}
