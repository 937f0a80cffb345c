"""A search provider, a page fetcher, a sandbox and a strategy in a file of the user's."""

import json

import pytest

from tests.commands import typed
from tests.plugged_in import make_foreign

FILE = '''
"""Everything of one user."""

from agent_env.records.pages import Hit, Page
from agent_env.records.schema import Message, Reply, ToolCall
from agent_env.sandbox.unsafe import UnsafeSubprocess
from agent_env.wiring.trust import own_call


class Pocket:
    """Knows one page."""

    async def search(self, query, limit):
        return [Hit(url="https://pocket.example/a", title="A", snippet=query)]


class Shelf:
    """Has every page."""

    async def fetch(self, url):
        return Page(url=url, status=200, content_type="text/plain", body=b"text", title="T",
                    text="All is well on " + url, fetched_at="2026-01-01T00:00:00Z")


def box(limits):
    return UnsafeSubprocess(limits, own_call())


def politely(parts):
    from agent_env.graph.strategies import ToolLoop

    def prompt(sample, condition):
        return (Message(role="user", content="Please help. "), *parts.prompt(sample, condition))

    return ToolLoop(prompt, parts.condition)


CALLS = [("web_search", '{"query": "moon"}'), ("open_page", '{"url": "https://pocket.example/a"}'),
         ("python", '{"code": "6 * 7"}')]


def model(messages):
    done = sum(m.role == "assistant" for m in messages)
    if done == len(CALLS):
        return " | ".join(m.content for m in messages if m.role == "tool") + messages[0].content
    name, arguments = CALLS[done]
    call = ToolCall(id=str(done), name=name, arguments=arguments)
    return Reply(message=Message(role="assistant", tool_calls=(call,)), finish_reason="tool_calls")
'''


@pytest.fixture
def home(tmp_path):
    (tmp_path / "my.py").write_text(FILE)
    return tmp_path


def run(home):
    kinds = {"search": "Pocket", "fetcher": "Shelf", "sandbox": "box", "strategy": "politely"}
    own = " ".join(f"--{kind} my.py:{name}" for kind, name in kinds.items())
    command = "run tempreason --model my.py:model --condition web+python --limit 1 --web record"
    return typed(f"{command} {own} --out run", cwd=home)


def test_each_is_used_and_noted(home):
    done = run(home)
    assert done.returncode == 0, done.stderr
    trace = next((home / "run/episodes/web+python").glob("*.jsonl"))
    answer = json.loads(trace.read_text().splitlines()[-1])["answer"]
    for part in ("https://pocket.example/a", "All is well on", "42", "Please help."):
        assert part in answer
    uses = json.loads((home / "run/run.json").read_text())["plugins"]
    assert {use["kind"]: use["reference"] for use in uses} == {
        "model": f"{home}/my.py:model",
        "page fetcher": f"{home}/my.py:Shelf",
        "sandbox": f"{home}/my.py:box",
        "search provider": f"{home}/my.py:Pocket",
        "strategy": f"{home}/my.py:politely",
    }
    assert len(uses) == 5
    for command in ("resume run", "replay run", "replay run --tools live"):
        done = typed(command, cwd=home)
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_folder_from_elsewhere_uses_none(home):
    run(home)
    make_foreign(home / "run")
    (home / "my.py").write_text("raise AssertionError('imported')")
    for command in ("show run", "replay run", "replay run --tools live", "resume run"):
        done = typed(command, cwd=home)
        assert (done.returncode, "strategy" in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("return [Hit(", "return 1 / 0 or [Hit(", "Pocket raised ZeroDivisionError: division by z"),
        ("return [Hit(", "return [1] or [Hit(", "gave something other than a list of Hit"),
        ("return Page(", "return 1 / 0 or Page(", "Shelf raised ZeroDivisionError: division by ze"),
        ("return Page(", "return 5 or Page(", "my.py:Shelf gave a int, not a Page"),
        ("return (Message(", "return 1 / 0 or (Message(", "unexpected: ZeroDivisionError: divisio"),
    ],
)  # fmt: skip
def test_what_fails_is_named(old, new, told, home):
    (home / "my.py").write_text(FILE.replace(old, new))
    run(home)
    written = "".join(each.read_text() for each in (home / "run/episodes").rglob("*.jsonl"))
    assert told in written
    if "Zero" in told:
        line = 1 + FILE.splitlines().index(next(x for x in FILE.splitlines() if old in x))
        assert f"{home}/my.py:{line}" in written
