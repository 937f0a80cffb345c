"""The means of real logs are those that the tools which wrote them give (tests/data/foreign)."""

import json
from pathlib import Path

import pytest

from agent_env.extensions.interop.foreign.read import read_logs

pytestmark = pytest.mark.usefixtures("unconfined")

LOGS = Path(__file__).parents[3] / "data" / "foreign"


def _log(path, with_transcripts=False):
    (file,) = LOGS.glob(path)
    (log,) = read_logs([file], None, with_transcripts)
    return log


def _mean(log, metric, failed_as_0=False):
    """Over episodes; each sample has as many."""
    values = [each.metrics[metric] for each in log.episodes if metric in each.metrics]
    return sum(values) / (len(log.episodes) if failed_as_0 else len(values))


@pytest.mark.parametrize(
    ("path", "theirs"),
    [
        ("inspect/tool.eval", {"match": 1.0, "brief": 1.0}),
        ("inspect/head.eval", {"match": 2 / 3, "brief": 0.0}),
        ("verifiers-0.4/tool", {"reward": 1.5}),
        ("verifiers-0.4/head", {"reward": 0.5}),
    ],
)
def test_means_are_those_that_the_tool_gives(path, theirs):
    """Inspect: `log.results`; verifiers: `Trace.reward` of its own loader, traces without error."""
    if path.endswith(".eval"):
        pytest.importorskip("inspect_ai", reason="needs the extra inspect")
    log = _log(path)
    assert {name: _mean(log, name) for name in theirs} == pytest.approx(theirs)


@pytest.mark.parametrize("model", ["tool", "head"])
def test_verifiers_0_1_counts_failed_rollouts_as_0(model):
    summary = json.loads((LOGS / f"verifiers-0.1/{model}/metadata.json").read_text())
    theirs = {"reward": summary["avg_reward"], **summary["avg_metrics"]}
    log = _log(f"verifiers-0.1/{model}")
    assert {name: _mean(log, name, True) for name in theirs} == pytest.approx(theirs)
    assert "2 episodes failed and are left out of the means, where verifiers" in log.notes[0]


@pytest.mark.parametrize(("model", "avg_reward"), [("tool", 2 / 3), ("head", 1 / 3)])
def test_tau2_counts_simulations_that_it_skipped_as_0(model, avg_reward):
    """`compute_metrics(results).avg_reward`."""
    log = _log(f"tau2/{model}.json")
    assert _mean(log, "reward", True) == pytest.approx(avg_reward)
    assert log.notes[0] == "2 simulations were skipped; its own mean counts them as 0"


@pytest.mark.parametrize("model", ["tool", "head"])
def test_harbor_counts_trials_without_a_reward_as_0(model):
    (summary,) = json.loads((LOGS / f"harbor/{model}/result.json").read_text())["stats"][
        "evals"
    ].values()
    (theirs,) = summary["metrics"]
    log = _log(f"harbor/{model}")
    assert {name: _mean(log, name, True) for name in theirs} == pytest.approx(theirs)


@pytest.mark.parametrize("model", ["plain", "head"])
def test_lm_eval_names_a_mean_by_metric_and_filter(model):
    (file,) = (LOGS / f"lm-eval/{model}").glob("results_*.json")
    results = json.loads(file.read_text())["results"]["sums"]
    theirs = {name: results[name] for name in ("exact_match,number", "exact_match,whole")}
    log = _log(f"lm-eval/{model}/samples_*.jsonl")
    assert {name: _mean(log, name) for name in theirs} == pytest.approx(theirs)


@pytest.mark.parametrize(
    ("path", "sample", "tokens", "seconds"),
    [
        ("verifiers-0.4/tool", "0", (133.0, 9.0), True),
        ("verifiers-0.1/tool", "0", (173.0, 9.0), True),
        ("tau2/tool.json", "sum-17-25", (377.0, 9.0), True),
        ("harbor/tool", "sum-17-25", (109.0, 9.0), True),
    ],
)
def test_an_episode_holds_what_its_source_knows(path, sample, tokens, seconds):
    log = _log(path)
    own = [each for each in log.episodes if each.sample == sample]
    assert [each.repeat for each in own] == [1, 2]
    used = own[0].used
    assert (used["input_tokens"], used["output_tokens"]) == tokens
    assert (used["steps"], used["tool_calls"]) == (2.0, 1.0)
    assert "cost_usd" not in used
    assert (used["duration_s"] > 0) == seconds


def _conversation(episode):
    return [(m.role, m.content, len(m.tool_calls)) for m in episode.transcript.messages]


@pytest.mark.parametrize("path", ["verifiers-0.4", "verifiers-0.1", "tau2", "harbor"])
def test_a_transcript_holds_the_call_and_its_result(path):
    log = _log(f"{path}/tool*", with_transcripts=True)
    episode = next(each for each in log.episodes if each.sample in ("0", "sum-17-25"))
    *_, question, call, result, answer = _conversation(episode)[: -1 if path == "tau2" else None]
    assert question == ("user", "What is 17 + 25?", 0)
    assert call == ("assistant", "", 1)
    assert result[:2] == ("tool", '"42"' if path == "tau2" else "42")
    assert answer == ("assistant", "It is 42 .", 0)
    messages = episode.transcript.messages
    (made,) = next(m.tool_calls for m in messages if m.tool_calls)
    assert (made.name, json.loads(made.arguments)) == ("add", {"x": 17, "y": 25})
    assert made.id == next(m.tool_call_id for m in messages if m.role == "tool")
    assert episode.transcript.answer == "It is 42 ."
    replies = [m for m in messages if m.role == "assistant"]
    assert len(episode.transcript.usages) in (0, len(replies))
