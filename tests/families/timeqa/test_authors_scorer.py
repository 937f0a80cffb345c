"""TimeQA's own rules: the whole response against the best gold answer."""

from __future__ import annotations

import pytest

from agent_env.families.timeqa.authors_scorer import measure


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
def test_a_response_is_compared_whole(
    gold: tuple[str, ...], text: str, exact: float, f1: float
) -> None:
    metrics = measure(gold, text)["metrics"]
    assert metrics == {"squad_em": exact, "squad_f1": pytest.approx(f1)}
