"""Repetition loops: seen where there is one, never in ordinary texts; streams that are cut."""

import calendar
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_env.models.apis import compatible, openai
from agent_env.models.client import ApiModel
from agent_env.models.settings import Parameters
from agent_env.models.streams import Loop, LoopWatch, loop_at_end
from agent_env.records.schema import Message
from agent_env.wiring.trust import own_call
from tests.fake_server import FakeServer, ScriptedAnswer
from tests.fake_server.talk import always
from tests.loops import in_loop

SENTENCE = "I am sorry, but I cannot say which date that was. "
WORDS = "the date cannot be known without more of war peace treaty year".split()
PHRASES = st.permutations(WORDS).map(lambda words: " ".join(words[:9]) + ". ")
NO_LOOPS = [
    SENTENCE * 4,
    SENTENCE * 20 + "But it was in 1999.",
    "",
    "a",
    "-" * 900,
    "| | | | |\n" * 200,
    "[" + "0, " * 900,
    "[" + "[None, None, None, False],\n" * 80,
    "Mon Tue Wed Thu Fri Sat Sun " * 52,
    "Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday, " * 20,
    "".join(f"Step {n}: the date is a Monday, so I go on.\n" for n in range(90)),
    Path(__file__).read_text(),
]


def test_a_sentence_over_and_over_is_a_loop():
    assert loop_at_end("Let me see. " + SENTENCE * 20) == Loop(SENTENCE, 20)


@given(PHRASES, st.integers(0, 40), st.text(max_size=40))
@settings(max_examples=40)
def test_a_phrase_that_goes_on_is_seen_wherever_it_stops(phrase, cut, before):
    text = before + phrase * (4 + 700 // len(phrase)) + phrase[:cut]
    loop = loop_at_end(text)
    assert len(phrase) % len(loop.unit) == 0
    assert loop.times >= 4


@pytest.mark.parametrize("text", NO_LOOPS)
def test_a_few_times_a_loop_that_was_left_rulers_zeros_code_and_steps_are_none(text):
    assert loop_at_end(text) is None


# Ordinary texts -----------------------------------------------------------------------------------

DAYS = st.tuples(st.dates(date(1800, 1, 1), date(2040, 1, 1)), st.integers(1, 40))


def dates(start, step, count, form):
    return [format(start + timedelta(days=n * step), form) for n in range(count)]


FORMS = ("%Y-%m-%d", "%B %d, %Y", "%A, %d %b %Y", "%d/%m")


@given(DAYS, st.integers(1, 400), st.sampled_from(FORMS), st.sampled_from([", ", "\n| free | "]))
@settings(max_examples=60)
def test_a_list_of_dates_is_none_at_any_length(first, count, form, between):
    text = between.join(dates(*first, count, form))
    assert loop_at_end(text) is None


@given(st.integers(1800, 2050), st.integers(1, 12))
@settings(max_examples=30)
def test_a_calendar_is_none(year, months):
    text = "".join(calendar.TextCalendar().formatmonth(year, month + 1) for month in range(months))
    assert loop_at_end(text) is None


@given(st.lists(st.tuples(st.integers(0, 9999), st.sampled_from(["yes", "no"])), max_size=80))
@settings(max_examples=30)
def test_a_table_with_rows_that_differ_is_none(rows):
    lines = [f"| {n} | {value} | leaves the year as it is | {word} |"
             for n, (value, word) in enumerate(rows)]  # fmt: skip
    assert (
        loop_at_end("| n | value | what | fits |\n|---|---|---|---|\n" + "\n".join(lines)) is None
    )


def test_only_much_more_of_what_says_nothing_is_a_loop():
    assert loop_at_end("-" * 3_100) is not None
    assert loop_at_end("2014/" * 700) is not None


@given(st.text(max_size=60), st.integers(1, 50))
@settings(max_examples=30)
def test_a_watch_sees_in_pieces_what_the_whole_holds(before, size):
    text = before + SENTENCE * 30
    watch = LoopWatch()
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    stopped = next(n for n, piece in enumerate(pieces) if watch.add([("reasoning", piece)]))
    assert watch.place == "reasoning"
    assert stopped * size < len(before) + 800


# Streams ------------------------------------------------------------------------------------------


@in_loop
async def ask(text, api=compatible.API, stream=True, reasoning=None, most=None):
    """The replies to two questions."""
    policy = always(ScriptedAnswer(text, reasoning=reasoning))
    parameters = Parameters(max_output_tokens=most)
    async with FakeServer(policy, piece_delay_s=0.0005) as server:
        model = ApiModel(
            api, "m", "fake", server.url, None, parameters, 20, stream, permit=own_call()
        )
        replies = [
            await model.generate([Message(role="user", content=text)], ())
            for text in ("When?", "And?")
        ]
        await model.close()
    return replies


@pytest.mark.parametrize("api", [compatible.API, openai.API])
def test_a_stream_that_loops_is_closed_and_the_next_call_works(api):
    first, again = ask("MY ANSWER: 1999-01-01\n" + SENTENCE * 400, api, most=6_000)
    assert first.finish_reason == again.finish_reason == "repetition"
    assert first.message.content.startswith("MY ANSWER: 1999-01-01\nI am sorry")
    assert len(first.message.content) < 2_000
    loop = first.repetition
    assert (loop.place, loop.was_cut, len(loop.unit)) == ("content", True, len(SENTENCE))
    assert loop.saved_tokens == 6_000 - len(first.message.content) // 4
    assert first.usage.output_tokens is None


def test_reasoning_that_loops_is_cut_too():
    first, _ = ask("", reasoning=SENTENCE * 400)
    assert (first.repetition.place, first.repetition.saved_tokens) == ("reasoning", None)
    assert first.message.content == ""


@pytest.mark.parametrize("api", [compatible.API, openai.API])
def test_a_reply_in_one_piece_that_ran_to_its_limit_in_a_loop_is_marked(api):
    first, _ = ask(SENTENCE * 400, api, stream=False, most=300)
    assert first.finish_reason == "repetition"
    assert (first.repetition.was_cut, first.repetition.saved_tokens) == (False, 0)
    assert first.usage.output_tokens == 300


def test_a_whole_reply_that_ended_by_itself_is_left_alone():
    first, _ = ask(SENTENCE * 40, stream=False)
    assert (first.finish_reason, first.repetition) == ("stop", None)
