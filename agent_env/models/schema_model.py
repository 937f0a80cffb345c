"""A Model whose final answers its server holds to a JSON schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue

from agent_env.protocols import Model, ReplyOptions
from agent_env.records.schema import Message, Reply, ToolSpec


@dataclass(frozen=True, slots=True)
class SchemaModel:
    """Adds the schema to the calls whose reply can be the answer. Not beside native tools: vLLM and
    llama.cpp then call none."""

    inner: Model
    schema: Mapping[str, JsonValue]
    last: Message
    """The request for the answer; no tool is offered after it."""
    is_last: bool
    """Whether only the reply to `last` is held."""
    in_text: bool
    """Whether calls are texts, which the schema can hold too."""

    @property
    def name(self) -> str:
        return self.inner.name

    async def generate(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        options: ReplyOptions = ReplyOptions(),
    ) -> Reply:
        """The inner model's reply, held to the schema where it can be the answer."""
        if self.last in messages:
            schema_options = replace(options, tool_choice="auto", schema=self.schema)
            return await self.inner.generate(messages, (), schema_options)
        if self.is_last or (tools and not self.in_text):
            return await self.inner.generate(messages, tools, options)
        return await self.inner.generate(messages, tools, replace(options, schema=self.schema))
