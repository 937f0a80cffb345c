"""Batch APIs: many calls handed in at once, at a lower price, whose replies come within a day.

What a provider's batch API is, its file form on the disk, and the results that both give. Nothing
here knows of runs: a call is an id that we choose and the body of a request.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from pydantic import JsonValue

from agent_env.sdk.errors import ConfigError, ModelError, StorageError
from agent_env.sdk.inside import (
    MOST_LINES,
    Api,
    Endpoint,
    Json,
    Plugins,
    api_of,
    encoded,
    loaded,
    record,
    records,
    text,
)
from agent_env.sdk.records import Reach, read_file, replace_file
from agent_env.sdk.run import Permit

ENDED = ("completed", "succeeded", "failed", "expired", "cancelled")
"""States of OpenAI's and Gemini's batches."""
RPC_STATUSES = {3: 400, 5: 404, 7: 403, 8: 429, 9: 400, 11: 400, 13: 500, 14: 503, 16: 401}
"""HTTP statuses by the codes of Google's RPC."""
CLOCKS_DIFFER = timedelta(hours=1)
"""At most, between the provider's and ours."""
EXPIRED = "the batch ended without a reply to this call (expired or cancelled)"
PROVIDER_ID = re.compile(r"[A-Za-z0-9][\w./-]{0,200}")
"""Of a batch or file, as it is in the path of a request; no way up."""


@dataclass(frozen=True, slots=True)
class BatchState:
    """Where a batch stands."""

    is_ended: bool
    """Whether no further result will come."""
    word: str
    """The provider's word for it, with what it counts."""
    error: JsonValue = None
    """Why the whole batch was refused; None where it was not."""
    lines: Sequence[str] = ()
    """Its results, in any order, once it has ended."""


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What came of one call: the body of a reply, or an error."""

    call: str
    body: Json | None = None
    error: JsonValue = None
    status: int | None = None


class BatchApi(Protocol):
    """A provider's batch API, with the account or folder that it works for, and the path of the
    model's calls."""

    most_calls: int
    """Of one batch."""
    most_bytes: int
    """The same; of its lines with their breaks."""

    def line(self, call: str, body: Json) -> bytes:
        """A call as the batch has it, without a line break."""

    async def submit(self, batch: str, lines: Sequence[bytes]) -> str:
        """Hands in a batch under our own id; the provider's id."""

    async def find(self, batch: str, calls: Sequence[str], since: datetime) -> str | None:
        """The provider's id of the batch of this id of ours, made since then; None where it has
        none, ModelError while nobody can know."""

    async def state(self, id: str) -> BatchState: ...

    def read(self, line: str) -> BatchResult | None:
        """A line of results; None for one that names no call."""

    async def cancel(self, id: str) -> None:
        """Replies that are not there yet are not wanted."""


def _fields(line: str) -> Json:
    """Those of a JSON object; none of anything else."""
    try:
        fields = loaded(line)
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}


def _lines(content: str) -> list[str]:
    """Not by `splitlines`: a text may hold other breaks."""
    if (number := content.count("\n")) > MOST_LINES:
        what = f"a batch's results have {number:,} lines; at most {MOST_LINES:,} are read"
        raise ModelError(what, kind="unreadable")
    return [line for line in content.split("\n") if line.strip()]


def checked_id(id: str) -> str:
    """The id; ModelError for one that would lead elsewhere."""
    if not PROVIDER_ID.fullmatch(id) or ".." in id:
        raise ModelError(f"a batch's id is {id[:40]!r}, which no provider gives", kind="unreadable")
    return id


async def _listed(endpoint: Endpoint, path: str, after: str) -> AsyncIterator[Json]:
    """The account's batches, the newest first; `after` is the field of a further page."""
    query = "?limit=100"
    while query:
        page = await endpoint.get(path + query)
        batches = records(page, "data")
        for batch in batches:
            yield batch
        has_more = batches and page.get("has_more") is True
        query = f"?limit=100&{after}={checked_id(text(batches[-1], 'id'))}" if has_more else ""


class OpenAiLines:
    """The lines of OpenAI's batches."""

    most_calls = 50_000
    most_bytes = 200_000_000

    def __init__(self, path: str) -> None:
        self.path = path

    def line(self, call: str, body: Json) -> bytes:
        return encoded(
            {"custom_id": call, "method": "POST", "url": f"/v1{self.path}", "body": body}
        )

    def read(self, line: str) -> BatchResult | None:
        """As vLLM and others like them write it, too."""
        fields = _fields(line)
        response, call = record(fields, "response"), text(fields, "custom_id")
        code = response.get("status_code")
        status = code if type(code) is int else None
        body = record(response, "body") or (response if "choices" in response else {})
        error = fields.get("error") or body.get("error")
        if error or not body or (status or 200) >= 400:
            body, error = {}, error or body or "no reply"
        return BatchResult(call, body or None, error, status) if call else None


class OpenAiBatches(OpenAiLines):
    """OpenAI's `/files` and `/batches`, which other servers have too. Our id is in the batch's
    metadata."""

    def __init__(self, endpoint: Endpoint, path: str) -> None:
        super().__init__(path)
        self._endpoint = endpoint

    async def submit(self, batch: str, lines: Sequence[bytes]) -> str:
        data = b"\n".join([*lines, b""])
        file = await self._endpoint.upload("/files", f"{batch}.jsonl", data, {"purpose": "batch"})
        made = await self._endpoint.post(
            "/batches",
            {
                "input_file_id": text(file, "id"),
                "endpoint": f"/v1{self.path}",
                "completion_window": "24h",
                "metadata": {"agent_env_batch": batch},
            },
        )
        return checked_id(text(made, "id"))

    async def find(self, batch: str, calls: Sequence[str], since: datetime) -> str | None:
        async for each in _listed(self._endpoint, "/batches", "after"):
            if text(record(each, "metadata"), "agent_env_batch") == batch:
                return checked_id(text(each, "id"))
        return None

    async def state(self, id: str) -> BatchState:
        batch = await self._endpoint.get(f"/batches/{checked_id(id)}")
        status, counts = text(batch, "status"), record(batch, "request_counts")
        word = f"{status}, {counts.get('completed', 0)} of {counts.get('total', '?')} replied"
        errors = records(record(batch, "errors"), "data")
        if status == "failed":
            return BatchState(True, word, errors[0] if errors else status)
        lines: list[str] = []
        for name in ("output_file_id", "error_file_id"):
            if status in ENDED and (file := text(batch, name)):
                content = await self._endpoint.download(f"/files/{checked_id(file)}/content")
                lines += _lines(content)
        return BatchState(status in ENDED, word, lines=lines)

    async def cancel(self, id: str) -> None:
        await self._endpoint.post(f"/batches/{checked_id(id)}/cancel", {})


class FileBatches(OpenAiLines):
    """Batches as files in a folder of the user's, for `vllm run-batch` and whatever else answers
    OpenAI's lines: BATCH.jsonl has the calls, BATCH.results.jsonl the results, and a batch has
    ended when that has as many whole lines."""

    def __init__(self, folder: Path, path: str, permit: Permit) -> None:
        """ConfigError where the folder may not be written, or is none."""
        super().__init__(path)
        self.folder = folder
        permit.check(Reach.FILE, str(folder))
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as exc:
            raise ConfigError(f"--batch-dir {folder}: {exc.strerror}") from exc

    async def submit(self, batch: str, lines: Sequence[bytes]) -> str:
        try:
            data = b"\n".join([*lines, b""])
            replace_file(self.folder / f"{batch}.jsonl", data, mode=0o600, sync=True)
        except OSError as exc:
            raise StorageError(f"cannot write {self.folder}/{batch}.jsonl: {exc.strerror}") from exc
        return batch

    async def find(self, batch: str, calls: Sequence[str], since: datetime) -> str | None:
        return batch if (self.folder / f"{batch}.jsonl").exists() else None

    async def state(self, id: str) -> BatchState:
        name = self.folder / checked_id(id)
        calls, results = len(self._lines(f"{id}.jsonl")), self._lines(f"{id}.results.jsonl")
        word = f"{len(results)} of {calls} answered; answer {name}.jsonl in {name}.results.jsonl"
        return BatchState(calls <= len(results), word, lines=results)

    async def cancel(self, id: str) -> None:
        (self.folder / f"{checked_id(id)}.jsonl").unlink(missing_ok=True)

    def _lines(self, name: str) -> list[str]:
        """The whole lines of a file; none where it is not there yet."""
        try:
            whole, _, _ = read_file(self.folder, self.folder / name).decode().rpartition("\n")
        except FileNotFoundError:
            return []
        except (OSError, UnicodeDecodeError) as exc:
            reason = exc.strerror if isinstance(exc, OSError) else exc
            raise StorageError(f"cannot read {self.folder / name}: {reason}") from exc
        return _lines(whole)


class AnthropicBatches:
    """Anthropic's Message Batches. They have no place for an id of ours, but their results name our
    calls."""

    most_calls = 100_000
    most_bytes = 255_000_000
    """Of 256 MB; the rest is for what is around the lines."""

    def __init__(self, endpoint: Endpoint, path: str) -> None:
        self._endpoint, self._path = endpoint, f"{path}/batches"

    def line(self, call: str, body: Json) -> bytes:
        return encoded({"custom_id": call, "params": body})

    async def submit(self, batch: str, lines: Sequence[bytes]) -> str:
        data = b'{"requests":[%b]}' % b",".join(lines)
        return checked_id(text(await self._endpoint.post(self._path, {}, data), "id"))

    async def find(self, batch: str, calls: Sequence[str], since: datetime) -> str | None:
        running, ours, earliest = "", frozenset(calls), (since - CLOCKS_DIFFER).isoformat()
        async for each in _listed(self._endpoint, self._path, "after_id"):
            id = checked_id(text(each, "id"))
            if text(each, "created_at") < earliest:
                break
            if _total(record(each, "request_counts")) != len(calls):
                continue
            if text(each, "processing_status") != "ended":
                running = id
                continue
            lines = (await self.state(id)).lines
            if any(text(_fields(line), "custom_id") in ours for line in lines):
                return id
        if running:
            what = f"whether batch {running} is that of this run is known when it has ended"
            raise ModelError(what, kind="unreadable")
        return None

    async def state(self, id: str) -> BatchState:
        batch = await self._endpoint.get(f"{self._path}/{checked_id(id)}")
        status, counts = text(batch, "processing_status"), record(batch, "request_counts")
        word = f"{status}, {counts.get('succeeded', 0)} of {_total(counts)} replied"
        if status != "ended":
            return BatchState(False, word)
        content = await self._endpoint.download(f"{self._path}/{id}/results")
        return BatchState(True, word, lines=_lines(content))

    def read(self, line: str) -> BatchResult | None:
        fields = _fields(line)
        call, result = text(fields, "custom_id"), record(fields, "result")
        if not call:
            return None
        match text(result, "type"):
            case "succeeded":
                return BatchResult(call, record(result, "message"))
            case "errored":
                return BatchResult(call, error=record(record(result, "error"), "error"))
        return BatchResult(call, error=EXPIRED)

    async def cancel(self, id: str) -> None:
        await self._endpoint.post(f"{self._path}/{checked_id(id)}/cancel", {})


def _total(counts: Json) -> int:
    return sum(count for count in counts.values() if isinstance(count, int))


def _http_status(error: Json) -> int | None:
    """That of an error of Google's RPC, which some write at once."""
    code = error.get("code")
    return RPC_STATUSES.get(code, code) if isinstance(code, int) else None


class GeminiBatches:
    """Gemini's batches, whose requests are in the request that makes them. Our id is the batch's
    name for people. Results come in another order than the requests, whatever the documents say, so
    that one without its key is nobody's."""

    most_calls = 50_000
    most_bytes = 19_900_000
    """Of 20 MB; as above."""

    def __init__(self, endpoint: Endpoint, path: str) -> None:
        self._endpoint, self._path = endpoint, path.replace(":generate", ":batchGenerate")

    def line(self, call: str, body: Json) -> bytes:
        return encoded({"request": body, "metadata": {"key": call}})

    async def submit(self, batch: str, lines: Sequence[bytes]) -> str:
        form = b'{"batch":{"displayName":"%b","inputConfig":{"requests":{"requests":[%b]}}}}'
        data = form % (batch.encode(), b",".join(lines))
        return checked_id(text(await self._endpoint.post(self._path, {}, data), "name"))

    async def find(self, batch: str, calls: Sequence[str], since: datetime) -> str | None:
        query = ""
        while True:
            page = await self._endpoint.get(f"/batches?pageSize=20{query}")
            for each in records(page, "operations"):
                if text(record(each, "metadata"), "displayName") == batch:
                    return checked_id(text(each, "name"))
            if not (token := text(page, "nextPageToken")):
                return None
            query = f"&pageToken={quote(token, safe='')}"

    async def state(self, id: str) -> BatchState:
        operation = await self._endpoint.get(f"/{checked_id(id)}", is_operation=True)
        metadata = record(operation, "metadata")
        state = text(metadata, "state").partition("_STATE_")[2].lower()  # behind BATCH or JOB
        counts = record(metadata, "batchStats")
        replied, total = counts.get("successfulRequestCount", 0), counts.get("requestCount", "?")
        word = f"{state}, {replied} of {total} replied"
        if state == "failed":
            error = record(operation, "error") or {"message": "the batch failed"}
            return BatchState(True, word, error | {"code": _http_status(error)})
        response = record(operation, "response")
        output = record(metadata, "output") or record(response, "output") or response
        inlined = records(record(output, "inlinedResponses"), "inlinedResponses")
        lines = [encoded(each).decode() for each in inlined]
        if file := text(output, "responsesFile"):
            lines = _lines(await self._endpoint.download(f"/{checked_id(file)}:download?alt=media"))
        is_ended = operation.get("done") is True or state in ENDED
        return BatchState(is_ended, word, lines=lines)

    def read(self, line: str) -> BatchResult | None:
        fields = _fields(line)
        call = text(record(fields, "metadata"), "key") or text(fields, "key")
        if not call:
            return None
        if body := record(fields, "response"):
            return BatchResult(call, body)
        error = record(fields, "error")
        return BatchResult(call, error=error or "no reply", status=_http_status(error))

    async def cancel(self, id: str) -> None:
        await self._endpoint.post(f"/{checked_id(id)}:cancel", {})


MakeBatches = Callable[[Endpoint, str], BatchApi]
APIS: Mapping[str, MakeBatches] = {
    "openai": OpenAiBatches,
    "anthropic": AnthropicBatches,
    "google": GeminiBatches,
}
"""By `Api.batches`: the API with an account, for calls to a path."""


def batch_api(model: str, plugins: Plugins) -> tuple[Api, MakeBatches]:
    """The model's API and its batches; ConfigError where it has none that are known here."""
    api = api_of(model, plugins)
    if api is None or (batches := APIS.get(api.batches or "")) is None:
        raise ConfigError(f"--batch: {model} has no batch API that is known here")
    return api, batches
