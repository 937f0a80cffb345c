"""The means of real logs are those that the tools which wrote them give (tests/data/foreign)."""

import json
from pathlib import Path

import pytest

from agent_env.features.interop.foreign.read import read_logs

pytestmark = pytest.mark.usefixtures("unconfined")

LOGS = Path(__file__).parents[3] / "data" / "foreign"


def _log(path):
    (file,) = LOGS.glob(path)
    (log,) = read_logs([file], None)
    return log


def _mean(log, metric):
    """Over episodes; each sample has as many."""
    values = [each.metrics[metric] for each in log.episodes if metric in each.metrics]
    return sum(values) / len(values)


@pytest.mark.parametrize("model", ["plain", "head"])
def test_lm_eval_names_a_mean_by_metric_and_filter(model):
    (file,) = (LOGS / f"lm-eval/{model}").glob("results_*.json")
    results = json.loads(file.read_text())["results"]["sums"]
    theirs = {name: results[name] for name in ("exact_match,number", "exact_match,whole")}
    log = _log(f"lm-eval/{model}/samples_*.jsonl")
    assert {name: _mean(log, name) for name in theirs} == pytest.approx(theirs)
