"""Both modes on response files: figures, what they depend on, and what they leave out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_env.families.temp_answers.commands import disagreements
from agent_env.families.temp_answers.responses import Response, ResponseFile
from agent_env.families.temp_answers.study.layouts import Answers, all_layouts, baselines, spearman
from agent_env.families.temp_answers.study.modes import Summary, score_paper, score_v2, summarize

Row = tuple[str, str, str, str | None]
"""Label, format, unit, response."""


def table_file(rows: Sequence[Row], model: str = "A", first: int = 0) -> ResponseFile:
    return ResponseFile(
        Path(f"ttqa_head_{model}_few-shot_x.csv"), "ttqa", model, "few-shot", False,
        tuple(
            Response(n, f"Question {n + first}?", label, form, unit, "head", text,
                     f"q{n + first}", f"table {n // 2}")
            for n, (label, form, unit, text) in enumerate(rows)
        ),
    )  # fmt: skip


def object_file(rows: Sequence[tuple[str, str, str]], model: str = "A") -> ResponseFile:
    return ResponseFile(
        Path(f"tot_arithmetic_{model}_zero-shot_continue_final_message.csv"), "tot", model,
        "zero-shot", True,
        tuple(
            Response(n, f"Question {n}?", label, "<answer>", unit, "arithmetic", text,
                     f"q{n}", f"q{n}", "multi_op")
            for n, (label, unit, text) in enumerate(rows)
        ),
    )  # fmt: skip


def years(label: int, said: object) -> Row:
    return (str(label), "<num_years>", "years", f"Final Answer: {said}")


def v2(*files: ResponseFile) -> list[Summary]:
    return list(summarize(score_v2(files).items, "v2"))


def paper(*files: ResponseFile) -> list[Summary]:
    return list(summarize(score_paper(files).items, "paper"))


MIXED = (
    years(25, "In 2009, he was 25"), years(17, "17"), years(30, "31 years"), years(40, "40"),
    ("1095", "<num_days>", "days", "Final Answer: 1,095"),
    ("2009", "yyyy", "date_years", "Final Answer: 2018"),
    ("February 17, 1837", "%B %d, %Y", "date", "Final Answer: February 17, 1837"),
    years(20, "unknown"),
)  # fmt: skip


def test_the_figures_of_both_modes() -> None:
    (ours,), (theirs,) = v2(table_file(MIXED)), paper(table_file(MIXED))
    assert (ours.n, ours.exact_match, ours.n_smape, ours.unparsed) == (8, 62.5, 6, 1)
    assert ours.smape == pytest.approx((100 / 61 + 100) / 6)
    assert ours.outcomes == {"parsed": 7, "refused": 1}
    assert (theirs.n, theirs.exact_match, theirs.n_smape, theirs.unparsed) == (8, 37.5, 6, 1)
    assert theirs.n_mase == 7


def test_the_modes_differ_by_named_causes() -> None:
    file = table_file(MIXED)
    found = list(disagreements([file], score_paper([file]).items, score_v2([file]).items))
    assert [d.cause for d in found] == [
        "a calendar year taken for the answer", "cut at the thousands separator",
    ]  # fmt: skip
    objects = object_file([
        ("{'hours': 2, 'minutes': 5}", "minutes", ' "so", "minutes": 5, "hours": 2}'),
        ("{'answer': 5}", "days", ' "so", "answer": 5,}'),
        ("{'answer': 5}", "days", ' "so", "answer": null}'),
    ])  # fmt: skip
    found = list(disagreements([objects], score_paper([objects]).items, score_v2([objects]).items))
    assert [d.cause for d in found] == ["keys by position", "v2 alone reads it: no strict JSON"]


def test_a_null_costs_one_answer_and_not_the_run() -> None:
    file = object_file([
        ("{'X': 2.0, 'Y': 5.0, 'Z': 45.0}", "seconds", ' "so", "X": 2, "Y": null, "Z": 45}'),
        ("{'X': 2.0, 'Y': 5.0, 'Z': 45.0}", "seconds", ' "so", "X": 2, "Y": 5, "Z": 45}'),
    ])  # fmt: skip
    for (found,) in (v2(file), paper(file)):
        assert (found.n, found.exact_match, found.unparsed) == (2, 50.0, 1)


def test_another_model_changes_no_score_of_v2_but_those_of_the_paper() -> None:
    rng = Random(1)
    rows = [years(rng.randrange(1, 90), rng.randrange(1, 90)) for _ in range(20)]
    shown, other = table_file(rows), table_file([years(1000, 5)] * 9, "B", first=100)
    alone, together = v2(shown)[0], v2(shown, table_file(rows, "B"))[0]
    assert alone == together
    assert paper(shown)[0].mase != paper(shown, other)[0].mase


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 99), st.integers(-99, 2500)), min_size=2, max_size=12),
       st.randoms(use_true_random=False))  # fmt: skip
def test_the_order_of_rows_changes_nothing_in_v2(pairs: list[tuple[int, int]], rng: Random) -> None:
    rows = [(n, *years(*pair)) for n, pair in enumerate(pairs)]
    shuffled = rows.copy()
    rng.shuffle(shuffled)

    def made(chosen: list[tuple[int, str, str, str, str | None]]) -> Summary:
        responses = tuple(
            Response(n, f"Question {n}?", label, form, unit, "head", text, f"q{n}", f"q{n}")
            for n, label, form, unit, text in chosen
        )
        file = ResponseFile(Path("ttqa_head_A_few-shot_x.csv"), "ttqa", "A", "", False, responses)
        return summarize(score_v2([file]).items, "v2", intervals=False)[0]

    one, other = made(rows), made(shuffled)
    assert one.exact_match == other.exact_match
    assert one.mase == pytest.approx(other.mase)
    assert one.smape == pytest.approx(other.smape)
    assert 0 <= (one.smape or 0) <= 100


def test_the_same_answers_in_another_unit_are_as_often_exact() -> None:
    seconds = [(f"{{'answer': {60 * n}}}", "seconds", 60 * n + n % 2) for n in range(9)]
    minutes = [(f"{{'answer': {n}}}", "minutes", n + n % 2 / 60) for n in range(9)]
    one, other = (
        v2(object_file([(label, unit, f' "so", "answer": {said}}}') for label, unit, said in rows]))
        for rows in (seconds, minutes)
    )
    assert one[0].exact_match == other[0].exact_match == pytest.approx(500 / 9)


def test_rows_without_a_gold_are_counted_and_in_no_mean_of_v2() -> None:
    file = table_file([
        years(17, 17), ("long ago", "yyyy", "date_years", "Final Answer: 2009"),
        ("3", "<num_moons>", "moons", "Final Answer: 3"),
    ])  # fmt: skip
    (found,) = v2(file)
    assert (found.n, found.exact_match) == (1, 100.0)
    assert found.problems == {
        "label 'long ago' is no year of years": 1,
        "answer_format '<num_moons>' and answer_temporal_unit 'moons' are unknown": 1,
    }


def test_one_item_of_a_unit_has_no_scaled_error() -> None:
    (found,) = v2(table_file([years(17, 18)]))
    assert (found.mase, found.n_mase, found.smape) == (None, 0, pytest.approx(100 / 35))
    (published,) = paper(table_file([years(17, 18)]))
    assert published.mase == math.inf


def test_all_answers_unparsable() -> None:
    (found,) = v2(table_file([years(17, "?"), years(18, "")]))
    assert (found.exact_match, found.smape, found.mase, found.unparsed) == (0.0, 100.0, None, 2)
    (published,) = paper(table_file([years(17, "?"), years(18, "")]))
    assert (published.exact_match, published.smape, published.mase) == (0.0, 100.0, None)


def test_a_coarse_date_is_wrong_and_in_no_mase() -> None:
    (found,) = v2(table_file([("February 17, 1837", "%B %d, %Y", "date", "Final Answer: 1837")]))
    assert (found.exact_match, found.n_mase, found.coarse, found.unparsed) == (0.0, 0, 1, 0)


def test_paper_scales_by_the_distance_to_given_centroids() -> None:
    file = table_file([years(20, 22), years(60, 50)])
    (items,) = score_paper([file], {("ttqa", "years"): [16.0, 80.0]}).items
    assert [item.scaled for item in items] == [0.5, 0.5]


def test_intervals_are_drawn_by_table() -> None:
    file = table_file([years(n, n + n % 4 // 2) for n in range(40)])
    (found,) = v2(file)
    assert found.intervals is not None
    low, high = found.intervals["exact_match"]
    assert low < 50 < high
    assert high - low > 2 * 1.96 * 100 * math.sqrt(0.25 / 40) * 0.9  # pairs count once
    (right,) = v2(table_file([years(5, 5)] * 6))
    assert right.intervals is not None
    assert right.intervals["exact_match"] == (pytest.approx(43.85, abs=0.01), 100.0)


def test_rank_correlation_takes_ties_at_their_mean() -> None:
    assert spearman([(1, 1), (2, 2), (3, 3)]) == pytest.approx(1.0)
    assert spearman([(1, 3), (2, 2), (3, 1)]) == pytest.approx(-1.0)
    assert spearman([(1, 1), (1, 2)]) is None
    assert spearman([(1, 1), (2, 2), (2, 3), (4, 4)]) == pytest.approx(0.9487, abs=1e-4)


FINER = [
    years(20, "20 years and 3 months"), years(53, "52 years, 7 months, and 8 days"),
    years(13, "12.5 years"), years(5, "5-6 years"),
]  # fmt: skip


def test_answers_as_intervals_are_right_by_floor_or_by_rounding_or_within_a_band() -> None:
    file = table_file(FINER)
    (items,), (found,) = score_v2([file]).items, v2(file)
    assert [(i.exact, i.floor, i.rounded, i.outcome) for i in items] == [
        (True, True, True, "finer than asked"), (False, False, True, "finer than asked"),
        (False, False, True, "parsed"), (False, False, False, "unparsable"),
    ]  # fmt: skip
    assert [i.distance for i in items] == [0.25, pytest.approx(0.3948, abs=1e-4), 0.5, 1.0]
    assert (found.exact_match, found.floor, found.rounded) == (25.0, 25.0, 75.0)
    assert (found.bands[1], found.unparsed) == (100.0, 1)
    assert found.outcomes == {"finer than asked": 2, "parsed": 1, "unparsable": 1}


def test_a_month_is_not_completed_to_its_first_days() -> None:
    row = ("May 01, 1989", "%B %d, %Y", "date", "Final Answer: May 1989")
    assert [s.exact_match for s in paper(table_file([row]))] == [0.0]
    first = score_paper([table_file([row])], clock=date(2025, 1, 1))
    assert first.items[0][0].exact  # the false match of the earlier default


def test_constant_answers_of_the_paper_are_made_by_unit_over_all_rows() -> None:
    rows = [years(10, 10), years(30, 30), ("50", "<num_days>", "days", "Final Answer: 50")]
    files = (table_file(rows), table_file(rows[:1], "B"))
    scores = score_paper(files, {("ttqa", "years"): [20.0], ("ttqa", "days"): [40.0]})
    mean, median = baselines(Answers(files, "paper", scores, summarize(scores.items, "paper")))
    guess = 50 / 3  # of 10, 30 and 10 again
    smape = 100 * (2 * (guess - 10) / (guess + 10) + (30 - guess) / (guess + 30)) / 4
    assert mean.smape == pytest.approx(smape)
    assert mean.mase == pytest.approx((2 * (guess - 10) / 10 + (30 - guess) / 10) / 4)
    assert (median.exact_match, median.smape, median.mase) == (75.0, 12.5, 0.5)


def test_constant_dates_are_taken_in_seconds() -> None:
    rows = [(f"January {d:02}, 1970", "%B %d, %Y", "date", "?") for d in (1, 2, 9)]
    files = (table_file(rows),)
    scores = score_paper(files, {("ttqa", "date"): [86_400.0 * 10]})
    mean, median = baselines(Answers(files, "paper", scores, summarize(scores.items, "paper")))
    assert (mean.exact_match, mean.smape) == (0.0, None)
    assert mean.mase == pytest.approx((3 / 10 + 2 / 9 + 5 / 2) / 3)
    assert (median.exact_match, median.mase) == (
        pytest.approx(100 / 3),
        pytest.approx((0.1 + 3.5) / 3),
    )


def test_tables_8_and_9_count_strict_objects_and_the_marker() -> None:
    texts = [years(5, 5), ("5", "<num_years>", "years", "So it is 5."), years(5, "unknown"),
             ("5", "<num_years>", "years", None)]  # fmt: skip
    responses = (' "so", "answer": 5}', ' "so", "answer": 5,}', ' "so", "answer": 5', "")
    objects = [("{'answer': 5}", "days", text) for text in responses]
    files = (table_file(texts), object_file(objects))
    for scores, mode in ((score_v2(files), "v2"), (score_paper(files), "paper")):
        answers = Answers(files, mode, scores, summarize(scores.items, mode))
        layouts = {made.name: made.rows for made in all_layouts(answers)}
        (marker,) = layouts["table_9_markers"]
        assert marker[:7] == ("head", "A", "few-shot", "", 4, 2, 50.0)
        (errors,) = layouts["table_8_parsing_errors"]
        assert errors[:7] == ("arithmetic", "A", "zero-shot", "", 4, 3, 75.0)


def test_every_layout_has_rows_of_its_columns() -> None:
    objects = object_file([("{'answer': 5}", "days", ' "2 + 2 = 5", "answer": 6}')] * 4)
    files = (table_file(MIXED), table_file(MIXED[:4], "B"), objects)
    scores = score_v2(files)
    means = summarize(scores.items, "v2")
    layouts = {made.name: made for made in all_layouts(Answers(files, "v2", scores, means))}
    assert len(layouts) == 16
    for made in layouts.values():
        assert all(len(row) == len(made.columns) for row in made.rows)
    frequent = [row[:4] for row in layouts["table_3_errors"].rows[:2]]
    assert frequent == [
        ("ttqa", 1, 2, pytest.approx(200 / 3)),
        ("ttqa", 9, 1, pytest.approx(100 / 3)),
    ]
    (types,) = layouts["table_4_question_types"].by_column()
    assert (types["kind"], types["all_percent"], types["off_by_one_n"]) == ("multi_op", 100.0, 4)
    assert layouts["figure_5_possible"].rows[21] == (25, 0, 25.0, 100.0)
    performance = layouts["tables_11_12_performance"].rows
    assert [row[2] for row in performance[-2:]] == ["baseline, mean", "baseline, median"]
    assert layouts["figure_11_reasoning"].rows == (("tot", "A", False, 4, 0.0, None, None),)
    assert ("ttqa", "date", 1) in layouts["table_2_units"].rows  # not among the days
    sizes = {row[:3] for row in layouts["table_3_histogram"].rows}
    assert {("ttqa", "1", 2), ("ttqa", "6–10", 1), ("tot", "1", 4)} <= sizes
