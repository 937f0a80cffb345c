"""When results of look-ups fix a puzzle's solutions."""

from __future__ import annotations

import pytest

from agent_env.families.time_puzzles.hooks import determined
from agent_env.families.time_puzzles.sample import TimePuzzle

PAGE = "https://encyclopedia.example/article/Bretton_Woods_Conference"
PUZZLE = TimePuzzle.model_validate(
    {
        "id": "p", "constraints": ("a", "b", "c", "d"),
        "explicit_constraints": ("a", "b", "c", "d"),
        "solution_count": 1, "fact_count": 4, "gold": ("2014-01-22",),
        "facts": (
            {"type": "multi_weekday", "value": ("Tuesday", "Wednesday", "Thursday")},
            {"type": "season", "season": "winter"},
            {"type": "explicit_year", "year": 2014},
            {"type": "kb_event", "event": "the Bretton Woods Conference", "aspect": "end",
             "level": "day", "value": 22},
        ),
        "proofs": (
            {"constraint": 3, "urls": (PAGE,), "dates": ("1944-07-22",), "shares": "day"},
        ),
    }
)  # fmt: skip


@pytest.mark.parametrize(
    ("texts", "is_fixed"),
    [
        ((), False),
        ((f"The conference\n{PAGE}\nIt ended on 22 July 1944.",), True),
        (("It ended on 22 July 1944.",), False),  # no page that proves it
        ((PAGE, "22 July 1944"), False),  # the date stands on another page
        ((f"{PAGE} ended on 21 July 1944",), False),
    ],
)
def test_a_page_that_states_the_date_proves_the_fact(
    texts: tuple[str, ...], is_fixed: bool
) -> None:
    assert determined()(PUZZLE, texts) is is_fixed


def test_a_gold_of_another_world_is_unknown() -> None:
    shifted = PUZZLE.model_copy(update={"gold": ("2014-01-23",)})
    assert determined()(shifted, ()) is None
    unheard = PUZZLE.facts[3].model_copy(update={"event": "the Conference of Nowhere"})
    assert determined()(PUZZLE.model_copy(update={"facts": (unheard,)}), ()) is None


def test_facts_that_need_no_look_up_may_be_enough() -> None:
    plain = PUZZLE.model_copy(update={"facts": PUZZLE.facts[:3]})
    days = tuple(
        f"2014-{month:02d}-{day:02d}"
        for month, last in ((1, 31), (2, 28), (12, 31))
        for day in range(1, last + 1)
        if (day + {1: 2, 2: 5, 12: 0}[month]) % 7 in (2, 3, 4)
    )
    assert determined()(plain.model_copy(update={"gold": days}), ()) is True
