"""The fake server with OpenAI's `/v1/files` and `/v1/batches`, as documented; its time is a counter
that the test moves, or that moves by itself at each look.

A batch goes validating → in_progress → finalizing → completed, a step at each tick; or it ends as
expired or cancelled, with what was done until then. What is asked of a batch is checked as OpenAI
checks it: the purpose of its file, the window, the endpoint, the count and size, and that each
custom_id is there once. A batch that is refused so has failed.
"""

import json
import re
from email.parser import BytesParser
from email.policy import HTTP
from secrets import token_hex

from agent_env.features.agents.apis.exchange import HttpRequest, as_json
from agent_env.features.agents.apis.exchange import Refusal as AnyRefusal
from tests.fake_server import FakeServer, Refusal

ENDPOINTS = ("/v1/chat/completions", "/v1/responses")


class Batching(FakeServer):
    """A fake server with batches. `moves`: whether each look at a batch is a tick of its time."""

    def __init__(self, *args, moves=True, most_calls=50_000, most_bytes=200_000_000, **kwargs):
        super().__init__(*args, **kwargs)
        self.moves, self.most_calls, self.most_bytes = moves, most_calls, most_bytes
        self.batches, self.asked = {}, []
        """`asked`: the ids of all calls that were done, in order."""
        self.expires = set()
        """Numbers of batches, from 1, that expire before all of their calls are done."""
        self.loses = set()
        """Numbers of batches, from 1, that are made and whose maker hears nothing of it."""
        self.spoil = lambda lines: lines
        """Changes the results that have replies."""

    def kept(self, reply):
        """The reply to who made a batch; ConnectionError where it is lost."""
        if len(self.batches) in self.loses:
            raise ConnectionError
        return reply

    async def done(self, path, body, headers):
        """The status and the reply of a call by itself."""
        http = HttpRequest("POST", path, as_json(body), headers)
        self.counts[http.path] += 1
        replied = Replied()
        apis = [api for pattern, api in self._apis.items() if re.fullmatch(pattern, http.path)]
        try:
            await FakeServer._route(self, replied, http, apis)
        except AnyRefusal as refusal:
            replied.status, replied.body = refusal.status, apis[0].error(refusal)
        return replied.status, replied.body

    def batch(self, id):
        if id not in self.batches:
            raise Refusal(404, f"No batch found with id '{id}'.", "id")
        return self.batches[id]


class BatchServer(Batching):
    """OpenAI's."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.files, self.dump = {}, as_json

    async def _route(self, channel, http, apis):
        _, version, kind, *rest = http.path.split("/")
        if (version, kind) not in (("v1", "files"), ("v1", "batches")):
            await super()._route(channel, http, apis)
            return
        match http.method, kind, rest:
            case "POST", "files", []:
                reply = self._upload(http)
            case "GET", "files", [file, "content"]:
                await channel.reply(200, self._file(file)["data"], "application/octet-stream")
                return
            case "POST", "batches", []:
                reply = self.kept(self._create(json.loads(http.body)))
            case "GET", "batches", []:
                data = [self._shown(batch) for batch in reversed(self.batches.values())]
                reply = {"object": "list", "data": data, "has_more": False}
            case "GET", "batches", [batch]:
                if self.moves:
                    await self.tick(batch)
                reply = self._shown(self.batch(batch))
            case "POST", "batches", [batch, "cancel"]:
                reply = self._cancel(self.batch(batch))
            case _:
                raise Refusal(404, f"nothing at {http.method} {http.path}")
        await channel.reply(200, as_json(reply))

    def _upload(self, http):
        head = f"content-type: {http.headers['content-type']}\r\n\r\n".encode()
        form = BytesParser(policy=HTTP).parsebytes(head + http.body)
        parts = {p.get_param("name", header="content-disposition"): p for p in form.iter_parts()}
        purpose = parts["purpose"].get_content().strip()
        if purpose != "batch":
            raise Refusal(400, f"'{purpose}' is not one of ['batch']", "purpose")
        data = parts["file"].get_payload(decode=True)
        return self._add_file(data, purpose)

    def _add_file(self, data, purpose):
        file = {
            "id": f"file-{token_hex(6)}", "object": "file", "bytes": len(data), "created_at": 1,
            "filename": "batch.jsonl", "purpose": purpose, "status": "processed",
        }  # fmt: skip
        self.files[file["id"]] = file | {"data": data}
        return file

    def _file(self, id):
        if id not in self.files:
            raise Refusal(404, f"No such File object: {id}", "id")
        return self.files[id]

    def _create(self, body):
        file = self._file(body["input_file_id"])
        if file["purpose"] != "batch":
            raise Refusal(400, "the file was not uploaded for a batch", "input_file_id")
        if body["completion_window"] != "24h":
            raise Refusal(400, "Invalid value for completion_window: 24h", "completion_window")
        if body["endpoint"] not in ENDPOINTS:
            raise Refusal(400, f"Invalid endpoint {body['endpoint']}", "endpoint")
        id = f"batch_{token_hex(6)}"
        self.batches[id] = {
            "id": id, "object": "batch", "endpoint": body["endpoint"], "errors": None,
            "input_file_id": file["id"], "completion_window": "24h", "status": "validating",
            "output_file_id": None, "error_file_id": None, "created_at": 1,
            "metadata": body.get("metadata"), "lines": [], "number": len(self.batches) + 1,
            "request_counts": {"total": 0, "completed": 0, "failed": 0},
        }  # fmt: skip
        return self._shown(self.batches[id])

    def _shown(self, batch):
        return {name: batch[name] for name in batch if name not in ("lines", "number")}

    async def tick(self, id):
        """One step of the batch."""
        batch = self.batch(id)
        match batch["status"]:
            case "validating":
                self._validate(batch)
            case "in_progress":
                await self._work(batch)
            case "finalizing" | "cancelling":
                ends = {"finalizing": "completed", "cancelling": "cancelled"}
                batch["status"] = ends[batch["status"]]
                self._publish(batch)

    def _validate(self, batch):
        data = self._file(batch["input_file_id"])["data"]
        lines = [json.loads(line) for line in data.splitlines()]
        ids = [line["custom_id"] for line in lines]
        error = None
        if len(lines) > self.most_calls or len(data) > self.most_bytes:
            error = "invalid_batch_size", "the file is too large"
        elif len(set(ids)) < len(ids) or any(len(id) > 64 for id in ids):
            error = "duplicate_custom_id", "a custom_id is there twice, or is too long"
        elif any((line["method"], line["url"]) != ("POST", batch["endpoint"]) for line in lines):
            error = "mismatched_endpoint", "a line asks another endpoint"
        if error is not None:
            batch["status"] = "failed"
            fault = {"code": error[0], "message": error[1], "line": None, "param": None}
            batch["errors"] = {"object": "list", "data": [fault]}
            return
        batch["status"], batch["request_counts"]["total"] = "in_progress", len(lines)
        batch["todo"] = lines

    async def _work(self, batch):
        todo = batch.pop("todo")
        expires = batch["number"] in self.expires
        done = todo[: len(todo) // 2] if expires else todo
        for line in done:
            batch["lines"].append(await self._done(line))
            self.asked.append(line["custom_id"])
        for line in todo[len(done) :]:
            message = "This request could not be executed before the completion window expired."
            error = {"code": "batch_expired", "message": message}
            batch["lines"].append(
                {"id": "r", "custom_id": line["custom_id"], "response": None, "error": error}
            )
        good = sum(line["error"] is None for line in batch["lines"])
        batch["request_counts"] |= {"completed": good, "failed": len(batch["lines"]) - good}
        batch["status"] = "expired" if expires else "finalizing"
        if expires:
            self._publish(batch)

    async def _done(self, line):
        status, body = await self.done(line["url"], line["body"], {})
        response = {"status_code": status, "request_id": "q", "body": body}
        return {"id": "r", "custom_id": line["custom_id"], "response": response, "error": None}

    def _publish(self, batch):
        """The output file has the calls that were replied to, the error file the others."""
        good = [each for each in batch["lines"] if _is_good(each)]
        bad = [each for each in batch["lines"] if not _is_good(each)]
        for name, lines in (("output_file_id", self.spoil(good)), ("error_file_id", bad)):
            if lines:
                data = b"".join(self.dump(line) + b"\n" for line in reversed(lines))
                batch[name] = self._add_file(data, "batch_output")["id"]

    def _cancel(self, batch):
        if batch["status"] in ("validating", "in_progress"):
            batch["status"] = "cancelling"
        return self._shown(batch)


class Replied:
    """Keeps a reply in place of a channel."""

    async def reply(self, status, body, kind="", headers=()):
        self.status, self.body = status, json.loads(body)


def _is_good(line):
    return line["error"] is None and line["response"]["status_code"] == 200
