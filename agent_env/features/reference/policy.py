"""The scripted policies: one that searches until it is sure, one that searches once, and some with
a single known fault or source, with which measures are tried.

Each family has its own step function, which `Family.reference` names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

from agent_env.features.reference.turns import Call, Habit, Source, Step, Turn
from agent_env.sdk.models import Estimate, ReplyOptions
from agent_env.sdk.records import Message, Reply, ToolCall, ToolSpec, Usage
from agent_env.sdk.run import load_family, load_path, ours

StepMaker = Callable[[Turn], Step | None]


class Reference:
    """Searches, opens pages until one fits, asks again where a search failed, computes."""

    name = "reference"
    thorough = True
    """Whether it looks until it is sure, or takes the first that fits."""
    source: Source = "pages"
    habit: Habit | None = None

    def __init__(self, steps: Sequence[str | StepMaker] | None = None) -> None:
        """`steps` are the families' functions, or where they are; None: those of every task."""
        self._steps = steps

    async def generate(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        options: ReplyOptions = ReplyOptions(),
    ) -> Reply:
        """The next step, from the messages alone."""
        offered = () if options.tool_choice == "none" else tools
        turn = Turn(messages, offered, self.thorough, self.source, self.habit)
        return _reply(messages, *next(self._turns(turn)))

    def _turns(self, turn: Turn) -> Iterator[Step]:
        """The step of each family that knows the question; at last an apology."""
        if self._steps is None:
            # the paths of these tasks' step functions; puzzles come last, as their prompts have the
            # fewest marks
            ordered = sorted(ours("families"), key=lambda task: task == "time-puzzles")
            paths = (load_family(task).reference for task in ordered)
            self._steps = list(dict.fromkeys(path for path in paths if path))
        for path in self._steps:
            step = (load_path(path) if isinstance(path, str) else path)(turn)
            if step is not None:
                yield step
        yield "I do not understand the question.", []


class ReferenceStatic(Reference):
    """One search for each thing, and the first hit's snippet is trusted."""

    name = "reference-static"
    thorough = False


class Rememberer(Reference):
    """Searches once and answers from what it remembers, whatever the pages say."""

    name = "rememberer"
    source = "memory"


class Guesser(Reference):
    """Searches once and guesses among the values that the other constraints allow."""

    name = "guesser"
    source = "chance"


class Believer(Reference):
    """Takes the first page for the truth, and does what a page tells it."""

    name = "believer"
    habit = "believer"


class Checker(Reference):
    """Wants two pages that say the same."""

    name = "checker"
    habit = "checker"


class GiverUp(Reference):
    """The reference policy, but it answers nothing once a call has failed."""

    name = "giver-up"
    habit = "giver-up"


def _reply(messages: Sequence[Message], text: str, tool_calls: Sequence[Call]) -> Reply:
    count = sum(len(message.tool_calls) for message in messages)
    calls = tuple(
        ToolCall(id=f"call_{count + i}", name=name, arguments=json.dumps(arguments))
        for i, (name, arguments) in enumerate(tool_calls, start=1)
    )
    message = Message(role="assistant", content=text, tool_calls=calls)
    input_tokens, output_tokens = sum(map(_size, messages)), _size(message)
    return Reply(
        message=message,
        finish_reason="tool_calls" if calls else "stop",
        usage=Usage(input_tokens=input_tokens, output_tokens=output_tokens, source="estimate"),
    )


def _size(message: Message) -> int:
    calls = (call.name + call.arguments for call in message.tool_calls)
    return sum(map(Estimate().count, (message.content, *calls)))
