"""Cutting old tool outputs so that a conversation fits into what the model reads.

Guarantees: nothing is cut before a server has refused the conversation as too long; only tool
outputs are cut, the oldest first, each at its end and by a mark that the model reads; what was cut
stays cut, and each request's cuts stand in the trace, from where replay, resume and fork take them.
The episode's own messages stay whole: they are cut only as they are sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

from agent_env.errors import ModelError
from agent_env.graph.meter import LETTERS_PER_TOKEN, estimated_tokens
from agent_env.records.schema import Message, ToolSpec

LEAST = 200
"""Letters of an output that always stay."""
FOR_REPLY = 1 / 8
"""Of the context, left free for what the model says next."""


@dataclass(slots=True)
class Fit:
    """The cuts of one episode."""

    recorded: Sequence[Mapping[str, int]] = ()
    """Of each recorded step: letters that are left, by the id of the call."""
    _left: dict[str, int] = field(default_factory=dict)
    _cut: dict[str, Message] = field(default_factory=dict)

    def sent(self, messages: Sequence[Message], step: int) -> tuple[Message, ...]:
        """The messages as they are sent at this step, counted from 0."""
        if step < len(self.recorded) and self.recorded[step] != self._left:
            self._left, self._cut = dict(self.recorded[step]), {}
        if not self._left:
            return tuple(messages)
        return tuple(self._as_sent(message) for message in messages)

    def tighten(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], error: ModelError
    ) -> bool:
        """Cut as much more as the error asks for; whether there was anything to cut."""
        current = self.sent(messages, len(self.recorded))
        need = excess(LETTERS_PER_TOKEN * estimated_tokens(current, tools), error)
        has_cut = False
        for message in messages:
            name = message.tool_call_id
            if message.role != "tool" or name is None or need <= 0:
                continue
            letters = self._left.get(name, len(message.content))
            most = letters - max(LEAST, letters - need)
            if most > 0:
                self._left[name] = letters - most
                self._cut.pop(name, None)
                need, has_cut = need - most, True
        return has_cut

    def _as_sent(self, message: Message) -> Message:
        name = message.tool_call_id
        if message.role != "tool" or name is None or name not in self._left:
            return message
        if name not in self._cut:
            self._cut[name] = shortened(message, self._left[name])
        return self._cut[name]


def shortened(message: Message, letters: int) -> Message:
    """The tool's message with so many letters of its output; whole where it is no longer."""
    missing = len(message.content) - letters
    if missing <= 0:
        return message
    mark = f"\n[{missing} characters are left out here: the conversation is too long]"
    return message.model_copy(update={"content": message.content[:letters] + mark, "kept": letters})


def excess(letters: int, error: ModelError) -> int:
    """How many of a conversation's letters to cut: by the sizes that the server tells, else an
    eighth."""
    context, request = error.context_tokens, error.request_tokens
    if context is None:
        return ceil(letters / 8)
    if request is None or request <= context:
        request = max(context, letters // LETTERS_PER_TOKEN)
    return ceil(letters * (1 - context * (1 - FOR_REPLY) / request))
