"""What a run will use: at most by its limits, expected by an earlier run or a stated guess.

What a plan of so many samples can show, by earlier pairs or by a guess.
"""

import random
from statistics import stdev

import pytest

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.forecast import detectable_differences, forecast_run
from agent_env.analysis.study import Arm, RunData, Study
from agent_env.analysis.totals import Totals
from agent_env.records.manifest import ContextCheck, Preflight, Probe
from agent_env.records.schema import Condition, ModelFacts, Sample, Usage
from tests.analysis.studies import study_of
from tests.ended import manifest as plain_manifest
from tests.ended import scored as pair

PRICES = ModelFacts(input_per_million=1.0, output_per_million=4.0, date="2026-01-01", source="x")
LIMITS = {"steps": 10, "tokens": 50_000, "time_s": 60.0}


CONDITIONS = (Condition(name="base"), Condition(name="web", tools=("web_search",)))
SERVED = "compatible/m@http://127.0.0.1:1/v1"


def manifest(**fields):
    given = {"model": SERVED, "conditions": CONDITIONS, "repeats": 2, "samples": 5}
    rest = {"limits": LIMITS, "concurrency": 4, "model_facts": PRICES}
    return plain_manifest(**given | rest | fields)


def preflight(context=None):
    needs = (("base", 300, 600), ("web", 500, 2300))
    contexts = tuple(
        ContextCheck(condition=c, first_tokens=f, needed_tokens=n) for c, f, n in needs
    )
    tried = ((2, 0.1), (100, 2.0))
    probes = tuple(Probe(usage=Usage(output_tokens=n), latency_s=s) for n, s in tried)
    where = {"at": "", "model": "compatible/m", "context_tokens": context}
    return Preflight(contexts=contexts, probes=probes, **where)


def earlier(model, name, tokens_in):
    spent = Totals(
        episodes=4, calls=4, failed_calls=0, uncounted_calls=0, charged_tokens=0,
        charged_cost_usd=None, cache_hits=0, input_tokens=tokens_in, cached_tokens=0,
        output_tokens=400, reasoning_tokens=None, cost_usd=None,
    )  # fmt: skip
    return RunData(name, manifest(model=model), {}, {}, spent={"base": spent})


def test_forecasts_go_by_limits_guesses_and_earlier_runs():
    run = forecast_run(manifest(), ())
    base = run.conditions[0].amounts
    assert (run.episodes, base.most_tokens, base.most_s) == (20, 10 * 50_000, 600.0)
    assert base.most_cost_usd == pytest.approx(10 * 50_000 * 4.0 / 1e6)
    assert (run.amounts.most_tokens, run.amounts.most_s) == (1_000_000, 1200.0 / 4)
    bounded = manifest(preflights=(preflight(4000),), model_parameters={"max_output_tokens": 100})
    base = forecast_run(bounded, ()).conditions[0].amounts
    assert base.most_tokens == 10 * 10 * 4000
    assert base.most_cost_usd == pytest.approx(10 * (39_000 * 1.0 + 1000 * 4.0) / 1e6)
    run = forecast_run(manifest(run_limits={"tokens": 9000, "cost_usd": 0.5, "time_s": 7.0}), ())
    amounts = run.amounts
    assert (amounts.most_tokens, amounts.most_cost_usd, amounts.most_s) == (9000, 0.5, 7.0)
    base, web = forecast_run(manifest(preflights=(preflight(),)), ()).conditions
    assert (base.amounts.expected_tokens, base.basis) == (10 * (300 + 400), "guess: 1 call")
    inputs = sum(500 + k * (400 + 800) for k in range(5))
    assert web.amounts.expected_tokens == 10 * (inputs + 5 * 400)
    assert web.amounts.expected_cost_usd == pytest.approx(10 * (inputs + 4.0 * 2000) / 1e6)
    assert base.amounts.expected_s == pytest.approx(10 * (2.0 + 300 * 0.02))
    short = preflight().model_copy(update={"probes": preflight().probes[:1]})
    unknown, _ = forecast_run(manifest(preflights=(short,)), ()).conditions
    assert (base.amounts.expected_s, unknown.amounts.expected_s) == (10 * 8.0, None)
    assert unknown.amounts.expected_tokens == base.amounts.expected_tokens
    runs = [earlier("compatible/other", "a", 4000), earlier("compatible/m", "b", 2000)]
    for number, basis, tokens in ((2, "b, n = 4", 600), (1, "a (other), n = 4", 1100)):
        base = forecast_run(manifest(), runs[:number]).conditions[0]
        assert (base.basis, base.amounts.expected_tokens) == (basis, 10 * tokens)


def planned(samples, conditions=("base", "web")):
    arms = tuple(
        Arm(name, "later", "m", Condition(name=name), observations=(), asked=samples)
        for name in conditions
    )
    given = tuple(Sample(id=f"p{i}", task="t", gold=()) for i in range(samples))
    return Comparison(Study("t", ("exact_match",), arms, given, ()))


def earlier_scores(scores):
    scored = [
        pair({"exact_match": value}, f"s{i}", name)
        for name, values in scores.items()
        for i, value in enumerate(values)
    ]
    return study_of(scored, list(scores), ("exact_match",))


def test_what_a_plan_can_show_goes_by_earlier_pairs_or_a_guess():
    (found,) = detectable_differences(planned(100), None)
    assert found.difference == pytest.approx(2.8015852 * (0.3 / 100) ** 0.5)
    assert (found.contrast, found.samples) == ("web − base", 100)
    assert found.basis == "guess: 30 % of pairs differ"
    (found,) = detectable_differences(planned(2), None)
    assert found.difference is None  # it would be 1.09
    rng = random.Random(1)
    base, web = ([float(rng.random() < p) for _ in range(40)] for p in (0.3, 0.6))
    (found,) = detectable_differences(planned(160), earlier_scores({"base": base, "web": web}))
    spread = stdev(after - before for after, before in zip(web, base, strict=True))
    assert found.difference == pytest.approx(2.8015852 * spread / 160**0.5)
    assert found.basis == "run, 40 pairs"


@pytest.mark.parametrize(
    ("scores", "why"),
    [
        ({"base": [1.0] * 20, "web": [1.0] * 20}, "all pairs alike in run"),
        ({"base": [1.0] * 20}, "no earlier run has web"),
        ({"base": [1.0] * 9, "web": [0.0] * 8 + [1.0]}, "9 pairs in run are too few"),
    ],
)
def test_what_earlier_pairs_do_not_tell_is_guessed(scores, why):
    (found,) = detectable_differences(planned(50), earlier_scores(scores))
    assert found.basis == f"guess: 30 % of pairs differ ({why})"


def test_the_same_calls_are_priced_each_way_and_unknown_where_the_table_has_no_such_tier():
    half = {"input_per_million": 0.5, "output_per_million": 2.0}
    facts = PRICES.model_copy(update={"cached_input_per_million": 0.1})
    facts = ModelFacts(**facts.model_dump() | {"tiers": {"batch": half}})
    run = forecast_run(manifest(model_facts=facts, preflights=(preflight(),)), ())
    ways = {way.name: way for way in run.ways}
    assert ways["now"].expected_cost_usd == pytest.approx(run.amounts.expected_cost_usd)
    assert ways["batch"].expected_cost_usd == pytest.approx(run.amounts.expected_cost_usd / 2)
    assert (ways["batch"].expected_s, ways["batch"].most_s) == (None, 10 * 86_400.0)
    # web asks five times: 500, 1700, 2900, 4100, 5300 tokens, of which all but the last repeat
    saved = 10 * (500 + 1700 + 2900 + 4100) * 0.9 / 1_000_000
    difference = ways["now"].expected_cost_usd - ways["cached"].expected_cost_usd
    assert difference == pytest.approx(saved)
    assert ways["flex"].expected_cost_usd is None
    flex = manifest(model_facts=facts, model_parameters={"service_tier": "flex"})
    asked = forecast_run(flex.model_copy(update={"preflights": (preflight(),)}), ())
    assert asked.amounts.expected_cost_usd is None
    assert not forecast_run(manifest(model_facts=None, preflights=(preflight(),)), ()).ways
