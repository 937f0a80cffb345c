"""The published rules on single answers of a run, as mode paper has them for response files."""

import pytest

from agent_env.families.temp_answers.sample import TimeQuestion
from agent_env.features.papers.temp_answers.authors_scorer import score
from tests.ended import ended

QUESTION = TimeQuestion(
    id="q", task="temp-answers", gold=("20",), split="table", question_type="person",
    question="How old?", form="a number of years", kind="number", unit="years", amount=20,
    label="20", answer_format="<num_years>", answer_unit="years",
)  # fmt: skip
OBJECT = QUESTION.model_copy(
    update={
        "split": "arithmetic", "keys": {"answer": "years"}, "label": "{'answer': 20}",
        "answer_format": '"<answer>"',
    }
)  # fmt: skip


def metrics(question, text):
    return score(question, ended(text, "q", stop_reason="answered")).metrics


@pytest.mark.parametrize(
    ("question", "text", "exact", "smape"),
    [
        (QUESTION, "Final Answer: 20 years and 3 months", 1.0, 0.0),
        (QUESTION, "Final Answer: 20,500", 1.0, 0.0),
        (QUESTION, "Final Answer: 30", 0.0, 20.0),
        (QUESTION, "It is 20.", 0.0, 100.0),
        (OBJECT, '{"explanation": "x", "answer": 20}', 1.0, 0.0),
        (OBJECT, ' "x", "answer": 20}', 1.0, 0.0),
        (OBJECT, '{"explanation": "x", "answer": 20,}', 0.0, 100.0),
    ],
)
def test_digits_are_read_as_published(question, text, exact, smape):
    assert metrics(question, text) == {"exact_match": exact, "smape": smape}
