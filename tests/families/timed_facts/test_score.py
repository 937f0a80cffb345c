"""Scores of questions on timed facts: the gold scores 1, a near miss less, guesses what they do."""

import json

import pytest

from agent_env.families.timed_facts.sample import TimedQuestion
from agent_env.families.timed_facts.score import score, squad_measure
from agent_env.features.extraction.solver import Fact
from agent_env.records.schema import Message
from tests.questions import questions

from .asking import ask, episode

FACTS = tuple(
    Fact(topic="P", kind="team", value=value, start=start, end=end)
    for value, start, end in (
        ("Canvey Island F.C.", "2000-01", "2001-01"),
        ("Mill, Thale & Sons", "2001-01", "2004-01"),
        ("Colchester", "1996-01", "1999-01"),
    )
)
ASKED = TimedQuestion(
    id="s", task="tempreason", gold=("Canvey Island F.C.", "Mill, Thale & Sons"), level="L2",
    cell="L2-multi", question="Which team did P play for in Jan, 2001?", kind="team", topic="P",
    relation="in", reference="2001-01", facts=FACTS, negatives=("Colchester",),
)  # fmt: skip


def metrics(answer):
    return score(ASKED, episode(answer)).metrics


def test_answers_and_extractions_are_measured_apart():
    for answer in (
        "Answer: Canvey Island F.C., Mill, Thale & Sons",
        "Mill, Thale and Sons; Canvey Island FC",
        'Answer: ["mill, thale & sons", "Canvey Island F.C."]',
    ):
        found = metrics(answer)
        assert (found["sem"], found["answer_f1"], found["negative_hit"]) == (1.0, 1.0, 0.0)
    found = metrics("Answer: Canvey Island F.C.")
    assert (found["sem"], found["answer_f1"]) == (0.0, pytest.approx(2 / 3))
    assert (found["squad_em"], found["squad_f1"]) == (1.0, 1.0)
    found = metrics('["Canvey Island F.C.", "Mill, Thale & Sons", "Colchester"]')
    assert (found["sem"], found["negative_hit"]) == (0.0, 1.0)
    assert found["answer_f1"] == pytest.approx(0.8)
    assert metrics("Answer: Nowhere F.C.")["negative_hit"] == 0.0
    asked = ASKED.model_copy(update={"gold": (), "negatives": ("Colchester",)})
    right, wrong = (score(asked, episode(f"Answer: {said}")) for said in ("none", "Colchester"))
    assert right.metrics["sem"] == right.metrics["squad_em"] == 1.0
    assert right.answer == ()
    assert wrong.metrics["sem"] == 0.0
    found = score(ASKED, episode("No extraction (code: a program stands where data should)"))
    assert found.outcome == "unreadable"
    assert found.rule == "No extraction (code: a program stands where data should)"
    assert (found.metrics["sem"], found.metrics["fact_recall"]) == (0.0, 0.0)
    assert found.metrics["solver_on_gold"] == 1.0
    facts = [
        {"object": "Canvey Island FC", "start": "2000-01", "end": "2001-01"},
        {"object": "Colchester", "start": "1996-01", "end": "2009-01"},
    ]
    said = {"facts": facts, "relation": "in", "reference": "2001-01"}
    replied = Message(role="assistant", content=json.dumps(said))
    found = score(ASKED, episode("Answer: x", (replied,))).metrics
    assert (found["fact_precision"], found["fact_recall"]) == (0.5, pytest.approx(1 / 3))
    assert (found["solver_on_gold"], found["solver_on_extracted"]) == (1.0, 0.0)
    made, task = questions("tempreason", 150, 11, levels=("L2",), answers=("multi",))
    ran, simulated, plain = (
        [score(sample, ask(task, sample, how)).metrics["sem"] for sample in made.samples]
        for how in ("extract-run", "extract-simulate", "standard")
    )
    assert sum(ran) == len(ran) == 150
    assert sum(simulated) == sum(plain) < 120


@pytest.mark.parametrize("said", ["June 2001", "Jun, 2001", "2001-06", "Answer: Jun 2001."])
def test_a_month_may_be_written_in_any_way(said):
    asked = ASKED.model_copy(update={"level": "L1", "gold": ("Jun, 2001",), "negatives": ()})
    assert score(asked, episode(said)).metrics["sem"] == 1.0


@pytest.mark.parametrize(
    ("gold", "text", "exact", "f1"),
    [
        (("Marn F.C.", "Vell"), "marn fc", 1, 1),
        (("The Marn",), "Marn", 1, 1),
        (("Marn Bears",), "Answer: Marn Bears", 0, 0.8),
        (("Marn Bears", "Vell"), "Marn Bears, Vell", 0, 0.8),
        (("Zürich",), "Zurich", 0, 0),
        ((), "", 1, 1),
        ((), "unanswerable", 0, 0),
    ],
)
def test_a_response_is_compared_whole(gold, text, exact, f1):
    metrics = squad_measure(gold, text)["metrics"]
    assert metrics == {"squad_em": exact, "squad_f1": pytest.approx(f1)}
