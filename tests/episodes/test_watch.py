"""What is said while a run goes on is said once."""

import asyncio

from agent_env.episodes.watch import Watch, WatchedModel
from agent_env.records.schema import Message, ToolSpec
from agent_env.testing import ScriptedModel, answer

SEARCH = ToolSpec(name="web_search", description="", parameters={})
CALL = '{"name": "web_search", "arguments": {}}'
QUESTION = Message(role="user", content="Which day?")


def test_a_model_that_changes_is_said_once() -> None:
    said: list[str] = []
    watch = Watch(said.append)
    for model in ("a", None, "a", "b", "a", "c"):
        reply = answer("x").model_copy(update={"model": model})
        asyncio.run(WatchedModel(ScriptedModel([reply]), watch).generate([QUESTION], []))
    assert said == [
        "the server changed its model: b answers now, a did before; score tells how many episodes "
        "of each"
    ]


def test_the_preflight_counts_as_before() -> None:
    said: list[str] = []
    Watch(said.append, "a").reply(answer("x").model_copy(update={"model": "b"}))
    assert len(said) == 1


def test_a_reply_from_the_cache_is_of_no_server() -> None:
    said: list[str] = []
    kept = answer("x").model_copy(update={"model": "b", "cached_at": "2026-01-01"})
    Watch(said.append, "a").reply(kept)
    assert said == []


def test_a_call_in_text_is_said_once_with_the_remedy() -> None:
    said: list[str] = []
    watch = Watch(said.append)
    watch.answer("base/a.1", CALL, [])
    watch.answer("web/a.1", None, [SEARCH])
    watch.answer("web/b.1", "1982-06-14", [SEARCH])
    assert said == []
    watch.answer("web/c.1", CALL, [SEARCH])
    watch.answer("web/d.1", CALL, [SEARCH])
    assert said == [
        "web/c.1 ended with a tool call as text (bare JSON), which nobody ran; score counts these: "
        "take --tool-protocol text, or start the server with a parser that fits the model (vLLM, "
        "SGLang: --tool-call-parser; llama.cpp: --jinja)"
    ]
