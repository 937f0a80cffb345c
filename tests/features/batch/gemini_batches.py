"""The fake server with Gemini's batches and files, as documented.

A batch is pending, running and then succeeded; a cancelled, expired or failed one has no results.
Results come in another order than the requests, as users of the API report, with their metadata.
Refused: unknown fields, a batch without a name or requests, or over 20 MB, and a key elsewhere than
in its header. Files are not uploaded here: nothing of ours does that.
"""

import json
import re
from secrets import token_hex

from agent_env.features.agents.apis.exchange import as_json
from agent_env.features.agents.apis.generate_content import GeminiApi
from tests.fake_server import Refusal
from tests.features.batch.batch_server import Batching

CREATE = re.compile(r"/v1(?:beta)?/models/([^:/]+):batchGenerateContent")
BATCH = re.compile(r"/v1(?:beta)?/(batches/[^:/]+)(:cancel)?")
FILE = re.compile(r"/v1(?:beta)?/files/([^:/]+):download")
LISTS = ("/v1beta/batches", "/v1/batches")
PREFIX = "type.googleapis.com/google.ai.generativelanguage.v1main."
RPC = {400: 3, 403: 7, 404: 5, 429: 8, 500: 13, 503: 14}
FIELDS = {"displayName", "inputConfig", "model", "priority"}
EXPECTED = {"": {"batch"}, "batch": FIELDS, "inputConfig": {"requests"}, "requests": {"requests"}}


class GeminiBatchServer(Batching):
    """`fails`: numbers of batches, from 1, that fail as a whole, with the code of the error.
    `by_file`: whether all results come in files."""

    steps, works_in = ("PENDING", "RUNNING", "SUCCEEDED"), "RUNNING"
    codec = GeminiApi()

    def __init__(self, *args, most_bytes=20_000_000, **kwargs):
        super().__init__(*args, most_bytes=most_bytes, **kwargs)
        self.by_file, self.fails = False, {}

    async def batch_reply(self, http):
        path = http.path
        made, batch, file = (pattern.fullmatch(path) for pattern in (CREATE, BATCH, FILE))
        if not (made or batch or file or path in LISTS):
            return None
        if not http.headers.get("x-goog-api-key"):
            raise Refusal(403, "Method doesn't allow unregistered callers. Please use API Key.")
        if made:
            return self._create(made[1], http.body)
        if file:
            lines = self._results(self.batch(f"batches/{file[1]}"))
            return b"".join(as_json(each) + b"\n" for each in lines)
        if path in LISTS:
            return {"operations": [self.shown(each) for each in self.batches.values()]}
        if batch[2] and http.method == "POST":
            self.batch(batch[1]).state = "CANCELLED"
            return {}
        return await self.look(batch[1])

    def _create(self, model, data):
        if len(data) > self.most_bytes:
            raise Refusal(400, f"Request payload size exceeds the limit: {self.most_bytes} bytes.")
        config = _known(json.loads(data), "")["batch"]
        requests = config["inputConfig"]["requests"]["requests"]
        if not config.get("displayName"):
            raise Refusal(400, "a batch has a display_name")
        if not requests or any(set(each) - {"metadata", "request"} for each in requests):
            raise Refusal(400, "Invalid JSON payload received.")
        path, head = f"/v1beta/models/{model}:generateContent", {"x-goog-api-key": "k"}
        keys = [each.get("metadata", {}).get("key") for each in requests]
        calls = [(key, path, r["request"], head) for key, r in zip(keys, requests, strict=True)]
        name, shown = f"batches/{token_hex(6)}", config["displayName"]
        return self.add(name, calls, model=model, display=shown)

    async def tick(self, id):
        batch = self.batch(id)
        if batch.state == "RUNNING" and batch.number in self.expires:
            batch.state = "EXPIRED"
        elif batch.state == "RUNNING" and batch.number in self.fails:
            batch.state = "FAILED"
        else:
            await super().tick(id)

    def line(self, call, status, body):
        named = {"metadata": {"key": call}} if call else {}
        if status == 200:
            return named | {"response": body}
        return named | {"error": {"code": RPC[status], "message": body["error"]["message"]}}

    def _results(self, batch):
        good, bad = self.lines(batch)
        return [*good, *bad]

    def shown(self, batch):
        """The batch as the operation that it is; counts are texts."""
        good = sum(status == 200 for _, status, _ in batch.results)
        total, state = str(len(batch.calls)), batch.state
        pending = {"pendingRequestCount": total} if state in self.steps[:-1] else {}
        replied = {"successfulRequestCount": str(good)} if good else {}
        operation = {
            "name": batch.id,
            "metadata": {
                "@type": f"{PREFIX}GenerateContentBatch", "name": batch.id,
                "model": f"models/{batch.model}", "displayName": batch.display,
                "state": f"BATCH_STATE_{state}",
                "batchStats": {"requestCount": total, **pending, **replied},
                "createTime": "2026-11-25T00:00:00Z", "updateTime": "2026-11-25T00:00:00Z",
            },
            "done": state not in self.steps[:-1],
        }  # fmt: skip
        if state == "SUCCEEDED":
            output = {"responsesFile": batch.id.replace("batches", "files")}
            if not self.by_file:
                output = {"inlinedResponses": {"inlinedResponses": self._results(batch)}}
            operation["metadata"] |= {"output": output, "endTime": "2026-11-25T01:00:00Z"}
            operation["response"] = {"@type": f"{PREFIX}GenerateContentBatchOutput"} | output
        if state in ("CANCELLED", "FAILED"):
            code = 1 if state == "CANCELLED" else self.fails[batch.number]
            operation["error"] = {"code": code, "message": f"the batch has {state.lower()}"}
        return operation


def _known(value, kind):
    """The value with names in camelCase; Refusal for an unknown one."""
    if kind not in EXPECTED or isinstance(value, list):
        return value
    fields = {re.sub("_(.)", lambda match: match[1].upper(), name): value[name] for name in value}
    if unknown := set(fields) - EXPECTED[kind]:
        raise Refusal(400, f"Invalid JSON payload received. Unknown name {min(unknown)!r}.")
    return {name: _known(inner, name) for name, inner in fields.items()}
