"""The paper's tables over a few answers whose figures are worked out by hand."""

import pytest

from agent_env.families.tdbench.score import measure
from agent_env.features.papers.tdbench.paper_tables import (
    ScoredAnswer,
    by_cardinality,
    by_hops,
    by_prompt,
    by_prompt_and_cardinality,
    by_relation,
    measured,
)
from tests.families.tdbench.leaders import TABLE, hops, question


def answered(sample, text, row="m", prompt="default"):
    metrics = measure(sample, text, TABLE)["metrics"]
    return ScoredAnswer(sample, metrics, row, prompt)


RIGHT = "Carl Dahl, from 1999-05-18 to 2006-05-15"


def figures(cut, answers):
    return {each.quantity: each.estimate.value for each in measured(cut, answers)}


def test_tables_and_figures_of_the_paper():
    texts = (
        f"The Winter Games of 2002 were in Aland in February 2002. ANSWER: {RIGHT}",
        "The Winter Games of 2002 were in Bland. ANSWER: Ivo Juul",
        "ANSWER: Ivo Juul",
    )
    found = figures(by_hops, [answered(hops(), text) for text in texts])
    assert found["3-hop A"] == pytest.approx(100 / 3)
    assert (found["3-hop H1"], found["3-hop H2"]) == (50, 0)
    both = [answered(question(1), RIGHT), answered(question(1), "Carl Dahl", prompt="time-cot")]
    found = figures(by_prompt_and_cardinality, both)
    assert (found["unique original"], found["unique Time-CoT"]) == (100, 0)
    assert figures(by_prompt, [answered(hops(), RIGHT)]) == {"original": 100}
    half = question(1, relation="started-by", roles=("start",))
    full = question(1, relation="started-by", roles=("start", "end"))
    found = figures(by_relation, [answered(half, RIGHT), answered(full, "Ada Berg")])
    assert found == {"started-by": 50, "started-by (start)": 100, "started-by (start+end)": 0}
    answers = [answered(question(1, query=f"q-{n}"), RIGHT) for n in range(3)]
    answers += [answered(question(query=f"r-{n}"), "Ada Berg") for n in range(57)]
    found = {each.quantity: each.estimate for each in measured(by_cardinality, answers)}
    unique, none = found["unique A"], found["none A"]
    assert (unique.value, unique.samples, none.value, none.samples) == (100, 3, 0, 57)
    assert (unique.low, unique.high) == (pytest.approx(43.85, abs=0.01), 100)
