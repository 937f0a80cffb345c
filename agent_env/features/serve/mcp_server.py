"""An MCP server of ours: a served run that any agent can sit.

It has the tools `next_question`, the condition's own and `submit_answer`, and the prompt
`question`. With `many` episodes each tool takes the episode's handle; else one is open at a time.
Needs the extra `mcp`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import agent_env
from agent_env.features.serve.hosting import LOOPBACK, TokenGuard, listening, serve_app
from agent_env.features.serve.served_run import (
    ServedQuestion,
    ServedRun,
    ServedRunError,
    Submission,
)
from agent_env.sdk.errors import ConfigError

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from mcp_types import CallToolResult, GetPromptResult, Tool

    from agent_env.sdk.records import Message, ToolSpec

NEXT, SUBMIT, HANDLE = "next_question", "submit_answer", "episode"
NO_MORE = "There is no question left."


class QuestionServer:
    """Hands out a served run's questions, one open at a time or `many`, each by its handle; tells
    the score of an answer where it `tells_score`."""

    def __init__(
        self,
        served_run: ServedRun,
        specs: Sequence[ToolSpec],
        many: bool = False,
        tells_score: bool = False,
    ) -> None:
        if taken := {spec.name for spec in specs} & {NEXT, SUBMIT}:
            raise ConfigError(
                f"the condition has a tool of a name that the served_run needs: {taken}"
            )
        self._run, self._specs = served_run, specs
        self._many = many
        self._tells_score = tells_score

    def server(self) -> Server[Any]:
        """For the SDK's transports."""
        from mcp.server.lowlevel import Server
        from mcp_types import ListPromptsResult, ListToolsResult, Prompt

        tools = self._tools()

        async def list_tools(context: Any, params: Any) -> ListToolsResult:
            return ListToolsResult(tools=tools)

        async def call_tool(context: Any, params: Any) -> CallToolResult:
            return await self._call(_agent(context), params.name, dict(params.arguments or {}))

        async def list_prompts(context: Any, params: Any) -> ListPromptsResult:
            prompt = Prompt(name="question", description="Begins the next episode: its question.")
            return ListPromptsResult(prompts=[prompt])

        async def get_prompt(context: Any, params: Any) -> GetPromptResult:
            return await self._prompt(_agent(context), params.name)

        # the schemas by which the SDK has to compare a call's headers with its arguments. Without
        # them it lists all tools at each call over HTTP.
        schemas = {tool.name: tool.input_schema for tool in tools}
        return Server(
            "agent-env",
            version=agent_env.__version__,
            instructions=f"Call {NEXT}, use the other tools as you need them, then {SUBMIT}. "
            f"Repeat until there is no question left.",
            on_list_tools=list_tools,
            on_call_tool=call_tool,
            on_list_prompts=list_prompts,
            on_get_prompt=get_prompt,
            get_tool_input_schema={
                name: each for name, each in schemas.items() if "x-mcp-header" in json.dumps(each)
            }.get,
        )

    def _tools(self) -> list[Tool]:
        from mcp_types import Tool

        handle = {"type": "string", "description": f"The handle that {NEXT} gave."}
        answer = {"type": "string", "description": "In the form that the question asks for."}

        def schema(properties: dict[str, Any], required: Sequence[str]) -> dict[str, Any]:
            if self._many:
                properties, required = {**properties, HANDLE: handle}, (*required, HANDLE)
            return {"type": "object", "properties": properties, "required": list(required)}

        tools = [
            Tool(
                name=spec.name,
                description=spec.description,
                input_schema={
                    **spec.parameters,
                    **schema(
                        dict(_mapping(spec.parameters.get("properties"))),
                        _names(spec.parameters.get("required")),
                    ),
                },
            )
            for spec in self._specs
        ]
        empty: dict[str, Any] = {"type": "object", "properties": {}}
        return [
            Tool(name=NEXT, description="Begins the next episode: its question.",
                 input_schema=empty),
            *tools,
            Tool(name=SUBMIT, description="Ends the episode with your answer.",
                 input_schema=schema({"answer": answer}, ("answer",))),
        ]  # fmt: skip

    async def _call(self, agent: str, name: str, arguments: dict[str, Any]) -> CallToolResult:
        try:
            if name == NEXT:
                return _text(*self._shown(await self._next(agent)))
            handle = self._handle(arguments)
            if name == SUBMIT:
                answer = arguments.get("answer")
                if not isinstance(answer, str):
                    raise ServedRunError("answer must be a text")
                return _text(*self._submitted(await self._run.submit(handle, answer)))
            result = await self._run.call(handle, name, arguments)
            return _text(result.text, is_error=result.is_error)
        except ServedRunError as exc:
            return _text(f"Error: {exc}", is_error=True)

    async def _prompt(self, agent: str, name: str) -> GetPromptResult:
        from mcp import MCPError
        from mcp_types import INVALID_PARAMS, GetPromptResult, PromptMessage, TextContent

        if name != "question":
            raise MCPError(code=INVALID_PARAMS, message=f"no prompt '{name}'; known: question")
        try:
            text, _ = self._shown(await self._next(agent))
        except ServedRunError as exc:
            raise MCPError(code=INVALID_PARAMS, message=str(exc)) from exc
        content = TextContent(type="text", text=text)
        return GetPromptResult(messages=[PromptMessage(role="user", content=content)])

    async def _next(self, agent: str) -> ServedQuestion | None:
        if not self._many and self._run.handles:
            raise ServedRunError(f"a question is open: {SUBMIT} first")
        return await self._run.begin(agent)

    def _shown(self, question: ServedQuestion | None) -> tuple[str, dict[str, Any]]:
        if question is None:
            return NO_MORE, {"done": True}
        text = "\n\n".join(map(_in_words, question.messages))
        if self._many:
            text = f"{HANDLE}: {question.handle}\n\n{text}"
        return text, {HANDLE: question.handle, "question": text, "done": False}

    def _submitted(self, submission: Submission) -> tuple[str, dict[str, Any]]:
        facts: dict[str, Any] = {"accepted": submission.episode is not None}
        if submission.score is None or not self._tells_score:
            return submission.text, facts
        metric = self._run.environment.task.metrics[0]  # gold can follow from the others
        value = submission.score.metrics.get(metric)
        text = "no score" if value is None else f"{metric} {value:g}"
        return f"{submission.text} {text}", facts | {"score": {metric: value}}

    def _handle(self, arguments: dict[str, Any]) -> str:
        """The episode that is meant; taken out of the arguments."""
        if self._many:
            handle = arguments.pop(HANDLE, None)
            if not isinstance(handle, str):
                raise ServedRunError(f"{HANDLE} is missing: the handle that {NEXT} gave")
            return handle
        if not self._run.handles:
            raise ServedRunError(f"no question is open: call {NEXT} first")
        return self._run.handles[0]


async def serve_stdio(lowlevel: Server[Any]) -> None:
    """Serves one client on standard input and output, until it leaves."""
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (read, write):
        await lowlevel.run(read, write, lowlevel.create_initialization_options())


async def serve_http(
    lowlevel: Server[Any], port: int, token: str | None, note: Callable[[str], None]
) -> None:
    """Serves any number of clients at http://127.0.0.1:PORT/mcp, until a signal ends it; a free
    port for 0. They send the token, where there is one, as `Authorization: Bearer TOKEN`.
    ConfigError where the port is taken."""
    with listening(port) as bound:
        note(f"MCP server: http://{LOOPBACK}:{bound.getsockname()[1]}/mcp (Ctrl-C ends it)")
        if token is not None:
            print(f"token: {token}", flush=True)
            note("Clients send the header 'Authorization: Bearer TOKEN'.")
        app = lowlevel.streamable_http_app()
        await serve_app(app if token is None else TokenGuard(app, token), bound)


def _agent(context: Any) -> str:
    """The client's name and version, as it tells them."""
    params = context.session.client_params
    if params is None:
        return "an unnamed MCP client"
    return f"{params.client_info.name} {params.client_info.version}".strip()[:100]


def _text(text: str, facts: dict[str, Any] | None = None, is_error: bool = False) -> CallToolResult:
    from mcp_types import CallToolResult, TextContent

    content = TextContent(type="text", text=text)
    return CallToolResult(content=[content], structured_content=facts, is_error=is_error)


def _in_words(message: Message) -> str:
    """A message of the prompt as it is; of an interrupted episode, who it came from."""
    if message.role in ("system", "user"):
        return message.content
    calls = [f"[called {call.name} {call.arguments}]" for call in message.tool_calls]
    return "\n".join((*calls, *([message.content] if message.content else ())))


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _names(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
