"""One connection to an MCP server, by the official SDK, kept by a task of its own.

The SDK's task groups live in that task, so that a server's death ends it and nothing else.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from agent_env.features.mcp.records import McpServer
from agent_env.features.mcp.transport import MESSAGE_BYTES, Metered, http_transport
from agent_env.sdk.errors import AgentEnvError, EpisodeError
from agent_env.sdk.inside import WorkerFailed, __version__, worker
from agent_env.sdk.run import Permit

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import CallToolResult, Tool

START_S = 30.0
"""From the start of the server to the end of the handshake."""
MOST_TOOLS = 2000
OUTPUT_SCHEMA = 100_000
"""Characters of a schema of results, as JSON."""

OpenStdio = Callable[[Callable[[str], None]], AbstractAsyncContextManager[tuple[Any, Any]]]
"""Starts the server; takes what is called when the server is of no more use."""


class McpError(EpisodeError):
    """An MCP server cannot be started or reached."""


class ConnectionEnded(AgentEnvError):
    """The connection ended before the answer came; `was_sent` tells whether the call may have
    reached the server."""

    def __init__(self, reason: str, was_sent: bool = True) -> None:
        super().__init__(reason)
        self.was_sent = was_sent


class CallFailed(AgentEnvError):
    """The server answered with an error, or not in time, or with no valid result."""

    def __init__(self, reason: str, is_foreign: bool = False) -> None:
        super().__init__(reason)
        self.is_foreign = is_foreign
        """Whether these are the server's own words."""


class Connection:
    """Opened by `open`, closed by `close`."""

    def __init__(self, server: McpServer, open_stdio: OpenStdio, permit: Permit) -> None:
        self._server = server
        self._permit = permit
        self._open_stdio = open_stdio
        self._client: Client | None = None
        self._task: asyncio.Task[None] | None = None
        self._over = asyncio.Event()
        self._reason: str | None = None
        self._metered: Metered | None = None
        self._outputs: dict[str, dict[str, Any]] = {}
        """Schemas of results, by tool."""
        self._signs = 0
        """Answers and notices of progress so far: whether the server is alive."""
        self.list_changed = False
        """Whether the server said that its list of tools is another one now."""

    @property
    def is_open(self) -> bool:
        return self._client is not None and not self._over.is_set()

    @property
    def client(self) -> Client:
        """The SDK's client; of an open connection."""
        if self._client is None:
            raise ConnectionEnded("it is closed", was_sent=False)
        return self._client

    async def open(self) -> Client:
        """Starts or reaches the server and agrees on the protocol; McpError where that fails."""
        ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._keep(ready))
        try:
            async with asyncio.timeout(START_S):
                self._client = await ready
        except TimeoutError as exc:
            await self.close()
            raise McpError(self._named(f"did not answer in {START_S:g} s")) from exc
        except BaseException:
            await self.close()
            raise
        return self._client

    async def close(self) -> None:
        """Ends the connection, and the server where it was started for it."""
        self._over.set()
        if self._task is not None:
            patience_s = 10.0 if self._reason is None else 1.0
            done, _ = await asyncio.wait({self._task}, timeout=patience_s)
            if not done:
                self._task.cancel()
                await asyncio.wait({self._task}, timeout=2.0)

    async def tools(self) -> list[Tool]:
        """All tools that the server lists; McpError for a list that is none."""
        tools: list[Tool] = []
        cursor, size = None, 0
        try:
            async with asyncio.timeout(START_S):
                while len(tools) <= MOST_TOOLS and size <= MESSAGE_BYTES:
                    page = await self.client.list_tools(cursor=cursor)
                    tools += page.tools
                    size += len(page.model_dump_json())
                    cursor = page.next_cursor
                    if cursor is None:
                        self._outputs = {t.name: t.output_schema for t in tools if t.output_schema}
                        return tools
        except Exception as exc:  # the SDK's, and pydantic's for what is not a list of tools
            raise McpError(self._named(f"gives no list of tools: {_brief(exc)}")) from exc
        raise McpError(
            self._named(f"lists more than {MOST_TOOLS} tools, or {MESSAGE_BYTES >> 20} MB")
        )

    async def call(self, tool: str, arguments: dict[str, Any], most: int) -> CallToolResult:
        """What the tool gives. The server is told how long we wait and how much is read; it is told
        to stop where the caller stops. CallFailed or ConnectionEnded where there is no result."""
        if not self.is_open:
            raise ConnectionEnded(self._reason or "it is closed", was_sent=False)
        timeout_s, stood, signs = self._server.timeout_s, "", self._signs

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            nonlocal stood
            self._signs += 1
            of_total = "" if total is None else f" of {total:g}"
            stood = f"; it stood at {progress:g}{of_total}"  # its message is the server's own words

        meta: Any = {"agent-env/timeout_s": timeout_s, "agent-env/output_limit": most}
        task = asyncio.ensure_future(self._result(tool, arguments, on_progress, meta))
        task.add_done_callback(lambda each: each.cancelled() or each.exception())
        try:
            # not asyncio.timeout: the SDK, when cancelled, may wait for a server that takes nothing
            await asyncio.wait({task}, timeout=timeout_s)
            if not task.done():
                raise TimeoutError
            return task.result()
        except Exception as exc:
            error = self._translated(exc, f"timeout: no answer within {timeout_s:g} s{stood}")
            if isinstance(error, CallFailed) and error.is_foreign:
                self._signs += 1
            elif signs == self._signs:  # it answers nobody: the next call has a new one
                self._end(f"the server answered nothing for {timeout_s:g} s")
            raise error from exc
        finally:
            task.cancel()

    async def _result(
        self, tool: str, arguments: dict[str, Any], on_progress: Any, meta: Any
    ) -> CallToolResult:
        """ValueError where it does not keep to the schema that the server gave."""
        result = await self.client.call_tool(
            tool, arguments, progress_callback=on_progress, meta=meta
        )
        self._signs += 1
        if self._metered is not None:
            self._metered.refill()
        schema = self._outputs.get(tool)
        if schema is None or result.is_error:
            return result
        if result.structured_content is None:
            raise ValueError("it has an output schema, and the result holds no structured content")
        if len(json.dumps(schema)) > OUTPUT_SCHEMA:
            raise ValueError(f"its output schema has more than {OUTPUT_SCHEMA:,} characters")
        request = {"schema": schema, "value": result.structured_content, "has_value": True}
        try:
            problem = await worker("schemas").ask(request)
        except WorkerFailed as exc:
            raise ValueError(f"the check by its output schema {exc}") from exc
        if problem:
            raise ValueError(f"its output schema {problem}")
        return result

    def _translated(self, exc: Exception, late: str) -> AgentEnvError:
        from mcp import MCPError
        from mcp_types import CONNECTION_CLOSED, INVALID_REQUEST

        if isinstance(exc, MCPError):
            is_from_server = (
                self._server.url is None and exc.message != "Connection closed"
            )  # the server's
            if exc.code == CONNECTION_CLOSED and not is_from_server:
                self._end(f"the connection ended: {_brief(exc)}")
                return ConnectionEnded(str(self._reason))
            if exc.code == INVALID_REQUEST and exc.message == "Session terminated":
                self._end("the server knows its session no more")
                return ConnectionEnded("the server knows its session no more", was_sent=False)
            return CallFailed(exc.message, is_foreign=True)
        if isinstance(exc, TimeoutError):
            return CallFailed(late)
        if isinstance(exc, ConnectionError | OSError):
            self._end(str(exc))
            return ConnectionEnded(str(exc))
        return CallFailed(f"gave no valid result: {_brief(exc)}", is_foreign=True)

    def _end(self, reason: str) -> None:
        """The first reason stays."""
        self._reason = self._reason or reason
        self._over.set()

    def _named(self, text: str) -> str:
        ending = f" ({self._reason})" if self._reason else ""
        return f"the MCP server {self._server.name} ({self._server.address}) {text}{ending}"

    async def _keep(self, ready: asyncio.Future[Client]) -> None:
        """Holds the client open until `close`, or until the server is of no more use."""
        try:
            async with self._client_of() as client:
                ready.set_result(client)
                await self._over.wait()
                if self._reason is not None:  # the transport need not be patient with it
                    raise ConnectionEnded(self._reason)
        except Exception as exc:  # whatever ended the SDK's task groups ended this connection only
            self._end(_brief(exc))
            if not ready.done():
                error = McpError(self._named(f"cannot be reached: {_brief(exc)}"))
                error.__cause__ = exc
                ready.set_exception(error)
        finally:
            self._over.set()
            if not ready.done():
                ready.set_exception(McpError(self._named("was closed")))
                ready.exception()  # nobody may be waiting

    @asynccontextmanager
    async def _client_of(self) -> AsyncIterator[Client]:
        from mcp import Client
        from mcp_types import Implementation, ToolListChangedNotification

        async def hear(message: Any) -> None:
            if isinstance(message, ToolListChangedNotification):
                self.list_changed = True

        remote = self._server.url is not None
        transport: Any = (
            http_transport(self._server, self._permit) if remote else self._open_stdio(self._end)
        )
        client = Client(
            self._bounded(transport),
            message_handler=hear,
            client_info=Implementation(name="agent-env", version=__version__),
            cache=None,
        )
        async with client:
            setattr(client.session, "validate_tool_result", _unchecked)  # noqa: B010  # _result does
            listening = asyncio.create_task(self._listen(client))
            try:
                yield client
            finally:
                listening.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await listening

    @asynccontextmanager
    async def _bounded(self, transport: Any) -> AsyncIterator[tuple[Any, Any]]:
        async with transport as (read, write):
            self._metered = Metered(read, self._end)
            yield self._metered, write

    async def _listen(self, client: Client) -> None:
        """Servers of the protocol since 2026-07-28 tell of changes only to who subscribes."""
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS

        tools = client.server_capabilities.tools
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return
        if tools is None or not tools.list_changed:
            return
        with suppress(Exception):  # a subscription is a courtesy
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self.list_changed = True


async def _unchecked(name: str, result: Any) -> None:
    """In place of the SDK's check of results, which would run in the event loop."""


def _brief(exc: BaseException) -> str:
    """The innermost error of groups, in one line."""
    while isinstance(exc, BaseExceptionGroup):
        exc = exc.exceptions[0]
    lines = [line.strip() for line in str(exc).splitlines() if line.strip()]
    text = " ".join(lines[:3])[:300]
    return text or type(exc).__name__
