"""Tools for models that cannot call any: described in the system text, called in fenced JSON.

The format (docs/models.md has an example):
- The system text lists the tools, one JSON object a line.
- A call is a block of its own, opened by a line of three backticks and `tool_call`, closed by a
  line of three backticks; in it stands one JSON object with `name` and `arguments` and no more.
- The results come in one user message, each in a block `tool_result NUMBER NAME`, in the order
  of the calls; its fence is longer than any row of backticks in the result.
- A reply ends where the model begins such a block itself: by a stop sequence, and where the server
  takes none, by a cut. What is cut off is in the trace (`Reply.invented`).

Reading is strict, or lenient: then a call in a fenced block of any name, such as `json`, is taken
where all else is right. What looks like a call and is none becomes a call with a `problem`, which
the toolbox answers, so that the model can mend it and the trace shows it. What a model writes
before `</think>` is not read. Not covered: a server cannot be made to require a call this way; the
text asks for one. Where it holds the reply to a schema (`ReplyOptions.schema`) it can: the reply is
one JSON object then, a call or the answer, as the tool choice allows. With `held`, replies are
held so wherever tools are offered, and an answer is any text.

`RepairedCalls` answers calls that nobody can run as the model wrote them: a call in the text of a
reply that calls no tool, even if the output limit cut it, and arguments that are no JSON object.
Each becomes a call with a `problem`, which the toolbox answers, so that replay, resume and fork
need nothing else. Not covered: a reply that was cut because it repeats itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import JsonValue

from agent_env.models.chat import chat_tool, ids_in, read_arguments, unique_id
from agent_env.models.streams import LISTENER
from agent_env.protocols import Model, ReplyOptions, ToolChoice
from agent_env.records.json_schema import any_of, closed, one_of, strict
from agent_env.records.schema import InventedResults, Message, Reply, ToolCall, ToolSpec
from agent_env.records.texts import IN_TEXT
from agent_env.scoring.calls_in_text import call_in_text

Json = Mapping[str, JsonValue]
FENCE = "```"
CALL = "tool_call"
RESULT = "tool_result"
FORM = f'{FENCE}{CALL}\n{{"name": "TOOL", "arguments": {{"NAME": "VALUE"}}}}\n{FENCE}'
"""As the introduction shows it, before it lists the tools."""
BLOCK = re.compile(rf"^{FENCE}([\w-]*)[ \t]*\n(.*?)(?:^{FENCE}[ \t]*$|\Z)", re.M | re.S)
TAGGED = re.compile(r"<(tool_call|function_call|function=)")
STOP = (f"{FENCE}{RESULT}",)
INVENTED = re.compile(rf"^(?:`{{3,}}[ \t]*{RESULT}\b|{RESULT} \d+ \w)", re.M)
MOST_INVENTED = 2_000
"""Characters of what was cut off that are kept."""
UNREADABLE = "unreadable"
"""The name of a call that has a problem only."""
CLOSED = re.compile(rf"^{FENCE}[ \t]*\Z", re.M)

INTRODUCTION = f"""\
There are tools that you can use. To use one, write a block exactly like this:

{FORM}

It begins with a line of three backticks and the word {CALL}, ends with a line of three backticks, \
and holds one JSON object with "name" and "arguments" and nothing else. You may write several \
blocks in one message. After the last block stop: the next message brings what the tools gave, in \
blocks named {RESULT}. A message without such a block is your final answer.

The tools, with the JSON schema of their arguments:
"""
REQUIRED = f"Your next message must hold at least one {CALL} block."
FORBIDDEN = f"Do not write a {CALL} block in your next message."
HELD_INTRODUCTION = f"""\
There are tools that you can use. Each of your messages is one JSON object and nothing else. To \
use a tool, write

{{"step": {{"tool": "TOOL", "arguments": {{"NAME": "VALUE"}}}}}}

The next message brings what it gave, in a block named {RESULT}. To answer, write

{{"step": {{"answer": "ANSWER"}}}}

with the answer in the form asked for.

The tools, with the JSON schema of their arguments:
"""
"""Where the server holds the reply to a schema: calls and answers are one object each."""
HELD_REQUIRED = "Your next message must use a tool."
HELD_FORBIDDEN = "Your next message must be the answer."
ANY_ANSWER = closed({"answer": {"type": "string"}})
"""What an answer is held to where nothing is known of its form."""
EXAMPLE = """

An example. To the question "On which weekday did the lighthouse of Aldmoor Bay go dark?" you write

{call}

and when the next message has shown you the day, your last message is

{answer}

Do the same for the question below: first a call, then the answer, when you have read it."""
NO_VALUES: Json = {}
EXAMPLE_ARGUMENTS: Json = {
    "query": "lighthouse of Aldmoor Bay goes dark", "url": "https://aldmoor.example/lighthouse",
    "code": "from datetime import date\nprint(date(1931, 5, 4).strftime('%A'))",
}  # fmt: skip
NONE_LEFT = "There are no tools any more. Write your final answer without a block."


class TextProtocol:
    """A Model that talks about tools in text to an inner one that knows of none."""

    def __init__(
        self, inner: Model, lenient: bool = False, held: bool = False, has_example: bool = False
    ) -> None:
        self.name = inner.name
        self._inner = inner
        self._lenient = lenient
        self._held = held
        self._has_example = has_example

    async def generate(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        options: ReplyOptions = ReplyOptions(),
    ) -> Reply:
        """The inner model's reply, with the calls that are in its text."""
        if self._held and tools and options.schema is None:
            options = replace(options, schema=ANY_ANSWER)
        is_held = options.schema is not None
        sent = in_text(messages, tools, options.tool_choice, is_held, self._has_example)
        schema = held_schema(tools, options)
        has_tools = bool(tools) or any(message.role == "tool" for message in messages)
        stop = STOP if has_tools and not is_held else ()
        hidden = LISTENER.set(None)  # its text holds the calls
        try:
            reply = await self._inner.generate(
                sent, (), ReplyOptions(seed=options.seed, schema=schema, stop=stop)
            )
        finally:
            LISTENER.reset(hidden)
        if is_held:
            call = _schema_call(reply, tools)
            answer = _step(reply).get("answer")
            if call is None and options.schema is ANY_ANSWER and isinstance(answer, str):
                message = reply.message.model_copy(update={"content": answer})
                return reply.model_copy(update={"message": message})
            return _with(reply, messages, [call] if call else ())
        reply = without_invented(reply) if stop else reply
        cut = reply.finish_reason == "length"
        calls = _calls(reply.message.content, cut, tools, self._lenient) if tools else ()
        return _with(reply, messages, calls)

    async def close(self) -> None:
        """Closes the inner model's connections."""
        close = getattr(self._inner, "close", None)
        if close is not None:
            await close()


def without_invented(reply: Reply) -> Reply:
    """The reply up to the first tool's result that the model wrote itself."""
    text = reply.message.content
    start = text.rfind("</think>") + 1
    places = [match.start() for match in INVENTED.finditer(text, start)]
    if not places:
        return reply
    content, rest = text[: places[0]].rstrip(), text[places[0] :]
    return reply.model_copy(
        update={
            "message": reply.message.model_copy(update={"content": content}),
            "finish_reason": "stop" if reply.finish_reason == "length" else reply.finish_reason,
            "invented": InventedResults(count=len(places), text=rest[:MOST_INVENTED]),
        }
    )


def in_text(
    messages: Sequence[Message],
    tools: Sequence[ToolSpec],
    choice: ToolChoice = "auto",
    is_held: bool = False,
    has_example: bool = False,
) -> list[Message]:
    """The conversation without tool messages; results and notes after a reply are one message.
    What holds for the next reply alone ends the last message, so that the system text is the same
    in every request and stays in a cache of prefixes. `is_held`: a schema holds the reply;
    `has_example`: a worked call is shown."""
    result = list(_turns(messages))
    required, none = (HELD_REQUIRED, HELD_FORBIDDEN) if is_held else (REQUIRED, FORBIDDEN)
    demand = {"required": required, "none": none}.get(choice, "") if tools else ""
    if demand and result and result[-1].role == "user":
        text = f"{result[-1].content}\n\n{demand}"
        result[-1] = result[-1].model_copy(update={"content": text})
    elif demand:
        result.append(Message(role="user", content=demand))
    words = _introduction(messages, tools, is_held)
    if has_example and tools:
        answer = '{"step": {"answer": "Monday"}}' if is_held else "Monday"
        words += EXAMPLE.format(call=call_form(tools[0], is_held, EXAMPLE_ARGUMENTS), answer=answer)
    if not words:
        return result
    if result and result[0].role == "system":
        words = f"{result[0].content}\n\n{words}"
        result = result[1:]
    return [Message(role="system", content=words), *result]


def held_schema(tools: Sequence[ToolSpec], options: ReplyOptions) -> Mapping[str, JsonValue] | None:
    """What holds the reply: a call or the answer, as the tool choice allows; None for nothing."""
    if options.schema is None or not tools:
        return options.schema
    calls = [
        closed({"tool": one_of([tool.name]), "arguments": strict(tool.parameters)})
        for tool in tools
        if options.tool_choice != "none"
    ]
    answer = [] if options.tool_choice == "required" else [dict(options.schema)]
    return closed({"step": any_of(*calls, *answer)})


def _introduction(messages: Sequence[Message], tools: Sequence[ToolSpec], is_held: bool) -> str:
    if not tools:
        return NONE_LEFT if any(message.role == "tool" for message in messages) else ""
    words = HELD_INTRODUCTION if is_held else INTRODUCTION
    described = [json.dumps(chat_tool(tool)["function"], ensure_ascii=False) for tool in tools]
    return words + "\n".join(described)


def _turns(messages: Sequence[Message]) -> Iterator[Message]:
    calls: tuple[ToolCall, ...] = ()
    texts: list[str] = []
    for message in messages:
        if message.role in ("tool", "user") and calls:
            texts.append(_result(message, calls) if message.role == "tool" else message.content)
            continue
        if texts:
            yield Message(role="user", content="\n\n".join(texts))
        calls, texts = message.tool_calls, []
        yield message.model_copy(update={"tool_calls": ()})
    if texts:
        yield Message(role="user", content="\n\n".join(texts))


def _result(message: Message, calls: Sequence[ToolCall]) -> str:
    number = next((n for n, c in enumerate(calls, 1) if c.id == message.tool_call_id), 0)
    name = calls[number - 1].name if number else "unknown"
    return result_block(number, name, message.content)


def result_block(number: int, name: str, output: str) -> str:
    """What the model is sent for the step's call of this number."""
    longest = max((len(row) for row in re.findall(r"`+", output)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{RESULT} {number} {name}\n{output}\n{fence}"


def _with(reply: Reply, messages: Sequence[Message], texts: Iterable[ToolCall]) -> Reply:
    """The reply with the calls that are in its text."""
    ids = ids_in(messages)
    calls: list[ToolCall] = []
    for call in texts:
        id_ = unique_id("", ids, len(messages))
        ids.add(id_)
        calls.append(call.model_copy(update={"id": id_}))
    if not calls:
        return reply
    message = reply.message.model_copy(update={"tool_calls": tuple(calls)})
    finish = "tool_calls" if reply.finish_reason == "stop" else reply.finish_reason
    return reply.model_copy(update={"message": message, "finish_reason": finish})


def _schema_call(reply: Reply, tools: Sequence[ToolSpec]) -> ToolCall | None:
    """The call of a reply that a schema holds; None where it answers, or was cut."""
    step = _step(reply)
    if not tools or "tool" not in step:
        return None
    values = {
        name: each for name, each in _object(step.get("arguments")).items() if each is not None
    }
    return ToolCall(id="", name=str(step["tool"]), arguments=json.dumps(values, ensure_ascii=False))


def _step(reply: Reply) -> dict[str, JsonValue]:
    """What a reply that a schema holds says; empty where it was cut."""
    try:
        value = json.loads(reply.message.content.rpartition("</think>")[2])
    except (ValueError, RecursionError):
        return {}
    return _object(_object(value).get("step"))


def _calls(text: str, cut: bool, tools: Sequence[ToolSpec], lenient: bool) -> Iterator[ToolCall]:
    """The calls in order; of a reply that was cut, only those whose block is closed."""
    text = text.rpartition("</think>")[2]
    offered = frozenset(tool.name for tool in tools)
    has_call = False
    for block in BLOCK.finditer(text):
        closed = CLOSED.search(block[0]) is not None
        if block[1] == CALL and (closed or not cut):
            has_call = True
            yield _call(block[2].strip(), closed, tools)
        elif block[1] != CALL and closed and _is_call(block[2], offered):
            has_call = True
            if lenient:
                yield _call(block[2].strip(), closed, tools)
            else:
                yield _invalid(block[2], f"the block is named '{block[1]}', not '{CALL}'", tools)
    if not has_call and not cut and TAGGED.search(text):
        yield _invalid(text, "a call is written in a block, not in tags", tools)


def _call(block: str, closed: bool, tools: Sequence[ToolSpec]) -> ToolCall:
    if not closed:
        return _invalid(block, "the block is not closed by a line of three backticks", tools)
    try:
        value = json.loads(block)
    except (ValueError, RecursionError) as exc:
        return _invalid(block, f"the block is not valid JSON ({exc})", tools)
    if not isinstance(value, dict) or set(value) != {"name", "arguments"}:
        problem = 'the block must be one object with "name" and "arguments" only'
        return _invalid(block, problem, tools)
    name, arguments = value["name"], value["arguments"]
    if not isinstance(name, str) or not isinstance(arguments, dict):
        return _invalid(block, '"name" must be a string and "arguments" an object', tools)
    return ToolCall(id="", name=name, arguments=json.dumps(arguments, ensure_ascii=False))


def _is_call(block: str, offered: frozenset[str]) -> bool:
    """Whether a block of another name holds what only a call would."""
    try:
        value = json.loads(block)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and "arguments" in value and value.get("name") in offered


def _invalid(block: str, problem: str, tools: Sequence[ToolSpec]) -> ToolCall:
    form = call_form(named_in(block, tools))
    problem = f"this is not a call that can be run: {problem}. Write it like this:\n{form}"
    return ToolCall(id="", name=UNREADABLE, arguments=block, problem=problem)


def named_in(text: str, tools: Sequence[ToolSpec]) -> ToolSpec:
    """The tool that the text names; the first one where it names none."""
    quoted = (each for each in tools if f'"{each.name}"' in text)
    named = (each for each in tools if re.search(rf"\b{re.escape(each.name)}\b", text))
    return next(quoted, None) or next(named, tools[0])


def call_form(tool: ToolSpec, is_held: bool = False, values: Json = NO_VALUES) -> str:
    """How a call of the tool is written, with these values as far as it takes them."""
    arguments = example_arguments(tool, values)
    if is_held:
        return f'{{"step": {{"tool": "{tool.name}", "arguments": {arguments}}}}}'
    return f'{FENCE}{CALL}\n{{"name": "{tool.name}", "arguments": {arguments}}}\n{FENCE}'


def example_arguments(tool: ToolSpec, values: Json = NO_VALUES) -> str:
    """The arguments that a call cannot do without, as JSON."""
    properties, required = tool.parameters.get("properties"), tool.parameters.get("required")
    names = required if isinstance(required, list) and required else list(_object(properties))[:1]
    arguments = {
        str(name): values.get(str(name), _example(_object(properties).get(str(name))))
        for name in names
    }
    return json.dumps(arguments, ensure_ascii=False)


def _object(value: JsonValue) -> dict[str, JsonValue]:
    return value if isinstance(value, dict) else {}


def _example(schema: JsonValue) -> JsonValue:
    """A value of the right kind."""
    examples: dict[str, JsonValue] = {
        "integer": 1, "number": 1, "boolean": True, "array": [], "object": {},
    }  # fmt: skip
    return examples.get(str(_object(schema).get("type")), "…")


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
        problem = self._problem("the arguments are not a JSON object", tool)
        return call.model_copy(update={"problem": problem})

    def _problem(self, what: str, tool: ToolSpec) -> str:
        if self.protocol in IN_TEXT:
            form = f"Write it like this:\n{call_form(tool, self.protocol == 'schema')}"
        else:
            form = f"Call {tool.name} as a tool, with arguments like {example_arguments(tool)}"
        return f"this is not a call that can be run: {what}. {form}"


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
