"""What the first reply tells of an episode's tools."""

import pytest

from agent_env.episodes.trace.fold import first_call
from agent_env.records.schema import Condition, Reply, Usage
from agent_env.records.trace_events import EpisodeStarted
from agent_env.testing import answer, calls

CALLED, SAID = calls(("web_search", "{}")), answer("1982")
CUT = SAID.model_copy(update={"finish_reason": "length"})
HOSTED = answer("1982", Usage(hosted_calls={"search": 1}))


def start(first_step: str, tools: tuple[str, ...] = ("web_search",), **limits: int):
    condition = Condition(name="web", tools=tools, first_step=first_step)  # type: ignore[arg-type]
    return EpisodeStarted(
        episode="web/a.1", seq=0, at="", sample="a", condition=condition, repeat=1, model="m",
        limits=limits,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("begun", "reply", "obeyed"),
    [
        (start("required"), CALLED, True),
        (start("required"), HOSTED, True),
        (start("required"), SAID, False),
        (start("required"), CUT, None),
        (start("required", steps=1), SAID, None),
        (start("required", tool_calls=0), SAID, None),
        (start("required", tools=()), SAID, None),
        (start("auto"), CALLED, None),
    ],
)
def test_a_required_call_is_obeyed_or_not(begun: EpisodeStarted, reply: Reply, obeyed: bool | None):
    assert first_call(begun, [reply, CALLED]).get("required_call") is obeyed


@pytest.mark.parametrize(
    ("source", "tokens"),
    [
        ("provider", 31),
        ("server tokenizer", 31),
        ("tokenizer", None),
        ("estimate", None),
        (None, None),
    ],
)
def test_only_counts_that_hold_the_tools_are_kept(source: str | None, tokens: int | None):
    reply = answer("x", Usage.model_validate({"input_tokens": 31, "source": source}))
    assert first_call(start("auto"), [reply]).get("first_input_tokens") == tokens


def test_the_servers_names_for_the_model_come_once_each():
    named = [SAID.model_copy(update={"model": name}) for name in ("a", None, "b", "a")]
    assert first_call(start("auto"), named)["served_models"] == ("a", "b")
    assert first_call(start("auto"), []) == {"served_models": ()}
