"""Sums of tokens: the same by whatever way they are added up."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_env.analysis.totals import totals
from agent_env.episodes.calls.caller import Calls
from agent_env.episodes.calls.pacing import ConcurrencyLimit
from agent_env.episodes.calls.retries import Retries
from agent_env.episodes.results import episodes_of
from agent_env.episodes.run_folder import RunFolder
from agent_env.errors import ModelError
from agent_env.records.model_facts import ModelFacts
from agent_env.records.schema import Reply, Usage
from agent_env.testing import ScriptedModel, answer, calls
from tests.episodes.calls.test_caller import run, runner

PRICED = ModelFacts(
    input_per_million=2.0, output_per_million=8.0, date="2026-01-01", source="made up"
)
COUNT = st.integers(0, 10_000)
KNOWN = st.builds(Usage, input_tokens=COUNT, output_tokens=COUNT, source=st.just("provider"))


class Flaky(ScriptedModel):
    """Before each reply, the errors that are drawn for it."""

    def __init__(self, replies: list[Reply], failures: list[list[Usage | None]]) -> None:
        super().__init__(replies)
        self._failures = failures

    async def generate(self, messages, tools, options=None):  # type: ignore[no-untyped-def]
        said = sum(message.role == "assistant" for message in messages)
        if self._failures[said]:
            used = self._failures[said].pop()
            raise ModelError("x", status=500, retryable=True, usage=used)
        return await super().generate(messages, tools)


@settings(deadline=None, max_examples=25)
@given(
    usages=st.lists(KNOWN, min_size=1, max_size=4),
    failures=st.lists(st.lists(KNOWN | st.none(), max_size=3), min_size=4, max_size=4),
)
def test_traces_and_totals_agree_exactly(
    usages: list[Usage], failures: list[list[Usage | None]]
) -> None:
    told = [used for drawn in failures[: len(usages)] for used in drawn]
    *steps, last = usages
    replies = [calls(("web_search", "{}"), usage=usage) for usage in steps]
    rules = Retries(attempts=9, same=None, first_wait_s=0.0)
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


def test_a_reply_of_unknown_size_makes_the_sum_unknown(tmp_path: Path) -> None:
    replies = [calls(("web_search", "{}"), usage=Usage(input_tokens=5)), answer("x")]
    (episode,) = run(runner(tmp_path, lambda s: ScriptedModel(replies)))
    found = totals([episode], PRICED)
    assert (found.input_tokens, found.output_tokens, found.cost_usd) == (None, None, None)
