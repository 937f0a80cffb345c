"""Screening and checking a table from file to file, with a model behind a real socket."""

import asyncio
import csv
import json
import re
from datetime import date

import pytest

from agent_env.errors import ConfigError
from agent_env.features.facts.event_facts import check, screen
from agent_env.runs.options.run_options import RunOptions
from agent_env.runs.start import Listener
from tests.fake_server import FakeServer, Refusal, ScriptedAnswer, tool_call

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


def silent():
    ended = []
    listener = Listener(
        note=lambda text: None,
        begin=lambda folder, total: None,
        end=lambda key, status: ended.append(status),
    )
    return listener, ended


def serving(policy, ask):
    """What `ask` gives with the server's address, and the server."""

    async def run():
        async with FakeServer(policy) as server:
            wanted = ask(server.url)
            return await wanted, server

    return asyncio.run(run())


def options(url, folder, **more):
    return RunOptions(
        task="", model="compatible/m-1", base_url=url, out=folder, concurrency=2, **more
    )


async def remembering(turns, offers):
    assert not offers
    said = re.search(r"Event: (.*)", turns[-1].content)[1]
    if "Nobody" in said:
        raise Refusal(400, "no opinion")
    return ScriptedAnswer(
        {
            "the Battle of Trafalgar": "I am sure.\nFIRST: 1805-10-21\nLAST: 21 October 1805",
            "the Battle of Eylau": "FIRST: 1807-02-07\nLAST: UNKNOWN",
            "the Battle of Wagram": "It was in July 1809.",
        }[said]
    )


def test_screening_says_of_each_row_whether_the_model_knows_it(tmp_path, table):
    out = tmp_path / "known.csv"
    listener, ended = silent()

    def ask(url):
        return screen(table, out, options(url, tmp_path / "run"), listener, NOW)

    done, server = serving(remembering, ask)
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


def test_the_same_command_asks_only_what_is_missing_or_failed(tmp_path, table):
    def ask(url):
        async def twice():
            run = options(url, tmp_path / "run")
            done = await screen(table, tmp_path / "a.csv", run, silent()[0], NOW)
            next(done.run.glob("episodes/base/*.jsonl")).unlink()
            return await screen(table, tmp_path / "b.csv", run, silent()[0], NOW)

        return twice()

    _, server = serving(remembering, ask)
    assert server.counts["/v1/chat/completions"] == 6  # the four, the missing, the failed one
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_a_folder_that_holds_other_questions_is_left_alone(tmp_path, table):
    def ask(url):
        async def twice():
            run = options(url, tmp_path / "run", limit=2)
            await screen(table, tmp_path / "a.csv", run, silent()[0], NOW)
            more = options(url, tmp_path / "run", limit=3)
            return await screen(table, tmp_path / "b.csv", more, silent()[0], NOW)

        return twice()

    with pytest.raises(ConfigError, match="holds another run; name another folder"):
        serving(remembering, ask)
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 3
    assert not (tmp_path / "b.csv").exists()


async def looking_up(turns, offers):
    """Opens one page and trusts it; for the other rows it pretends to have read one."""
    assert {offer.name for offer in offers} == {"web_search", "open_page"}
    if "Trafalgar" not in turns[0].content:
        return ScriptedAnswer(f"VERDICT: correct\nWHY: Everybody knows.\nPAGES: {TRAFALGAR}")
    if turns[-1].role == "user":
        return ScriptedAnswer(calls=(tool_call("open_page", json.dumps({"url": TRAFALGAR})),))
    assert "1805" in turns[-1].content
    return ScriptedAnswer(
        f"VERDICT: correct\nWHY: The article says so, to the day.\nPAGES: {TRAFALGAR}"
    )


def test_checking_gives_verdict_reason_and_pages(tmp_path, table):
    out = tmp_path / "checked.csv"

    def ask(url):
        return check(table, out, options(url, tmp_path / "run"), silent()[0], NOW)

    done, _ = serving(looking_up, ask)
    with out.open(newline="") as file:
        first, second, *_ = csv.DictReader(file)
    assert first == {
        "event": "the Battle of Trafalgar", "start": "1805-10-21", "end": "1805-10-21",
        "multi_year_spans": "", "verdict": "correct",
        "why": "The article says so, to the day.", "pages": TRAFALGAR,
    }  # fmt: skip
    assert (second["verdict"], second["pages"]) == ("unclear", "")
    assert done.counts == {"unclear": 3, "correct": 1}
