"""Both modes on response files: figures, what they depend on, and what they leave out."""

import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_env.features.papers.temp_answers import paper_measures as measures
from agent_env.features.papers.temp_answers.commands import disagreements
from agent_env.features.papers.temp_answers.modes import score_paper, score_v2, summarize
from agent_env.features.papers.temp_answers.paper_measures import Answers, baselines
from agent_env.features.papers.temp_answers.responses import Response, ResponseFile


def table_file(rows, model="A", first=0):
    return ResponseFile(
        Path(f"ttqa_head_{model}_few-shot_x.csv"), "ttqa", model, "few-shot", False,
        tuple(
            Response(n, f"Question {n + first}?", label, form, unit, "head", text,
                     f"q{n + first}", f"table {n // 2}")
            for n, (label, form, unit, text) in enumerate(rows)
        ),
    )  # fmt: skip


def object_file(rows, model="A"):
    return ResponseFile(
        Path(f"tot_arithmetic_{model}_zero-shot_continue_final_message.csv"), "tot", model,
        "zero-shot", True,
        tuple(
            Response(n, f"Question {n}?", label, "<answer>", unit, "arithmetic", text,
                     f"q{n}", f"q{n}", "multi_op")
            for n, (label, unit, text) in enumerate(rows)
        ),
    )  # fmt: skip


def years(label, said):
    return (str(label), "<num_years>", "years", f"Final Answer: {said}")


def v2(*files):
    return list(summarize(score_v2(files).items, "v2"))


def paper(*files):
    return list(summarize(score_paper(files).items, "paper"))


MIXED = (
    years(25, "In 2009, he was 25"), years(17, "17"), years(30, "31 years"), years(40, "40"),
    ("1095", "<num_days>", "days", "Final Answer: 1,095"),
    ("2009", "yyyy", "date_years", "Final Answer: 2018"),
    ("February 17, 1837", "%B %d, %Y", "date", "Final Answer: February 17, 1837"),
    years(20, "unknown"),
)  # fmt: skip


def test_the_figures_of_both_modes_and_their_causes():
    file = table_file(MIXED)
    (ours,), (theirs,) = v2(file), paper(file)
    assert (ours.n, ours.exact_match, ours.n_smape, ours.unparsed) == (8, 62.5, 6, 1)
    assert ours.smape == pytest.approx((100 / 61 + 100) / 6)
    assert ours.outcomes == {"parsed": 7, "refused": 1}
    assert (theirs.n, theirs.exact_match, theirs.n_smape, theirs.unparsed) == (8, 37.5, 6, 1)
    assert theirs.n_mase == 7
    objects = object_file([
        ("{'hours': 2, 'minutes': 5}", "minutes", ' "so", "minutes": 5, "hours": 2}'),
        ("{'answer': 5}", "days", ' "so", "answer": 5,}'),
        ("{'answer': 5}", "days", ' "so", "answer": null}'),
    ])  # fmt: skip
    for own, causes in (
        (file, ["a calendar year taken for the answer", "cut at the thousands separator"]),
        (objects, ["keys by position", "v2 alone reads it: no strict JSON"]),
    ):
        found = disagreements([own], score_paper([own]).items, score_v2([own]).items)
        assert [each.cause for each in found] == causes
    rng = Random(1)
    rows = [years(rng.randrange(1, 90), rng.randrange(1, 90)) for _ in range(20)]
    shown, other = table_file(rows), table_file([years(1000, 5)] * 9, "B", first=100)
    assert v2(shown)[0] == v2(shown, table_file(rows, "B"))[0]
    assert paper(shown)[0].mase != paper(shown, other)[0].mase


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 99), st.integers(-99, 2500)), min_size=2, max_size=12),
       st.randoms(use_true_random=False))  # fmt: skip
def test_the_order_of_rows_changes_nothing_in_v2(pairs, rng):
    file = table_file([years(*pair) for pair in pairs])
    shuffled = replace(file, rows=tuple(rng.sample(file.rows, len(pairs))))
    one, other = (
        summarize(score_v2([each]).items, "v2", intervals=False)[0] for each in (file, shuffled)
    )
    assert one.exact_match == other.exact_match
    assert (one.mase, one.smape) == pytest.approx((other.mase, other.smape))
    assert 0 <= (one.smape or 0) <= 100


def test_units_missing_golds_and_intervals_change_what_they_should():
    seconds = [(f"{{'answer': {60 * n}}}", "seconds", 60 * n + n % 2) for n in range(9)]
    minutes = [(f"{{'answer': {n}}}", "minutes", n + n % 2 / 60) for n in range(9)]
    one, other = (
        v2(object_file([(label, unit, f' "so", "answer": {said}}}') for label, unit, said in rows]))
        for rows in (seconds, minutes)
    )
    assert one[0].exact_match == other[0].exact_match == pytest.approx(500 / 9)
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
    file = table_file([years(20, 22), years(60, 50)])
    (items,) = score_paper([file], {("ttqa", "years"): [16.0, 80.0]}).items
    assert [item.scaled for item in items] == [0.5, 0.5]
    file = table_file([years(n, n + n % 4 // 2) for n in range(40)])
    (found,) = v2(file)
    low, high = found.intervals["exact_match"]
    assert low < 50 < high
    assert high - low > 2 * 1.96 * 100 * math.sqrt(0.25 / 40) * 0.9  # pairs count once
    (right,) = v2(table_file([years(5, 5)] * 6))
    assert right.intervals["exact_match"] == (pytest.approx(43.85, abs=0.01), 100.0)
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
    rows = [("1907", "yyyy", "years", "Final Answer: 1907")] * 2 + [years(k, k) for k in (3, 8)]
    found = made(measures.label_densities, "v2", table_file([*rows, *MIXED]))
    names = {row.partition(",")[0].removeprefix("TTQA head ") for row, _ in found}
    assert names == {"calendar years", "years", "days", "date"}
    assert found["TTQA head calendar years, 1907 to 1907", "bin 1"].value == 100
    assert any(row.startswith("TTQA head date, 1837.") for row, _ in found)


FINER = [
    years(20, "20 years and 3 months"), years(53, "52 years, 7 months, and 8 days"),
    years(13, "12.5 years"), years(5, "5-6 years"),
]  # fmt: skip


def test_constant_answers_and_tables_of_the_paper():
    rows = [years(10, 10), years(30, 30), ("50", "<num_days>", "days", "Final Answer: 50")]
    files = (table_file(rows), table_file(rows[:1], "B"))
    mean, median = constants(files, {("ttqa", "years"): [20.0], ("ttqa", "days"): [40.0]})
    guess = 50 / 3  # of 10, 30 and 10 again
    smape = 100 * (2 * (guess - 10) / (guess + 10) + (30 - guess) / (guess + 30)) / 4
    assert mean.smape == pytest.approx(smape)
    assert mean.mase == pytest.approx((2 * (guess - 10) / 10 + (30 - guess) / 10) / 4)
    assert (median.exact_match, median.smape, median.mase) == (75.0, 12.5, 0.5)
    rows = [(f"January {d:02}, 1970", "%B %d, %Y", "date", "?") for d in (1, 2, 9)]
    mean, median = constants((table_file(rows),), {("ttqa", "date"): [86_400.0 * 10]})
    assert (mean.exact_match, mean.smape) == (0.0, None)
    assert mean.mase == pytest.approx((3 / 10 + 2 / 9 + 5 / 2) / 3)
    assert (median.exact_match, median.mase) == pytest.approx((100 / 3, (0.1 + 3.5) / 3))
    objects = object_file([("{'answer': 5}", "days", ' "2 + 2 = 5", "answer": 6}')] * 4)
    files = (table_file(MIXED), table_file(MIXED[:4], "B"), objects)
    errors = made(measures.frequent_errors, "v2", *files)
    shares = {"|e| = 1": 200 / 3, "|e| = 9": 100 / 3, "5 < |e| ≤ 10": 100 / 3, "1000 < |e|": 0}
    assert {e: errors[f"TTQA {e}", "share"].value for e in shares} == pytest.approx(shares)
    types = made(measures.question_types, "v2", *files)
    assert (types["MultiOP", "all data"].value, types["MultiOP", "|e| = 1"].samples) == (100.0, 4)
    assert made(measures.units, "v2", *files)["TTQA date", "questions"].value == 1  # no days
    right = made(measures.reasoning, "v2", *files)["A", "wrong answers"]
    assert (right.value, right.low, right.samples) == (0.0, 0.0, 4)
    possible = made(measures.possible_smape, "v2", *files)
    assert possible["least, errors of 25 % or more", "EM 0 %"].value == 25
    assert possible["most", "EM 30 %"].value == 70
    same = [years(10 + k, 10 + k + (k % 3 == 0)) for k in range(30)]
    found = made(measures.rankings, "v2", *(table_file(same, name) for name in ("A", "A", "B")))
    assert list(found) == [(m, q) for q in ("EM", "sMAPE", "MASE") for m in "AB"]
    pooled, own = found["A", "EM"], found["B", "EM"]
    assert pooled.value == own.value
    assert own.low - 3 < pooled.low < own.high < pooled.high + 3
    finite = table_file([years(10 + k, 11 + k) for k in range(12)])
    infinite = object_file([("{'answer': 5}", "days", ' "2 + 2 = 5", "answer": 6}')] * 3)
    assert len(made(measures.rankings, "paper", finite, infinite)) == 3
    found = made(partial(measures.performance, dataset="tot"), "paper", infinite)
    row, first = next(iter(found))
    assert (first, found[row, "MASE"].value) == ("EM", None)
    assert found[row, "MASE"].method == "infinite: a gold answer is its own centroid"


def answers(files, mode, scores):
    return Answers(files, mode, scores, summarize(scores.items, mode))


def constants(files, centroids):
    return baselines(answers(files, "paper", score_paper(files, centroids)))


def made(measure, mode, *files):
    scores = score_v2(files) if mode == "v2" else score_paper(files)
    return {(row, name): value for row, name, value in measure(answers(files, mode, scores))}
