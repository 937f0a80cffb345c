"""The reference model finds every event by reading pages, from the messages alone."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from agent_env.families.time_puzzles import reference_lookups as lookups
from agent_env.families.time_puzzles.candidates import event_facts
from agent_env.families.time_puzzles.day_sets import DaySets
from agent_env.families.time_puzzles.facts import PersonAlive, UsPresident
from agent_env.families.time_puzzles.task import make_task
from agent_env.families.time_puzzles.wording import Wording
from agent_env.features.answers.date_answers import parse_date_answer
from agent_env.features.facts.tables.tables import shipped_tables
from agent_env.features.reference.policy import Reference
from agent_env.features.reference.turns import History, _hits
from agent_env.graph.loop import AgentLoop, EpisodeState
from agent_env.graph.strategies import make_strategy
from agent_env.protocols import Limits
from agent_env.records.schema import Message, Reply, ToolSpec
from agent_env.tasks.conditions import parse_condition
from agent_env.temporal.days import PUZZLE_DAYS
from agent_env.tools.builtin.open_page import OpenPage
from agent_env.tools.builtin.web_search import WebSearch
from agent_env.tools.toolbox import ToolSet
from tests.families.time_puzzles.sets import generate

TABLES = shipped_tables()


@pytest.fixture(scope="module")
def puzzles():
    return generate(TABLES, 20, seed=11)


def all_facts():
    facts = [fact for row in TABLES.events for fact in (*event_facts(row),)[::5]]
    facts += [PersonAlive(person=row.person) for row in TABLES.people]
    return facts + [UsPresident(person=row.person) for row in TABLES.presidents if row.end]


async def look_up(model, lookup, web):
    search, browse, history = WebSearch(web.search), OpenPage(web), History()
    find = lookups.find_thoroughly if model.thorough else lookups.find_once
    while (found := find(lookup, history, {"web_search", "open_page"})).call is not None:
        name, arguments = found.call
        if name == "web_search":
            output = (await search.run(dict(arguments))).output
            history.searches[arguments["query"]] = _hits(output)
        else:
            history.pages[arguments["url"]] = (await browse.run(dict(arguments))).output
    return found.clause


async def wrong_phrases(model, web, stride=1):
    """Of the facts that it looks up otherwise than they are."""
    wording, wrong = Wording(TABLES, DaySets(PUZZLE_DAYS, TABLES)), []
    for fact in all_facts()[::stride]:
        lookup = lookups.read_constraint(wording.implicit(fact))
        expected = lookups.read_constraint(wording.explicit(fact, PUZZLE_DAYS.everything))
        if await look_up(model, lookup, web) != expected:
            wrong.append(lookup.phrase)
    return wrong


async def test_reference_solves_by_messages_alone_and_passes_failures_over(web, puzzles, tmp_path):
    assert await wrong_phrases(Reference(), web, stride=2) == []
    for condition in ("web", "explicit"):
        assert await wrong_answers(Reference(), web, puzzles, condition) == []
    with InOwnProcess(tmp_path) as model:
        assert await wrong_answers(model, web, puzzles[:6], "web") == []
    ours = "agent_env.families.time_puzzles"
    known = (
        "agent_env.features.facts.tables.tables", f"{ours}.day_sets", "agent_env.tasks",
        "agent_env.web", "agent_env.episodes",
    )  # fmt: skip
    assert not [name for name in model.loaded if name.startswith(known)]
    own = tuple(f"{ours}.{name}" for name in ("reference", "texts", "meta_entries", "facts"))
    families = {name for name in model.loaded if name.startswith("agent_env.families")}
    others = {name for name in families if not name.startswith(own)}
    assert others == {"agent_env.families", ours}
    constraints = ["The year is 1982.", "The month is May.", "The day of the month is 3."]
    prompt = "Constraints:\n- " + "\n- ".join(constraints)
    messages = [Message(role="user", content=prompt)]
    python = [ToolSpec(name="python", description="", parameters={})]
    asked = await Reference().generate(messages, python)
    (call,) = asked.message.tool_calls
    failed = Message(role="tool", tool_call_id=call.id, content="ImportError: sxtwl")
    messages += [asked.message, failed]
    reply = await Reference().generate(messages, python)
    assert reply.message.content == "MY ANSWER: 1982-05-03"
    history = History(prompt="x", searches={"the Falklands War": [("https://a.example/", "x")]})
    history.pages["https://a.example/"] = ""
    lookup = lookups.Lookup("event", "the Falklands War", "year", "first")
    found = lookups.find_thoroughly(lookup, history, {"web_search", "open_page"})
    assert found.call == ("web_search", {"query": "Falklands War"})


async def wrong_answers(model, web, puzzles, condition):
    """What it answers to each puzzle that it does not solve."""
    tools = [WebSearch(web.search), OpenPage(web)] if "web" in condition else []
    wrong = []
    for puzzle in puzzles:
        strategy = make_strategy(parse_condition(condition), make_task().prompt)
        made = EpisodeState(model=model, toolbox=ToolSet(tools), strategy=strategy, limits=Limits())
        answer = parse_date_answer((await AgentLoop().run(puzzle, made)).answer).dates
        if answer != puzzle.gold:
            wrong.append((puzzle, answer))
    return wrong


class InOwnProcess:
    """The reference model in a process that is given messages and nothing else."""

    name = "reference"

    def __init__(self, folder):
        command = [sys.executable, str(Path(__file__).with_name("in_own_process.py"))]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process = subprocess.Popen(command, text=True, cwd=folder, **pipes)
        self.loaded = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.communicate(timeout=300)

    async def generate(self, messages, tools, options=None):
        asked = {
            "messages": [message.model_dump(mode="json") for message in messages],
            "tools": [tool.model_dump(mode="json") for tool in tools],
        }
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        said = json.loads(self._process.stdout.readline())
        self.loaded = said["loaded"]
        return Reply.model_validate(said["reply"])
