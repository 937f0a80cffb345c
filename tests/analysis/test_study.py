"""Runs put together: what they share is compared, what differs is said and counted."""

import pytest

from agent_env.analysis.study import RunData, assemble, observe
from agent_env.errors import ConfigError
from agent_env.records.disturbance import Disturbance, SampleAttack
from agent_env.records.manifest import Preflight, WebSettings
from agent_env.records.schema import Sample, Score
from agent_env.tasks.conditions import parse_condition
from tests.ended import ended, manifest, scored

METRICS = ("exact_match",)


def run(name, samples, conditions="base web", **fields):
    """A run over one-letter samples, every episode read with score 1."""
    names = conditions.split()
    known = {"task": "time-puzzles", "model": name, "versions": {"agent-env": "1"}}
    conditions = [parse_condition(each) for each in names]
    told = manifest(conditions=conditions, samples=len(samples), **known | fields)
    made = {s: Sample(id=s, task="time-puzzles", gold=("2001-01-01",)) for s in samples}
    seen = {n: tuple(observation(s, n) for s in samples) for n in names}
    return RunData(name, told, made, seen)


def observation(sample, condition, outcome="read"):
    if outcome == "failed":
        score = Score(sample=sample, condition=condition, repeat=1, outcome=outcome)
        return observe(ended(None, sample, condition, status="failed", steps=3), score)
    return observe(*scored({"exact_match": 1.0}, sample, condition, ("2001-01-02",), steps=3))


def test_what_is_shared_and_labelled():
    seen = observation("a", "web")
    assert (seen.used["steps"], seen.used["cost_usd"], seen.used["input_tokens"]) == (3, None, None)
    assert [a.label for a in assemble([run("m", "ab")], METRICS).arms] == ["base", "web"]
    both = assemble([run("m", "ab"), run("n", "ab")], METRICS)
    assert [a.label for a in both.arms] == ["m base", "m web", "n base", "n web"]
    assert both.notes == ()
    made = assemble([run("m", "abcd"), run("n", "bcde")], METRICS)
    assert [s.id for s in made.samples] == ["b", "c", "d"]
    assert {o.sample for arm in made.arms for o in arm.observations} == {"b", "c", "d"}
    assert made.notes[0] == (
        "The runs asked different samples (m 4, n 4): compared over the 3 that all have, "
        "2 left out."
    )
    for one, other, strict, why in (
        (run("m", "ab"), run("n", "bc"), True, "different samples"),
        (run("m", "a"), run("n", "b"), False, "no sample in common"),
        (run("m", "a"), run("n", "a", task="event-check"), False, "different tasks"),
    ):
        with pytest.raises(ConfigError, match=why):
            assemble([one, other], METRICS, strict=strict)
    other = run("n", "ab")
    changed = {**other.samples, "b": Sample(id="b", task="time-puzzles", gold=())}
    made = assemble([run("m", "ab"), RunData("n", other.manifest, changed, {})], METRICS)
    assert [s.id for s in made.samples] == ["a"]
    assert "1 samples have the same id but different content" in made.notes[0]
    plain, other = run("m", "ab"), run("n", "ab")
    attack = SampleAttack(name="false-page", variant="1", planted=("1990-05-01",), pages=())
    change = {"attacks": (attack,)}
    attacked = {name: each.model_copy(update=change) for name, each in plain.samples.items()}
    study = assemble([plain, RunData("n", other.manifest, attacked, {})], METRICS)
    assert [sample.id for sample in study.samples] == ["a", "b"]
    assert not any("differ in content" in note for note in study.notes)


@pytest.mark.parametrize(
    ("repeats_replies", "repeats", "is_told"),
    [(False, 1, True), (False, 3, False), (True, 1, False), (None, 1, False)],
)
def test_a_server_that_does_not_repeat_its_replies_is_told(repeats_replies, repeats, is_told):
    tried = Preflight(at="", model="m", repeats_replies=repeats_replies)
    notes = assemble([run("m", "ab", preflights=(tried,), repeats=repeats)], METRICS).notes
    told = (
        "m: the server gives equal requests unequal replies, and each question was asked once: a "
        "question may change its answer without a change of condition (--repeats)."
    )
    assert (told in notes) is is_told


def test_what_differs_or_is_missing_is_named():
    other = run("n", "a", "base", prompt="paper", versions={"agent-env": "2"})
    notes = assemble([run("m", "a"), other], METRICS).notes
    assert notes == (
        "The runs have different prompts: m default, n paper.",
        "The runs were made with different versions of agent-env: m 1, n 2.",
        "n has no condition web; it is compared without.",
    )
    other = run("n", "a", scorer="m.py:strict", metrics=("m.py:letters",))
    assert assemble([run("m", "a"), other], METRICS).notes == (
        "The runs have different scorers: m None, n m.py:strict.",
        "The runs have different metrics of their own: m (), n ('m.py:letters',).",
    )
    # And a run without a web, or without code, differs in none of it.
    webs = {"web": "record", "sandbox": "docker", "web_settings": WebSettings(search="brave")}
    as_of = WebSettings(search="brave", as_of="2020-01-01")
    other = webs | {"web": "frozen", "web_settings": as_of}
    runs = [run("m", "a", **webs), run("n", "a", **other), run("o", "a", model_parameters={"x": 1})]
    assert assemble(runs, METRICS).notes == (
        "The runs have different webs: m record, n frozen.",
        "The runs have different web settings: m as_of=None, n as_of=2020-01-01.",
        "The runs have different model parameters: m x=None, n x=None, o x=1.",
    )
    other = run("n", "a", "base web")
    attack = Disturbance(suffix="attacked", attack="false-page")
    change = {"name": "web~attacked", "disturbance": attack}
    twin = other.manifest.conditions[1].model_copy(update=change)
    more = other.manifest.model_copy(update={"conditions": (twin, *other.manifest.conditions)})
    seen = {**other.observations, "web~attacked": (observation("a", "web~attacked"),)}
    study = assemble([run("m", "a"), RunData("n", more, other.samples, seen)], METRICS)
    assert study.notes == (
        "m has no disturbed condition web~attacked: it is compared with the plain condition of its "
        "own run, and that one with the same of m.",
    )
    made = run("m", "abc")
    seen = {"base": made.observations["base"], "web": (observation("a", "web", "failed"),)}
    (note,) = assemble([RunData("m", made.manifest, made.samples, seen)], METRICS).notes
    assert note == "web: of 3 episodes 1 failed, 2 never begun. They are in no mean."
