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

    def add(self, id, **fields):
        """What the maker of a batch is told; ConnectionError where that is lost."""
        number = len(self.batches) + 1
        self.batches[id] = {"id": id, "number": number, "results": [], **fields}
        if number in self.loses:
            raise ConnectionError
        return self.shown(self.batches[id])

    async def look(self, id):
        """The batch as it is shown, after a tick where its time moves by itself."""
        if self.moves:
            await self.tick(id)
        return self.shown(self.batch(id))

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

    def reversed(self, results, is_good):
        """Those that have replies are spoilt; all of them in another order than the calls."""
        good = [each for each in results if is_good(each)]
        return [*[each for each in results if not is_good(each)], *self.spoil(good)][::-1]


class Replied:
    """Keeps a reply in place of a channel."""

    async def reply(self, status, body, kind="", headers=()):
        self.status, self.body = status, json.loads(body)


class BatchServer(Batching):
    """OpenAI's."""

    dump = staticmethod(as_json)

    async def batch_reply(self, http):
        match http.method, *http.path.split("/")[1:]:
            case "POST", "v1", "files":
                return self._upload(http)
            case "GET", "v1", "files", file, "content":
                return self._file(file)["data"]
            case "POST", "v1", "batches":
                return self._create(json.loads(http.body))
            case "GET", "v1", "batches":
                data = [self.shown(batch) for batch in reversed(self.batches.values())]
                return {"object": "list", "data": data, "has_more": False}
            case "GET", "v1", "batches", batch:
                return await self.look(batch)
            case "POST", "v1", "batches", id, "cancel":
                batch = self.batch(id)
                if batch["status"] in ("validating", "in_progress"):
                    batch["status"] = "cancelling"
                return self.shown(batch)
        return None

    def _upload(self, http):
        head = f"content-type: {http.headers['content-type']}\r\n\r\n".encode()
        form = BytesParser(policy=HTTP).parsebytes(head + http.body)
        parts = {p.get_param("name", header="content-disposition"): p for p in form.iter_parts()}
        if (purpose := parts["purpose"].get_content().strip()) != "batch":
            raise Refusal(400, f"'{purpose}' is not one of ['batch']", "purpose")
        return self._add_file(parts["file"].get_payload(decode=True), purpose)

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
        return self.add(
            f"batch_{token_hex(6)}", object="batch", endpoint=body["endpoint"], errors=None,
            input_file_id=file["id"], completion_window="24h", status="validating",
            output_file_id=None, error_file_id=None, created_at=1, metadata=body.get("metadata"),
            request_counts={"total": 0, "completed": 0, "failed": 0},
        )  # fmt: skip

    def shown(self, batch):
        return {name: batch[name] for name in batch if name not in ("results", "number", "todo")}

    async def tick(self, id):
        """One step of the batch."""
        batch = self.batch(id)
        match batch["status"]:
            case "validating":
                self._validate(batch)
            case "in_progress":
                await self._work(batch)
            case "finalizing":
                self._publish(batch, "completed")
            case "cancelling":
                self._publish(batch, "cancelled")

    def _validate(self, batch):
        data = self._file(batch["input_file_id"])["data"]
        lines = [json.loads(line) for line in data.splitlines()]
        ids = [line["custom_id"] for line in lines]
        if len(lines) > self.most_calls or len(data) > self.most_bytes:
            code, message = "invalid_batch_size", "the file is too large"
        elif len(set(ids)) < len(ids) or any(len(id) > 64 for id in ids):
            code, message = "duplicate_custom_id", "a custom_id is there twice, or is too long"
        elif any((line["method"], line["url"]) != ("POST", batch["endpoint"]) for line in lines):
            code, message = "mismatched_endpoint", "a line asks another endpoint"
        else:
            batch["status"], batch["request_counts"]["total"] = "in_progress", len(lines)
            batch["todo"] = lines
            return
        fault = {"code": code, "message": message, "line": None, "param": None}
        batch |= {"status": "failed", "errors": {"object": "list", "data": [fault]}}

    async def _work(self, batch):
        todo, expires = batch.pop("todo"), batch["number"] in self.expires
        part = len(todo) // 2 if expires else len(todo)
        for line in todo[:part]:
            batch["results"].append(await self.result(line))
            self.asked.append(line["custom_id"])
        message = "This request could not be executed before the completion window expired."
        error = {"code": "batch_expired", "message": message}
        batch["results"] += [
            {"id": "r", "custom_id": line["custom_id"], "response": None, "error": error}
            for line in todo[part:]
        ]
        batch["request_counts"] |= {"completed": part, "failed": len(todo) - part}
        batch["status"] = "finalizing"
        if expires:
            self._publish(batch, "expired")

    async def result(self, line):
        status, body = await self.done(line["url"], line["body"], {})
        response = {"status_code": status, "request_id": "q", "body": body}
        return {"id": "r", "custom_id": line["custom_id"], "response": response, "error": None}

    def _publish(self, batch, status):
        """The output file has the calls that were replied to, the error file the others."""
        batch["status"], good, bad = status, [], []
        for each in batch["results"]:
            is_good = each["error"] is None and each["response"]["status_code"] == 200
            (good if is_good else bad).append(each)
        for name, lines in (("output_file_id", self.spoil(good)), ("error_file_id", bad)):
            if lines:
                data = b"".join(self.dump(line) + b"\n" for line in reversed(lines))
                batch[name] = self._add_file(data, "batch_output")["id"]
