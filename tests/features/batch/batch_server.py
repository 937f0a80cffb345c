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
from types import SimpleNamespace

from agent_env.features.agents.apis.exchange import HttpRequest, as_json
from agent_env.features.agents.apis.exchange import Refusal as AnyRefusal
from tests.fake_server import FakeServer, Refusal

ENDPOINTS = ("/v1/chat/completions", "/v1/responses")


class Batching(FakeServer):
    """A fake server with batches, each of which takes a step at a tick, and does its calls at the
    end of the step `works_in`. `moves`: whether each look at a batch is a tick of its time."""

    steps, works_in = (), ""
    codec = None
    """Of the errors of its batches, where they are not as OpenAI's."""

    def __init__(self, *args, moves=True, most_calls=50_000, most_bytes=200_000_000, **kwargs):
        super().__init__(*args, **kwargs)
        self.moves, self.most_calls, self.most_bytes = moves, most_calls, most_bytes
        self.batches, self.files, self.asked = {}, {}, []
        """`asked`: the ids of all calls that were done, in order."""
        self.expires = set()
        """Numbers of batches, from 1, that expire before all of their calls are done."""
        self.loses = set()
        """Numbers of batches, from 1, that are made and whose maker hears nothing of it."""
        self.spoil = lambda lines: lines
        """Changes the results that have replies."""

    async def _route(self, channel, http, apis):
        """`batch_reply` gives JSON, or the bytes of a file; None for what is of no batch."""
        reply = await self.batch_reply(http)
        if reply is None:
            await super()._route(channel, http, apis)
        elif isinstance(reply, bytes):
            await channel.reply(200, reply, "application/octet-stream")
        else:
            await channel.reply(200, as_json(reply))

    async def _refuse(self, channel, refusal, apis):
        await super()._refuse(channel, refusal, [self.codec] if self.codec else apis)

    def add(self, id, calls, **fields):
        """What the maker of a batch is told; ConnectionError where that is lost. A call is its id,
        and the path, the body and the headers of its request."""
        known = {"id": id, "number": len(self.batches) + 1, "state": self.steps[0], "results": []}
        self.batches[id] = batch = SimpleNamespace(calls=calls, **known, **fields)
        if batch.number in self.loses:
            raise ConnectionError
        return self.shown(batch)

    def batch(self, id):
        if id not in self.batches:
            raise Refusal(404, f"No batch found with id '{id}'.", "id")
        return self.batches[id]

    async def look(self, id):
        """The batch as it is shown, after a tick where its time moves by itself."""
        if self.moves:
            await self.tick(id)
        return self.shown(self.batch(id))

    async def tick(self, id):
        """One step of the batch."""
        batch = self.batch(id)
        if batch.state in self.steps[:-1]:
            if batch.state == self.works_in:
                await self.work(batch, "expired" if batch.number in self.expires else None)
            batch.state = self.steps[self.steps.index(batch.state) + 1]

    async def work(self, batch, end=None):
        """All calls are done; or half of them, and the others have this end."""
        part = len(batch.calls) // 2 if end else len(batch.calls)
        for call, *request in batch.calls[:part]:
            batch.results.append((call, *await self.done(*request)))
            self.asked.append(call)
        batch.results += [(call, end, None) for call, *_ in batch.calls[part:]]

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

    def lines(self, batch):
        """Those with replies, spoilt, and the others, both in another order than the calls."""
        good = [self.line(*each) for each in batch.results if each[1] == 200]
        bad = [self.line(*each) for each in batch.results if each[1] != 200]
        return self.spoil(good)[::-1], bad[::-1]


class Replied:
    """Keeps a reply in place of a channel."""

    async def reply(self, status, body, kind="", headers=()):
        self.status, self.body = status, json.loads(body)


class BatchServer(Batching):
    """OpenAI's."""

    steps, works_in = ("validating", "in_progress", "finalizing", "completed"), "in_progress"
    dump = staticmethod(as_json)

    async def batch_reply(self, http):
        match http.method, *http.path.split("/")[1:]:
            case "POST", "v1", "files":
                return self._upload(http)
            case "GET", "v1", "files", file, "content":
                id, _, name = file.partition("-")
                good, bad = self.lines(self.batch(id))
                lines = good if name == "output_file_id" else bad
                return b"".join(self.dump(line) + b"\n" for line in lines)
            case "POST", "v1", "batches":
                return self._create(json.loads(http.body))
            case "GET", "v1", "batches":
                data = [self.shown(batch) for batch in reversed(self.batches.values())]
                return {"object": "list", "data": data, "has_more": False}
            case "GET", "v1", "batches", batch:
                return await self.look(batch)
            case "POST", "v1", "batches", id, "cancel":
                batch = self.batch(id)
                if batch.state in ("validating", "in_progress"):
                    batch.state = "cancelling"
                return self.shown(batch)
        return None

    def _upload(self, http):
        head = f"content-type: {http.headers['content-type']}\r\n\r\n".encode()
        form = BytesParser(policy=HTTP).parsebytes(head + http.body)
        parts = {p.get_param("name", header="content-disposition"): p for p in form.iter_parts()}
        if (purpose := parts["purpose"].get_content().strip()) != "batch":
            raise Refusal(400, f"'{purpose}' is not one of ['batch']", "purpose")
        id, data = f"file-{token_hex(6)}", parts["file"].get_payload(decode=True)
        self.files[id] = data
        return {
            "id": id, "object": "file", "bytes": len(data), "created_at": 1,
            "filename": "batch.jsonl", "purpose": purpose, "status": "processed",
        }  # fmt: skip

    def _create(self, body):
        if (file := body["input_file_id"]) not in self.files:
            raise Refusal(404, f"No such File object for a batch: {file}", "id")
        if body["completion_window"] != "24h":
            raise Refusal(400, "Invalid value for completion_window: 24h", "completion_window")
        if body["endpoint"] not in ENDPOINTS:
            raise Refusal(400, f"Invalid endpoint {body['endpoint']}", "endpoint")
        lines = [json.loads(line) for line in self.files[file].splitlines()]
        calls = [(line["custom_id"], line["url"], line["body"], {}) for line in lines]
        places = {(line["method"], line["url"]) for line in lines}
        return self.add(f"batch_{token_hex(6)}", calls, body=body, places=places)

    def shown(self, batch):
        body, files = batch.body, {"output_file_id": None, "error_file_id": None}
        if batch.state in ("completed", "expired", "cancelled"):
            for name, lines in zip(files, self.lines(batch), strict=True):
                files[name] = f"{batch.id}-{name}" if lines else None
        fault = {"code": self._fault(batch), "message": "", "line": None, "param": None}
        good = sum(status == 200 for _, status, _ in batch.results)
        total = 0 if batch.state == "validating" else len(batch.calls)
        failed = len(batch.results) - good
        return {
            "id": batch.id, "object": "batch", "endpoint": body["endpoint"], **files,
            "errors": {"object": "list", "data": [fault]} if batch.state == "failed" else None,
            "input_file_id": body["input_file_id"], "completion_window": "24h",
            "status": batch.state, "created_at": 1, "metadata": body.get("metadata"),
            "request_counts": {"total": total, "completed": good, "failed": failed},
        }  # fmt: skip

    def _fault(self, batch):
        """The code of what is wrong with its file; None where it is as it must be."""
        ids, size = [call for call, *_ in batch.calls], len(self.files[batch.body["input_file_id"]])
        if len(ids) > self.most_calls or size > self.most_bytes:
            return "invalid_batch_size"
        if len(set(ids)) < len(ids) or any(len(id) > 64 for id in ids):
            return "duplicate_custom_id"
        return None if batch.places == {("POST", batch.body["endpoint"])} else "mismatched_endpoint"

    async def tick(self, id):
        batch = self.batch(id)
        if batch.state == "validating" and self._fault(batch):
            batch.state = "failed"
        elif batch.state == "cancelling":
            batch.state = "cancelled"
        else:
            await super().tick(id)
        if batch.state == "finalizing" and batch.number in self.expires:
            batch.state = "expired"

    def line(self, call, status, body):
        message = "This request could not be executed before the completion window expired."
        error = {"code": "batch_expired", "message": message}
        response = {"status_code": status, "request_id": "q", "body": body}
        part = {"error": error} if status == "expired" else {"response": response}
        return {"id": "r", "custom_id": call, "response": None, "error": None, **part}
