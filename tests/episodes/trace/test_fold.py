"""An episode and its tokens follow from its events."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_env.analysis.totals import totals
from agent_env.episodes.calls.budget import ConcurrencyLimit
from agent_env.episodes.calls.caller import Calls
from agent_env.episodes.calls.retries import Retries
from agent_env.episodes.results import episodes_of
from agent_env.episodes.run_folder import RunFolder
from agent_env.episodes.trace.fold import first_call
from agent_env.errors import ModelError
from agent_env.records.schema import Condition, ModelFacts, Usage
from agent_env.records.trace_events import EpisodeStarted
from agent_env.testing import ScriptedModel, answer, calls
from tests.episodes.calls.test_caller import run, runner

CALLED, SAID = calls(("web_search", "{}")), answer("1982")
CUT = SAID.model_copy(update={"finish_reason": "length"})
HOSTED = answer("1982", Usage(hosted_calls={"search": 1}))


def start(first_step, tools=("web_search",), **limits):
    condition = Condition(name="web", tools=tools, first_step=first_step)
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
        (start("required"), CUT, False),
        (start("required", steps=1), SAID, None),
        (start("required", tool_calls=0), SAID, None),
        (start("required", tools=()), SAID, None),
        (start("auto"), CALLED, None),
    ],
)
def test_a_required_call_is_obeyed_or_not(begun, reply, obeyed):
    assert first_call(begun, [reply, CALLED]).get("required_call") is obeyed


@pytest.mark.parametrize("source", ["provider", "server tokenizer", "tokenizer", "estimate", None])
def test_only_counts_that_hold_the_tools_are_kept(source):
    reply = answer("x", Usage.model_validate({"input_tokens": 31, "source": source}))
    kept = 31 if source in ("provider", "server tokenizer") else None
    assert first_call(start("auto"), [reply]).get("first_input_tokens") == kept


RATES = {"input_per_million": 2.0, "output_per_million": 8.0}
PRICED = ModelFacts(**RATES, date="2026-01-01", source="made up")
COUNTS = dict.fromkeys(("input_tokens", "output_tokens"), st.integers(0, 10_000))
KNOWN = st.builds(Usage, **COUNTS, source=st.just("provider"))


class Flaky(ScriptedModel):
    """Before each reply, the errors that are drawn for it."""

    def __init__(self, replies, failures):
        super().__init__(replies)
        self._failures = failures

    async def generate(self, messages, tools, options=None):
        said = sum(message.role == "assistant" for message in messages)
        if self._failures[said]:
            used = self._failures[said].pop()
            raise ModelError("x", status=500, retryable=True, usage=used)
        return await super().generate(messages, tools)


@settings(deadline=None, max_examples=25)
@given(
    usages=st.lists(KNOWN, min_size=1, max_size=4),
    failures=st.lists(st.lists(KNOWN | st.none(), max_size=2), min_size=4, max_size=4),
)
def test_traces_and_totals_agree_exactly(usages, failures):
    told = [used for drawn in failures[: len(usages)] for used in drawn]
    *steps, last = usages
    replies = [calls(("web_search", "{}"), usage=usage) for usage in steps]
    rules = Retries(attempts=9, first_wait_s=0.0)
    with TemporaryDirectory() as where:
        model = Flaky([*replies, answer("MY ANSWER: None", last)], failures)
        run(runner(Path(where), lambda s: model, Calls(ConcurrencyLimit(most=1), rules)))
        found = totals(episodes_of(RunFolder(Path(where)), print), PRICED)
        lines = (Path(where) / "episodes/web/tp-0-0.1.jsonl").read_text().splitlines()
    events = [event for event in map(json.loads, lines) if event["kind"] == "model_called"]
    raw = [event.get("reply", event).get("usage", {}) for event in events]
    counted = [*usages, *(used for used in told if used is not None)]
    sums = (sum(u.input_tokens or 0 for u in counted), sum(u.output_tokens or 0 for u in counted))
    assert (found.input_tokens, found.output_tokens) == sums
    assert tuple(sum(u.get(n, 0) for u in raw) for n in ("input_tokens", "output_tokens")) == sums
    assert found.cost_usd == pytest.approx((2 * sums[0] + 8 * sums[1]) / 1_000_000)
    assert (found.calls, found.failed_calls) == (len(usages) + len(told), len(told))
    assert found.uncounted_calls == sum(used is None for used in told)


def test_a_reply_of_unknown_size_makes_the_sum_unknown(tmp_path):
    replies = [calls(("web_search", "{}"), usage=Usage(input_tokens=5)), answer("x")]
    (episode,) = run(runner(tmp_path, lambda s: ScriptedModel(replies)))
    found = totals([episode], PRICED)
    assert (found.input_tokens, found.output_tokens, found.cost_usd) == (None, None, None)
