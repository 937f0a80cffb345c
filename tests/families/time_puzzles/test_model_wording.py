"""A model's words are taken where they are read as the same constraint, and never else."""

import asyncio
import json
import re

from agent_env.extensions.fake_server import FakeServer, ScriptedAnswer
from agent_env.families.time_puzzles.model_wording import (
    NO_LINE,
    NO_REPLY,
    OTHER,
    SAME,
    accepted,
    reworded,
    wording_samples,
)
from agent_env.runs.generate import GenerateOptions, make_set
from agent_env.runs.start import Listener

from .by_hand import GOOD

QUIET = Listener(lambda line: None, lambda folder, count: None, lambda key, ending: None)
SENTENCES = (
    "The month is June.",
    "The day of the month is less than 9.",
    "The year is the same as that of the first day of the Battle of Waterloo.",
)


def test_words_with_the_same_meaning_are_taken():
    reply = (
        "1. It is June.\n2) It is before the 9th of the month.\n"
        "3: It is the same year as the first day of the Battle of Waterloo."
    )
    words, reasons = accepted(reply, SENTENCES)
    assert list(words.values()) == [
        "It is June.",
        "It is before the 9th of the month.",
        "It is the same year as the first day of the Battle of Waterloo.",
    ]
    assert not reasons


def test_other_meanings_missing_lines_and_the_same_words_are_not_taken():
    reply = "1. The month is June.\n2. It is before the 10th of the month."
    assert accepted(reply, SENTENCES) == ({}, {SAME: 1, OTHER: 1, NO_LINE: 1})
    last = "3. It is the same year as the last day of the Battle of Waterloo."
    assert accepted(last, SENTENCES) == ({}, {NO_LINE: 2, OTHER: 1})
    assert accepted("3. It is the year of that battle.", SENTENCES)[1][OTHER] == 1
    assert accepted(None, SENTENCES) == ({}, {NO_REPLY: 3})


def test_a_worded_puzzle_has_the_gold_of_the_same_without():
    questions = wording_samples(GOOD[:1], {})
    numbered = enumerate(questions[0].sentences, start=1)
    reply = "\n".join(f"{n}. {text.replace('The month is', 'It is')}" for n, text in numbered)
    result = reworded(GOOD[:1], questions, {"waterloo": reply}, "compatible/m")
    (puzzle,) = result.samples
    assert puzzle.constraints[1] == puzzle.explicit_constraints[1] == "It is June."
    assert (puzzle.gold, puzzle.facts) == (GOOD[0].gold, GOOD[0].facts)
    assert (puzzle.worded_by, puzzle.digest != GOOD[0].digest) == ("compatible/m", True)
    assert reworded(GOOD[:1], questions, {}, "m").refused == {NO_REPLY: 1}


async def says_it_is(turns, offers):
    """Words the months anew and gets a weekday wrong."""
    lines = re.findall(r"^\d+\. .*$", turns[-1].content, re.M)
    text = "\n".join(lines).replace("The month is", "It is in").replace("a Monday", "a Tuesday")
    return ScriptedAnswer(text)


def test_a_set_is_worded_by_a_model_behind_a_server(tmp_path):
    out = tmp_path / "tp.jsonl"

    async def go():
        async with FakeServer(says_it_is) as server:
            options = GenerateOptions(
                task="time-puzzles", out=out, limit=6, seed=4, wording="model:compatible/m-1",
                base_url=server.url,
            )  # fmt: skip
            made = await make_set(options, QUIET)
            assert made.wording.worded + sum(made.wording.refused.values()) == 6

    asyncio.run(go())
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    worded = [row for row in rows if row.get("worded_by") == "compatible/m-1"]
    texts = [text for row in worded for text in row["explicit_constraints"]]
    assert any(text.startswith("It is in ") for text in texts)
    assert not [text for row in rows for text in row["constraints"] if "a Tuesday" in text
                and "Tuesday" not in json.dumps(row["facts"])]  # fmt: skip
