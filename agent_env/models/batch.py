"""Batch APIs: many calls handed in at once, at a lower price, whose replies come within a day.

What a provider's batch API is, its file form on the disk, and the results that both give. Nothing
here knows of runs: a call is an id that we choose and the body of a request.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pydantic import JsonValue

from agent_env.errors import ConfigError, ModelError, StorageError
from agent_env.models.chat import Json, encoded, loaded, record, records, text
from agent_env.models.endpoint import Endpoint
from agent_env.permits import Permit
from agent_env.records.reach import Reach
from agent_env.records.safe_files import replace_file

PROVIDER_ID = re.compile(r"[A-Za-z0-9][\w./-]{0,200}")
"""Of a batch or file, as it stands in the path of a request; no way up."""


@dataclass(frozen=True, slots=True)
class BatchState:
    """Where a batch stands."""

    is_ended: bool
    """Whether no further result will come."""
    word: str
    """The provider's word for it, with what it counts."""
    error: JsonValue = None
    """Why the whole batch was refused; None where it was not."""


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What came of one call: the body of a reply, or an error."""

    call: str
    body: Json | None = None
    error: JsonValue = None
    status: int | None = None


class BatchApi(Protocol):
    """A provider's batch API, with the account or folder that it works for."""

    @property
    def most_calls(self) -> int:
        """Of one batch."""

    @property
    def most_bytes(self) -> int:
        """The same; of its lines with their breaks."""

    def line(self, call: str, path: str, body: Json) -> bytes:
        """A call as the batch has it, without a line break."""

    async def submit(self, batch: str, path: str, lines: Sequence[bytes]) -> str:
        """Hands in a batch under our own id; the provider's id."""

    async def find(self, batch: str) -> str | None:
        """The provider's id of the batch of this id of ours; None where it has none."""

    async def state(self, id: str) -> BatchState: ...

    async def results(self, id: str) -> list[str]:
        """The lines of results, in any order."""

    def read(self, line: str) -> BatchResult | None:
        """A line of results; None for one that names no call."""

    async def cancel(self, id: str) -> None:
        """Replies that are not there yet are not wanted."""


def read_result(line: str) -> BatchResult | None:
    """A line of a batch's output or error file, as OpenAI, vLLM and those like them write it; None
    for one that names no call."""
    try:
        fields = loaded(line)
    except ValueError:
        return None
    if not isinstance(fields, dict) or not (call := text(fields, "custom_id")):
        return None
    response = record(fields, "response")
    code = response.get("status_code")
    status = code if type(code) is int else None
    body = record(response, "body") or (response if "choices" in response else {})
    error = fields.get("error") or body.get("error")
    if error or not body or (status or 200) >= 400:
        return BatchResult(call, error=error or body or "no reply", status=status)
    return BatchResult(call, body)


def checked_id(id: str) -> str:
    """The id; ModelError for one that would lead elsewhere."""
    if not PROVIDER_ID.fullmatch(id) or ".." in id:
        raise ModelError(f"a batch's id is {id[:40]!r}, which no provider gives", kind="unreadable")
    return id


ENDED = ("completed", "failed", "expired", "cancelled")


@dataclass(frozen=True, slots=True)
class OpenAiBatches:
    """OpenAI's `/files` and `/batches`, which other servers have too. Our id is in the batch's
    metadata."""

    endpoint: Endpoint
    most_calls: int = 50_000
    most_bytes: int = 200_000_000

    def line(self, call: str, path: str, body: Json) -> bytes:
        return encoded({"custom_id": call, "method": "POST", "url": f"/v1{path}", "body": body})

    async def submit(self, batch: str, path: str, lines: Sequence[bytes]) -> str:
        data = b"\n".join([*lines, b""])
        file = await self.endpoint.upload("/files", f"{batch}.jsonl", data, {"purpose": "batch"})
        made = await self.endpoint.post(
            "/batches",
            {
                "input_file_id": text(file, "id"),
                "endpoint": f"/v1{path}",
                "completion_window": "24h",
                "metadata": {"agent_env_batch": batch},
            },
        )
        return checked_id(text(made, "id"))

    async def find(self, batch: str) -> str | None:
        after = ""
        while True:
            page = await self.endpoint.get(f"/batches?limit=100{after}")
            listed = records(page, "data")
            for each in listed:
                if text(record(each, "metadata"), "agent_env_batch") == batch:
                    return checked_id(text(each, "id"))
            if not listed or page.get("has_more") is not True:
                return None
            after = f"&after={checked_id(text(listed[-1], 'id'))}"

    async def state(self, id: str) -> BatchState:
        batch = await self.endpoint.get(f"/batches/{checked_id(id)}")
        status, counts = text(batch, "status"), record(batch, "request_counts")
        word = f"{status}, {counts.get('completed', 0)} of {counts.get('total', '?')} replied"
        errors = records(record(batch, "errors"), "data")
        error: JsonValue = (errors[0] if errors else status) if status == "failed" else None
        return BatchState(status in ENDED, word, error)

    async def results(self, id: str) -> list[str]:
        batch = await self.endpoint.get(f"/batches/{checked_id(id)}")
        lines: list[str] = []
        for name in ("output_file_id", "error_file_id"):
            if file := text(batch, name):
                content = await self.endpoint.download(f"/files/{checked_id(file)}/content")
                lines += content.splitlines()
        return lines

    def read(self, line: str) -> BatchResult | None:
        return read_result(line)

    async def cancel(self, id: str) -> None:
        await self.endpoint.post(f"/batches/{checked_id(id)}/cancel", {})


@dataclass(frozen=True, slots=True)
class FileBatches:
    """Batches as files in a folder of the user's, for `vllm run-batch` and whatever else answers
    OpenAI's lines: BATCH.jsonl is asked, BATCH.results.jsonl holds the results, and a batch has
    ended when that has as many whole lines."""

    folder: Path
    most_calls: int = 50_000
    most_bytes: int = 200_000_000

    @classmethod
    def at(cls, folder: Path, permit: Permit) -> FileBatches:
        """ConfigError where the folder may not be written, or is none."""
        permit.check(Reach.FILE, str(folder))
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as exc:
            raise ConfigError(f"--batch-dir {folder}: {exc.strerror}") from exc
        return cls(folder)

    def line(self, call: str, path: str, body: Json) -> bytes:
        return encoded({"custom_id": call, "method": "POST", "url": f"/v1{path}", "body": body})

    async def submit(self, batch: str, path: str, lines: Sequence[bytes]) -> str:
        try:
            replace_file(self.folder / f"{batch}.jsonl", b"\n".join([*lines, b""]), sync=True)
        except OSError as exc:
            raise StorageError(f"cannot write {self.folder}/{batch}.jsonl: {exc.strerror}") from exc
        return batch

    async def find(self, batch: str) -> str | None:
        return batch if (self.folder / f"{batch}.jsonl").exists() else None

    async def state(self, id: str) -> BatchState:
        name = self.folder / checked_id(id)
        asked, replied = len(self._lines(f"{id}.jsonl")), len(await self.results(id))
        word = f"{replied} of {asked} answered; answer {name}.jsonl in {name}.results.jsonl"
        return BatchState(asked <= replied, word)

    async def results(self, id: str) -> list[str]:
        return self._lines(f"{checked_id(id)}.results.jsonl")

    def read(self, line: str) -> BatchResult | None:
        return read_result(line)

    async def cancel(self, id: str) -> None:
        (self.folder / f"{checked_id(id)}.jsonl").unlink(missing_ok=True)

    def _lines(self, name: str) -> list[str]:
        """The whole lines of a file; none where it is not there yet."""
        try:
            whole, _, _ = (self.folder / name).read_text(encoding="utf-8").rpartition("\n")
        except FileNotFoundError:
            return []
        except (OSError, UnicodeDecodeError) as exc:
            raise StorageError(f"cannot read {self.folder / name}: {exc}") from exc
        return [line for line in whole.split("\n") if line.strip()]
