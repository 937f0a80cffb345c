"""The reply cache: what a key depends on, what is kept, what is said."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from agent_env.episodes.calls.reply_cache import Asking, ReplyCache, cache_key
from agent_env.errors import ConfigError
from agent_env.records.schema import Condition, Message, ToolSpec
from agent_env.testing import answer
from agent_env.wiring.trust import own_call

PARAMETERS = {"base_url": "http://127.0.0.1:1/v1", "temperature": 0.5, "top_p": None}
ASKING = Asking("compatible/x", PARAMETERS, Condition(name="web", tools=("web_search",)), 1)
ASKED = (Message(role="user", content="When?"),)
TOOL = ToolSpec(name="web_search", description="Searches.", parameters={"type": "object"})
KEY = "b198f5b9114fdd3b4ace9e6d38a1406472385c787972b6a889c43e88265227db"


def test_everything_that_determines_a_reply_changes_the_key_which_stays_the_same():
    """A change here silently empties every user's cache."""
    assert cache_key(ASKING, ASKED, [TOOL]) == KEY
    one_round = Condition(name="web", strategy="one-round")
    others = [
        cache_key(replace(ASKING, model="compatible/y"), ASKED, [TOOL]),
        cache_key(replace(ASKING, parameters={"base_url": "http://127.0.0.1:2/v1"}), ASKED, [TOOL]),
        cache_key(replace(ASKING, repeat=2), ASKED, [TOOL]),
        cache_key(replace(ASKING, condition=one_round), ASKED, [TOOL]),
        cache_key(ASKING, (Message(role="user", content="When? "),), [TOOL]),
        cache_key(ASKING, (Message(role="system", content="When?"),), [TOOL]),
        cache_key(ASKING, ASKED, []),
        cache_key(ASKING, ASKED, [TOOL.model_copy(update={"description": "Finds."})]),
    ]
    assert len({KEY, *others}) == 9


def test_a_reply_comes_back_with_the_time_it_was_first_given(tmp_path):
    cache = ReplyCache(tmp_path / "replies.db", own_call())
    assert cache.get(KEY) is None
    first_at = "2026-01-01T00:00:00.000Z"
    cache.put(KEY, answer("MY ANSWER: None"), first_at)
    cache.put(KEY, answer("another"), "2026-02-01T00:00:00.000Z")
    cache.close()
    again = ReplyCache(tmp_path / "replies.db", own_call())
    found = again.get(KEY)
    assert (found.message.content, found.cached_at) == ("MY ANSWER: None", first_at)
    assert (again.hits, again.misses) == (1, 0)


def test_what_is_no_cache_is_named_and_one_that_somebody_sent_ends_and_deletes_nothing(tmp_path):
    """SQLite deletes the super-journal that a journal names; a view in place of the table could
    give rows for ever."""
    (tmp_path / "notes.txt").write_text("These are my notes, and they are long enough.\n" * 99)
    with pytest.raises(ConfigError, match=r"cannot use .*notes\.txt as a reply cache"):
        ReplyCache(tmp_path / "notes.txt", own_call())
    with pytest.raises(ConfigError, match="as a reply cache"):
        ReplyCache(tmp_path / "no" / "folder" / "replies.db", own_call())
    file = tmp_path / "replies.db"
    with closing(sqlite3.connect(file)) as base:
        base.execute("CREATE VIEW replies AS SELECT 'a' key, 1 version, '' at, '' reply")
    with pytest.raises(ConfigError, match="as a reply cache: its view 'replies' is not ours"):
        ReplyCache(file, own_call())
    file.unlink()
    journal = tmp_path / "replies.db-journal"
    journal.write_bytes(b"\0" * 512 + bytes.fromhex("d9d505f920a163d7"))
    (tmp_path / "link.db").symlink_to(file)
    for name in ("replies.db", "link.db"):
        with pytest.raises(ConfigError, match=r"replies\.db-journal beside it names another file"):
            ReplyCache(tmp_path / name, own_call())
