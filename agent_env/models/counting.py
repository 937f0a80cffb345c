"""Token counts of our own for calls whose usage the server does not report."""

from __future__ import annotations

from collections.abc import Sequence

from agent_env.protocols import Model, ReplyOptions, Tokenizer
from agent_env.records.schema import Message, Reply, ToolSpec, Usage


class CountedModel:
    """A Model for one episode that counts texts where a reply has no usage, and records how; cached
    and reasoning tokens stay None.

    Not counted: the few tokens that frame each message, and the tools' schemas.
    """

    def __init__(self, inner: Model, tokenizer: Tokenizer, calls_in_text: bool = False) -> None:
        self.name = inner.name
        self._inner = inner
        self._tokenizer = tokenizer
        self._calls_in_text = calls_in_text
        self._read_count = 0
        self._tokens = 0

    async def generate(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        options: ReplyOptions = ReplyOptions(),
    ) -> Reply:
        reply = await self._inner.generate(messages, tools, options)
        usage = reply.usage
        if usage.input_tokens is not None and usage.output_tokens is not None:
            return reply
        return reply.model_copy(update={"usage": self._usage(messages, reply)})

    def _usage(self, messages: Sequence[Message], reply: Reply) -> Usage:
        """An episode's messages only grow, so what was counted once is not counted again."""
        if len(messages) < self._read_count:
            self._read_count = self._tokens = 0
        self._tokens += sum(self._size(message) for message in messages[self._read_count :])
        self._read_count = len(messages)
        return reply.usage.model_copy(
            update={
                "input_tokens": self._tokens,
                "output_tokens": self._size(reply.message),
                "source": "estimate" if self._tokenizer.name == "estimate" else "tokenizer",
            }
        )

    def _size(self, message: Message) -> int:
        return sum(map(self._tokenizer.count, texts_of(message, self._calls_in_text)))


def texts_of(message: Message, calls_in_text: bool = False) -> list[str]:
    """The texts of a message that have tokens."""
    tool_calls = () if calls_in_text else message.tool_calls
    calls = [call.name + call.arguments for call in tool_calls]
    return [text for text in (message.content, message.reasoning or "", *calls) if text]
