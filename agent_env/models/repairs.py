"""Calls that nobody can run as the model wrote them, answered with the right form.

Two kinds: a reply that calls no tool and whose text holds a call (scoring.calls_in_text), even if
the output limit cut it; and a call whose arguments are no JSON object. Each becomes a call with a
`problem`, which the toolbox answers: the trace has it as a tool call with an error, so that replay,
resume and fork need nothing else. After so many such replies in an episode the text stands as it
is. A server of native tools is sent such a text and its answer as texts.

Not covered: a reply that was cut because it repeats itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from agent_env.models.chat import ids_in, read_arguments, unique_id
from agent_env.models.text_protocol import UNREADABLE, call_form, example_arguments, named_in
from agent_env.protocols import Model, ReplyOptions
from agent_env.records.schema import Message, Reply, ToolCall, ToolSpec
from agent_env.records.texts import IN_TEXT
from agent_env.scoring.calls_in_text import call_in_text


@dataclass(frozen=True, slots=True)
class RepairedCalls:
    """A Model whose unreadable calls are answered."""

    inner: Model
    most: int
    """Replies of one episode that are answered so."""
    protocol: Literal["native", "text", "schema", "auto"] = "native"

    @property
    def name(self) -> str:
        return self.inner.name

    async def generate(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        options: ReplyOptions = ReplyOptions(),
    ) -> Reply:
        """The inner model's reply, with a problem where its calls cannot be read."""
        sent = messages if self.protocol in IN_TEXT else tuple(_as_texts(messages))
        reply = await self.inner.generate(sent, tools, options)
        if not tools:
            return reply
        calls = self._calls(reply, messages, tools)
        if any(call.problem for call in calls):
            repairs = sum(any(c.problem for c in m.tool_calls) for m in messages)
            if repairs >= self.most or options.tool_choice == "none":
                calls = tuple(call for call in reply.message.tool_calls if not call.problem)
        if calls == reply.message.tool_calls:
            return reply
        message = reply.message.model_copy(update={"tool_calls": calls})
        return reply.model_copy(update={"message": message})

    async def close(self) -> None:
        """Closes the inner model's connections."""
        close = getattr(self.inner, "close", None)
        if close is not None:
            await close()

    def _calls(
        self, reply: Reply, messages: Sequence[Message], tools: Sequence[ToolSpec]
    ) -> tuple[ToolCall, ...]:
        calls = reply.message.tool_calls
        if calls:
            return tuple(self._checked(call, tools) for call in calls)
        text = reply.message.content
        form = None if reply.finish_reason == "repetition" else call_in_text(text)
        if form is None:
            return ()
        what = f"a call was written as text ({form})"
        if reply.finish_reason == "length":
            what += ", and cut off at the length limit"
        id_ = unique_id("", ids_in(messages), len(messages))
        problem = self._problem(what, named_in(text, tools))
        return (ToolCall(id=id_, name=UNREADABLE, arguments=text, problem=problem),)

    def _checked(self, call: ToolCall, tools: Sequence[ToolSpec]) -> ToolCall:
        """The call with a problem where its arguments are no object."""
        tool = next((each for each in tools if each.name == call.name), None)
        if call.problem or tool is None or read_arguments(call.arguments or "{}") is not None:
            return call
        problem = self._problem("the arguments are no JSON object", tool)
        return call.model_copy(update={"problem": problem})

    def _problem(self, what: str, tool: ToolSpec) -> str:
        if self.protocol in IN_TEXT:
            form = f"Write it like this:\n{call_form(tool, self.protocol == 'schema')}"
        else:
            form = f"Call {tool.name} as a tool, with arguments like {example_arguments(tool)}"
        return f"this is no call that can be run: {what}. {form}"


def _as_texts(messages: Sequence[Message]) -> Iterator[Message]:
    """The messages without the calls that the server did not send, their answers as the user's."""
    unreadable: set[str] = set()
    for message in messages:
        if any(call.name == UNREADABLE for call in message.tool_calls):
            unreadable |= {call.id for call in message.tool_calls}
            yield message.model_copy(update={"tool_calls": ()})
        elif message.tool_call_id in unreadable:
            yield Message(role="user", content=message.content)
        else:
            yield message
