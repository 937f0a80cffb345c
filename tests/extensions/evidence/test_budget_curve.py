"""Look-ups made after the answer was determined, counted by rule."""

from agent_env.extensions.evidence.budget_curve import LookupCount, needless_calls, needless_table
from agent_env.records.schema import Episode, Message, Sample, ToolCall

SAMPLE = Sample(id="s", task="t", gold=("2000-01-01",))


def episode(*replies):
    """Of replies that each make these calls; the result of a call is its name and number."""
    messages = [Message(role="user", content="?")]
    number = 0
    for calls in replies:
        made = tuple(
            ToolCall(id=f"c{number + i}", name=name, arguments="{}") for i, name in enumerate(calls)
        )
        messages.append(Message(role="assistant", tool_calls=made))
        for call in made:
            number += 1
            text = f"{call.name} {number}"
            messages.append(Message(role="tool", tool_call_id=call.id, content=text))
    return Episode(
        sample="s", condition="web", repeat=1, model="m", status="finished",
        messages=tuple(messages),
    )  # fmt: skip


def after_two(sample, texts):
    return "search 2" in texts


def test_look_ups_count_from_the_reply_behind_the_result_that_settles_it():
    replies = [("search",), ("search", "search"), ("python",), ("search",), ()]
    assert needless_calls(SAMPLE, episode(*replies), {"search"}, after_two) == (4, 1)


def test_what_the_question_determines_by_itself_needs_no_look_up_at_all():
    calls = needless_calls(SAMPLE, episode(("search",)), {"search"}, lambda s, texts: True)
    assert calls == (1, 1)


def test_where_the_solver_cannot_tell_there_is_no_number():
    calls = needless_calls(SAMPLE, episode(("search",)), {"search"}, lambda s, texts: None)
    assert calls == (1, None)
    each = (("a", 3, 1), ("b", 1, 0), ("c", 2, None))
    counts = [LookupCount("web", *its) for its in each]
    (row,) = needless_table(counts).rows
    assert (row[1], row[-1]) == (2, 1)
    assert [cell[0] for cell in row[2:5] if isinstance(cell, tuple)] == [2.0, 0.5, 0.5]
