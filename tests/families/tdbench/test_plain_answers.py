"""Answers to a question from a table as models write them: what is given, and what is only told."""

import pytest

from agent_env.families.tdbench.score import measure
from tests.families.tdbench.leaders import TABLE, question

DAHL, BOTH, NOBODY = question(1), question(1, 2), question()
"""Questions whose gold is Carl Dahl; Carl Dahl and Eva Fors; none."""
RIGHT_DAHL = (
    "Final answer: Carl Dahl\nNote that Ivo Juul came later.",
    "Final answer: Carl Dahl\n\nEva Fors took office in 2006.",
    "Answer: Carl Dahl. Eva Fors came only later.",
    "I first thought of Eva Fors, but it is Carl Dahl.",
    "At first I considered Ada Berg; the answer is Carl Dahl.",
    "I initially believed it was Eva Fors. It is Carl Dahl.",
    "Initially I guessed Ada Berg, but Carl Dahl is right.",
    "Ada Berg? No: Carl Dahl.",
    "It was Carl Dahl (Ada Berg had left by then).",
    "Carl Dahl, as Ada Berg had already left office.",
    "Carl Dahl, Norway",
    "Carl Dahl, Tallinn, Estonia",
    '{"answer": "Carl Dahl"}',
    '```json\n{"answer": ["Carl Dahl"], "start": "1999-05-18"}\n```',
    '{"answer": "Carl D\\u0061hl"}',
    "**Answer:** Carl Dahl\n**Note:** Eva Fors followed in 2006.",
    "Answer: Carl Dahl\nReasoning: Ada Berg left in 1999, Eva Fors came in 2006.",
    "Answer: Carl Dahl, from 1999-05-18\nto 2006-05-15. Later Ivo Juul followed.",
    "Not Ada Berg but Carl Dahl.",
    "Ada Berg left in 1999, so Carl Dahl.",
    "Carl Dahl (born in Oslo, Norway)",
    "Carl Dahl, the leader of Aland",
    "Carl Dahl, Prime Minister",
    "**Final answer:**\n\nCarl Dahl",
    "The president then was Carl Dahl. He was followed by Eva Fors.",
    "Carl Dahl. (Ada Berg served before him.)",
    "Carl Dahl — Eva Fors took over later.",
    "My first guess was Ada Berg, but the correct answer is Carl Dahl.",
    "At first glance it looks like Ada Berg, but it was Carl Dahl.",
    "Ada Berg left on 18 May 1999. Therefore, Carl Dahl.",
    "Ada Berg's term ended in 1999; hence the answer is Carl Dahl.",
    "Answer: Carl Dahl\n(Eva Fors came in 2006.)",
    "Answer: Carl Dahl\n\nExplanation:\n- Ada Berg served until 1999\n- Eva Fors served from 2006",
    "Final answer: Carl Dahl\nPS: Gun Holm is the current one.",
    "Final answer: **Carl Dahl**.\n\nLet me know if you want to hear of Eva Fors!",
    "Carl Dahl, President of Aland",
    "Carl Dahl, Aland",
    "Carl Dahl (Labour Party)",
)
WRONG_DAHL = (
    "Answer: Carl Dahl, Zaphod Beeblebrox",
    "CARL DAHL, Zaphod Beeblebrox",
    "Carl Dahl and Zaphod Beeblebrox",
    "Carl Dahl; Zaphod Beeblebrox",
    "Carl Dahl and also Zaphod Beeblebrox held the office.",
    "The leaders were Carl Dahl and Zaphod Beeblebrox.",
    "Both Carl Dahl and Zaphod Beeblebrox",
    "1. Carl Dahl\n2. Zaphod Beeblebrox",
    '["Carl Dahl", "Zaphod Beeblebrox"]',
    '{"answer": ["Carl Dahl", "Zaphod Beeblebrox"]}',
    "[]",
    "Answer: Carl Dahl, Eva Fors",
    "Answer:\n- Carl Dahl\n- Eva Fors",
    "Final answer: Carl Dahl\n\nWait, it is Eva Fors.",
    "Final answer: Carl Dahl\nActually, it is Eva Fors.",
    "Carl Dahl & Zaphod Beeblebrox",
    "Carl Dahl, as well as Ford Prefect",
    "Carl Dahl, Ford Prefect, Arthur Dent",
    "Carl Dahl / Ford Prefect",
    "Carl Dahl\nFord Prefect",
    "Answer: Carl Dahl\nFord Prefect",
    "- Carl Dahl\n- Ford Prefect\n- Arthur Dent",
    "Carl Dahl (1999-2006), Ford Prefect (2006-2007)",
    "Carl Dahl from 1999 to 2006 and Ford Prefect from 2006",
    "Ford Prefect and Carl Dahl were both in office.",
    "0 rows",
)
RIGHT_BOTH = (
    "Answer:\n- Carl Dahl\n- Eva Fors",
    "Answer:\n\n1. Carl Dahl\n\n2. Eva Fors\n\nIvo Juul came later.",
    "Final answer: Carl Dahl\nEva Fors",
    "Final answer: Carl Dahl (1999-05-18 to 2006-05-15)\nEva Fors (2006-05-15 to 2015-01-14)",
    "Carl Dahl was president, so was Eva Fors.",
    "Carl Dahl held office from 1999 to 2006. Eva Fors held office from 2006 to 2015.",
    "Carl Dahl served first; Eva Fors followed.",
    "Answer: Carl Dahl, then Eva Fors",
    '["Carl Dahl", "Eva Fors"]',
    '{"answers": [{"name": "Carl Dahl", "start": "1999"}, {"name": "Eva Fors"}]}',
    'Here is my answer:\n```json\n["Carl Dahl","Eva Fors"]\n```',
    "The answer is:\n| name | start |\n|---|---|\n| Carl Dahl | 1999 |\n| Eva Fors | 2006 |",
    "Answer: Carl Dahl (1999-2006); Eva Fors (2006-2015)",
    "**Final answer:**\n\n**Carl Dahl** – from 1999\n**Eva Fors** – 2006-2015\n\nGun Holm left.",
)
WRONG_BOTH = ("Carl Dahl, who was followed by Eva Fors",)
RIGHT_NOBODY = (
    "[]",
    "{}",
    '{"answer": null}',
    '{"answer": []}',
    '{"answer": "none"}',
    '{"names": []}',
    "Answer: []",
    "Answer: null",
    "null",
    "∅",
    "```json\n[]\n```",
    "Final answer: No answer\nNote that Carl Dahl left in 2006.",
    "Final answer: No answer\n\nCarl Dahl left on 15 May 2006.",
    "(empty)",
    "None.",
    "Answer: None",
    '{"answer": ""}',
    '{"answer": "No answer", "reason": "Carl Dahl left in 2006"}',
    "answer = []",
    "Empty list",
    "An empty list.",
    "The answer is an empty set.",
    '{"result": []}',
    "No rows match.",
    "0 rows",
)
WRONG_NOBODY = (
    '{"answer": "unsure"}',
    '{"answer": "Carl Dahl"}',
)
CASES = (
    *((DAHL, text, 1) for text in RIGHT_DAHL),
    *((DAHL, text, 0) for text in WRONG_DAHL),
    *((BOTH, text, 1) for text in RIGHT_BOTH),
    *((BOTH, text, 0) for text in WRONG_BOTH),
    *((NOBODY, text, 1) for text in RIGHT_NOBODY),
    *((NOBODY, text, 0) for text in WRONG_NOBODY),
)


@pytest.mark.parametrize(("sample", "text", "right"), CASES, ids=[text for _, text, _ in CASES])
def test_only_what_is_given_counts_and_all_of_it(sample, text, right):
    assert measure(sample, text, TABLE)["metrics"]["answer"] == right


def test_the_dates_of_json_count_as_those_of_prose():
    rows = '[{"name": "Carl Dahl", "start": "1999-05-18", "end": "2006-05-15"}]'
    assert measure(DAHL, rows, TABLE)["metrics"] == {
        "answer": 1, "f1": 1, "no_answer": 0, "unsure": 0, "time": 1, "answer_time": 1
    }  # fmt: skip
    assert measure(DAHL, "Carl Dahl, 18May1999 to 15May2006", TABLE)["metrics"]["time"] == 1
