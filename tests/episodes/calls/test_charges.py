"""What a failed call may have cost is charged where the server told nothing of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_env.analysis.totals import totals
from agent_env.episodes.calls.budget import RunBudget, RunLimits
from agent_env.episodes.calls.caller import Calls
from agent_env.episodes.calls.pacing import ConcurrencyLimit
from agent_env.episodes.calls.spending import charges
from agent_env.episodes.results import episodes_of
from agent_env.episodes.run_folder import RunFolder
from agent_env.errors import ModelError
from agent_env.records.schema import (
    Usage,
)
from agent_env.testing import ScriptedModel, answer
from tests.episodes.calls.test_caller import FAST, SOME, Shaky, error, model_calls, run, runner

REFUSED = ModelError("no connection", kind="connection", retryable=True, unsent=True)


CHARGED: dict[str, tuple[ModelError, bool]] = {
    "a timeout": (error("timeout"), True),
    "a cut reply": (error("connection", 200), True),
    "a server error": (error("server", 500), True),
    "a reply that is none": (error("unreadable", 200), True),
    "a rate limit": (error("rate_limit", 429), False),
    "a server that is not there": (REFUSED, False),
    "a usage that was told": (error("unreadable", 200, SOME), False),
}


@pytest.mark.parametrize("name", CHARGED)
def test_a_failed_call_that_may_be_billed_is_charged_where_nobody_told_its_tokens(
    tmp_path: Path, name: str
) -> None:
    failing, is_charged = CHARGED[name]
    budget = RunBudget(RunLimits(tokens=50_000))
    (episode,) = run(
        runner(tmp_path, lambda s: Shaky([failing]), Calls(ConcurrencyLimit(most=1), FAST, budget))
    )
    charged = model_calls(tmp_path)[0].charged
    assert (charged is not None) == is_charged
    assert budget.held_tokens == (0 if charged is None else charged.input_tokens + 512)
    assert budget.tokens == (220 if failing.usage else 110)
    assert (episode.input_tokens, episode.output_tokens) == (
        (200, 20) if failing.usage else (100, 10)
    )


def test_what_a_failed_call_told_in_part_is_charged_in_part(tmp_path: Path) -> None:
    half = error("unreadable", 200, Usage(input_tokens=7, source="provider"))
    budget = RunBudget(RunLimits(tokens=50_000))
    run(runner(tmp_path, lambda s: Shaky([half]), Calls(ConcurrencyLimit(most=1), FAST, budget)))
    charged = model_calls(tmp_path)[0].charged
    assert charged == Usage(input_tokens=7, output_tokens=512, source="estimate")
    assert (budget.tokens, budget.held_tokens) == (110, 519)


def test_a_run_that_goes_on_knows_what_was_charged_for_what_nobody_told(tmp_path: Path) -> None:
    """A server that tells no usage, and a call that was cut: after a restart both still count."""
    budget = RunBudget(RunLimits(tokens=50_000))
    untold = ScriptedModel([answer("MY ANSWER: None")])

    class Cut(Shaky):
        async def generate(self, messages, tools, options=None):  # type: ignore[no-untyped-def]
            await super().generate(messages, tools)
            return await untold.generate(messages, tools)

    run(
        runner(
            tmp_path,
            lambda s: Cut([error("connection", 200)]),
            Calls(ConcurrencyLimit(most=1), FAST, budget),
        )
    )
    cut, said = model_calls(tmp_path)
    assert (said.reply.usage.input_tokens, said.charged.source) == (None, "estimate")
    used, held = charges([cut, said])
    assert (used, held) == ([said.charged], [cut.charged])
    later = RunBudget()
    later.spend(used[0])
    later.hold(held[0])
    assert (later.tokens, later.held_tokens) == (budget.tokens, budget.held_tokens)
    (found,) = episodes_of(RunFolder(tmp_path), print)
    spent = totals([found], None)
    assert (spent.input_tokens, spent.charged_tokens) == (None, later.tokens + later.held_tokens)
