"""Every family of ours keeps the contract, and a family that breaks it is told how."""

import random
from dataclasses import replace
from typing import Any

import pytest

import agent_env as ae
from agent_env.tasks.family import SampleSet, family_of
from agent_env.testing import check_family
from agent_env.wiring.registry import task_names
from tests.testing.test_tool import breaches

QA = """\
{"question": "The year after 1999?", "answer": "2000"}
{"question": "The year before 1999?", "answer": "1998"}
"""
OWN = {
    "tdbench": {"samples": 2, "shows_gold": True, "near_miss": lambda sample: "Zed Quux"},
    "temp-answers": {"shows_gold": True},
    "tempreason": {"shows_gold": True},
    "timeqa": {"shows_gold": True},
    "traveler": {"shows_gold": True},
}
"""Where the book is open, the page before the question names the answer."""


@pytest.mark.parametrize("name", task_names())
def test_ours_conform(name, tmp_path):
    more = OWN.get(name, {})
    if name == "qa":
        more = {"dataset": tmp_path / "questions.jsonl"}
        more["dataset"].write_text(QA)
    check_family(name, **{"samples": 4, **more})


SET_ORDER = """\
import agent_env as ae
from tests.testing import test_family

NAMES = "zero one two three four five six seven eight nine ten eleven twelve".split()
SAMPLES = tuple(
    ae.Sample(id=name, task="words", gold=(str(NAMES.index(name)),)) for name in set(NAMES)
)
def prompt(sample, condition):
    return (ae.Message(role="user", content=sample.id),)
TASK = ae.Task("words", ae.Sample, prompt, test_family.scorer, ("right",), ("base",))
FAMILY = test_family.family_of(TASK, SAMPLES)
"""


class Sum(ae.Sample):
    a: int
    b: int


def asked(text):
    return (ae.Message(role="user", content=text),)


def prompt(sample, condition):
    return asked(f"{sample.a} plus {sample.b}?")


def scored(sample, episode, worth):
    """The score of a task whose scorer finds its answers worth this."""
    return ae.episode_score(
        sample, episode, lambda text: {"outcome": "read", "metrics": {"right": float(worth(text))}}
    )


def scorer(sample, episode):
    return scored(sample, episode, lambda text: (text or "").strip() == sample.gold[0])


TASK = ae.Task("sums", Sum, prompt, scorer, ("right",), ("base",))
SAMPLES = tuple(
    Sum(id=f"s-{a}", task="sums", gold=(str(a + 40),), a=a, b=40) for a in range(11, 15)
)
GOOD = family_of(TASK, SAMPLES)


def told(family, **more):
    return "\n".join(breaches(check_family, family, **more))


def of_task(**changes):
    return family_of(replace(TASK, **changes), SAMPLES)


def test_a_family_of_a_few_lines_conforms_and_what_is_none_is_a_mistake():
    check_family(GOOD)
    with pytest.raises(ae.ConfigError, match="family 'int' is an int, not a Family"):
        check_family(5)


def test_bytes_that_the_seed_does_not_fix_are_found():
    def make(count, seed, options):
        drawn = random.randrange(10**9)
        return SampleSet((Sum(id="s-1", task="sums", gold=(str(drawn + 1),), a=drawn, b=1),))

    assert "family sums: sample s-1: the same seed gave other bytes" in told(
        replace(GOOD, make_samples=make), near_miss=lambda sample: "no"
    )


def test_a_prompt_with_the_gold_is_found_whether_it_depends_on_it_or_not():
    def leaks(sample, condition):
        return asked(f"Is it {sample.gold[0]}?")

    def sums(sample, condition):
        return asked(f"Is it {sample.a + sample.b}?")

    text = told(of_task(prompt=leaks))
    assert "sample s-11: the prompt depends on gold; build it without" in text
    text = told(of_task(prompt=sums))
    assert "sample s-12: the prompt holds the gold answer '52'" in text
    check_family(of_task(prompt=sums), shows_gold=True)


def test_a_scorer_that_takes_anything_or_nothing_is_found():
    lenient, strict = (lambda *asked, n=n: scored(*asked, lambda text: n) for n in (1, 0.5))
    text = told(of_task(scorer=lenient))
    assert "sample s-11: '52' scores as much as the gold answer '51'" in text
    assert "answer None: no answer scores as a right one" in text
    text = told(of_task(scorer=strict))
    assert "sample s-11: the gold answer '51' scores right 0.5, not right 1" in text
    check_family(of_task(scorer=scorer), ceiling=1.0)


def test_a_scorer_that_raises_or_remembers_is_found_with_its_line():
    seen = []

    def raises(sample, episode):
        int(episode.answer or "0")
        return scorer(sample, episode)

    def remembers(sample, episode):
        seen.append(sample.id)
        return scored(sample, episode, lambda text: seen.count(sample.id) == 1)

    text = told(of_task(scorer=raises))
    assert "the scorer raised ValueError: invalid literal for int()" in text
    assert f" at {__file__}:" in text
    text = told(of_task(scorer=remembers))
    assert "sample s-11: the same answer scores right 1.0, then right 0.0" in text


def test_samples_that_no_file_can_hold_are_found():
    class Odd(Sum):
        b: Any = None

    odd = Odd(id="s-1", task="sums", gold=("51",), a=11, b=(40,))
    text = told(family_of(replace(TASK, sample_type=Odd), (odd,)), near_miss=lambda sample: "no")
    assert text == "family sums: sample s-1: is another one after writing and reading"


def test_errors_of_another_kind_and_ids_that_stand_twice_are_found():
    def reads(file, options):
        file.read_text(encoding="utf-8")

    text = told(replace(family_of(TASK, (*SAMPLES, SAMPLES[0])), read_foreign=reads), samples=9)
    assert "sample s-11: two samples have this id; number them" in text
    assert "read_foreign raised UnicodeDecodeError" in told(replace(GOOD, read_foreign=reads))
    assert "samples cannot be read back" in text


def test_the_order_of_a_set_is_found_in_a_new_process(tmp_path, monkeypatch):
    (tmp_path / "set_order.py").write_text(SET_ORDER)
    monkeypatch.chdir(tmp_path)
    assert told("set_order.py:FAMILY", new_process=True) == (
        "family words: the same seed gave other bytes in a new process; sort what comes from a set"
    )
    assert told(GOOD, new_process=True).startswith("family sums: no other process finds it")
