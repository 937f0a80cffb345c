"""Faults in an episode's failure_mode, whatever the task: its calls, and what went wrong with them.

Of an episode whose answer is not right, the first that fits:

  context             the conversation outgrew the model's context
  tool call in text   the answer holds a call that nobody ran; stage: its form, as of
                      scoring.calls_in_text
  malformed calls     more than half of the calls could not be run: no JSON object, an unknown tool,
                      arguments that do not fit
  loop                a limit ended the episode while a call was repeated (stage: `the same call`);
                      or no answer can be read in a reply whose end repeats itself (`the same text`)
  echo of the prompt  no answer can be read, and most of the reply is in the prompt
  no call             tools were offered that could help, the model ended the episode itself, and
                      called none
  no work             the answer is that there is none, and nothing else was written, thought or
                      called; of a free answer
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from itertools import pairwise, takewhile
from typing import Literal, get_args

from agent_env.records.schema import Condition, Episode, Message, Record, Score
from agent_env.scoring.calls_in_text import answer_with_call
from agent_env.scoring.evidence import stands_in
from agent_env.tasks.tool_registry import web_tools

TAIL = 2_000
"""Characters of a text's end that are looked at for repetition."""

Place = Literal[
    "stopped at a snippet", "another date of the snippets", "trusted another page",
    "newest date of the page", "another date of the page",
]  # fmt: skip
"""Where a wrong date was taken from."""

FailureMode = Literal[
    "context", "tool call in text", "malformed calls", "loop", "echo of the prompt"
]


class Call(Record):
    """A call with its arguments in one form."""

    name: str
    arguments: str
    output: str | None
    """What the model read; None where nothing came."""
    is_malformed: bool = False
    """Whether it could not be run as it was written."""


class Repeated(Record):
    tool: str
    arguments: str
    times: int
    is_loop: bool
    """Three times or more, or twice in a row with the same result."""


def failure_mode(
    episode: Episode, score: Score, calls: Sequence[Call], again: Sequence[Repeated]
) -> tuple[FailureMode, str] | None:
    """What went wrong on the way to an answer that is not right, and its stage, if known."""
    if episode.stop_reason == "context":
        return "context", ""
    if (form := answer_with_call(episode)) is not None:
        return "tool call in text", form
    malformed = sum(call.is_malformed for call in calls)
    if malformed * 2 > len(calls):
        return "malformed calls", f"{malformed} of {len(calls)}"
    if episode.stop_reason not in (None, "answered") and any(each.is_loop for each in again):
        return "loop", "the same call"
    last = next((m for m in reversed(episode.messages) if m.role == "assistant"), None)
    text = episode.answer or (last.content or last.reasoning or "" if last else "")
    if score.answer is not None:
        return None
    tail = text[-TAIL:].encode("utf-8", "replace")
    # a text repeats itself where its end compresses to less than one in so many
    if len(tail) >= TAIL / 2 and len(zlib.compress(tail)) * 10 < len(tail):
        return "loop", "the same text"
    prompts = [m.content for m in episode.messages if m.role in ("system", "user")]
    prompt_lines = {line.strip() for prompt in prompts for line in prompt.split("\n")}
    reply = (episode.answer or "").strip()
    lines = [line.strip() for line in reply.split("\n")]
    total = sum(map(len, lines))
    same = sum(len(line) for line in lines if line in prompt_lines)
    # share of a reply that is in the prompt
    is_echo = same >= 0.8 * total or any(reply in prompt for prompt in prompts)
    return ("echo of the prompt", "") if total > 0 and is_echo else None


def is_without_call(episode: Episode, condition: Condition, calls: Sequence[Call]) -> bool:
    """Whether tools that could help were offered and none was called. Where the dates are spelled
    out, the web cannot."""
    useless = web_tools(condition) if condition.wording != "implicit" else ()
    return (
        any(tool not in useless for tool in condition.tools)
        and episode.stop_reason in (None, "answered")
        and not calls
        and not episode.hosted_calls
    )


EMPTY_WORDS = 8
"""Words of a reply that says no more than that there is no answer."""


def is_without_work(episode: Episode, condition: Condition, score: Score) -> bool:
    """Whether the answer is that there is none, and nothing stands before it."""
    if score.outcome != "read" or score.answer or condition.answer_format == "schema":
        return False
    said = [each for each in episode.messages if each.role == "assistant"]
    return (
        bool(said)
        and not episode.hosted_calls
        and not episode.reasoning_tokens
        and not any(each.tool_calls or each.reasoning for each in said)
        and sum(len(each.content.split()) for each in said) <= EMPTY_WORDS
    )


# Calls ------------------------------------------------------------------------------------------

REJECTIONS = ("Error: wrong arguments: ", "Error: there is no tool '", "Error: the arguments ")
"""How the toolbox answers a call that it cannot run; see tools.toolbox."""


def calls_of(messages: Iterable[Message]) -> list[Call]:
    """All calls in order, with the output that the model read."""
    all_messages = list(messages)
    outputs: dict[str | None, str] = {}
    calls: list[Call] = []
    for place, message in enumerate(all_messages):
        if message.tool_calls:  # the tool messages up to the next reply; ids may come again later
            after = all_messages[place + 1 :]
            own = takewhile(lambda each: each.role != "assistant", after)
            outputs = {each.tool_call_id: each.content for each in own if each.role == "tool"}
        for call in message.tool_calls:
            output = outputs.get(call.id)
            calls.append(
                Call(
                    name=call.name,
                    arguments=call.plain_arguments,
                    output=output,
                    is_malformed=call.problem is not None
                    or (output is not None and output.startswith(REJECTIONS)),
                )
            )
    return calls


def repeated(calls: Sequence[Call]) -> Iterable[Repeated]:
    counts = Counter((call.name, call.arguments) for call in calls)
    in_a_row = {(one.name, one.arguments) for one, two in pairwise(calls) if one == two}
    for (name, arguments), times in counts.items():
        if times > 1:
            loop = times >= 3 or (name, arguments) in in_a_row
            yield Repeated(tool=name, arguments=arguments[:500], times=times, is_loop=loop)


def is_by_fault(
    episode: Episode, stage: str, web: Container[str], dates: Iterable[str], gave_up: bool
) -> bool:
    """Whether a fault of a tool can be why the answer failed at this stage: the model gave up; a
    faulty call was of the kind that was needed; or its output has the wrong dates that were taken.
    It is not where all that was needed was shown none the less."""
    landed = [fault for fault in episode.faults if fault.landed]
    if stage == "misread":
        return False
    if gave_up or stage == "cannot be told":
        return bool(landed)
    if stage in ("miscalculated", "dates left out", "dropped a constraint"):
        return any(fault.tool not in web for fault in landed)
    if stage in get_args(Place):
        calls = {fault.call for fault in landed}
        texts = [each.content for each in episode.messages if each.tool_call_id in calls]
        return any(stands_in(date, text) for date in dates for text in texts)
    return any(fault.tool in web for fault in landed)
