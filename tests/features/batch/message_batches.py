"""The fake server with Anthropic's Message Batches, as documented.

Refused: a request without its headers or with unknown fields, an id that is not one, is there
twice, or is too long, streams, too many or too large requests, results of a batch that has not
ended. A batch is in progress, or canceling, until it has ended; its counts are of the end alone.
Results come in another order. A call that the API would refuse has errored, and the others have
not.
"""

import json
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from secrets import token_hex

from agent_env.features.agents.apis.exchange import as_json
from agent_env.features.agents.apis.messages import MessagesApi
from tests.fake_server import Refusal
from tests.features.batch.batch_server import Batching

PATH = "/v1/messages/batches"
ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
HEAD = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
KINDS = ("processing", "succeeded", "errored", "canceled", "expired")


class MessageBatchServer(Batching):
    steps, works_in = ("in_progress", "replied", "ended"), "in_progress"
    codec = MessagesApi()

    def __init__(self, *args, most_calls=100_000, most_bytes=256_000_000, **kwargs):
        super().__init__(*args, most_calls=most_calls, most_bytes=most_bytes, **kwargs)

    async def batch_reply(self, http):
        if not http.path.startswith(PATH):
            return None
        if http.keys <= {""}:
            raise Refusal(401, "invalid x-api-key")
        if not http.headers.get("anthropic-version"):
            raise Refusal(400, "anthropic-version: header is required")
        match http.method, *http.path.removeprefix(PATH).split("/")[1:]:
            case ("POST",):
                return self._create(http.body)
            case ("GET",):
                data = [await self.look(id) for id in reversed(self.batches)]
                ends = [each["id"] for each in data[:1] + data[-1:]] or [None, None]
                return {"data": data, "has_more": False, "first_id": ends[0], "last_id": ends[-1]}
            case "GET", id:
                return await self.look(id)
            case "GET", id, "results":
                if self.batch(id).state != "ended":
                    raise Refusal(404, "results are not available before the batch has ended")
                good, bad = self.lines(self.batch(id))
                return b"".join(as_json(each) + b"\n" for each in (*good, *bad))
            case "POST", id, "cancel":
                if self.batch(id).state != "ended":
                    self.batch(id).state = "canceling"
                return self.shown(self.batch(id))
        raise Refusal(404, f"nothing at {http.method} {http.path}")

    def _create(self, data):
        body = json.loads(data)
        if set(body) != {"requests"} or not body["requests"]:
            raise Refusal(400, "requests: Field required, and nothing else")
        if len(data) > self.most_bytes:
            raise Refusal(413, "Request exceeds the maximum size")
        if len(body["requests"]) > self.most_calls:
            raise Refusal(400, f"requests: List should have at most {self.most_calls} items")
        for n, request in enumerate(body["requests"]):
            if set(request) != {"custom_id", "params"}:
                raise Refusal(400, f"requests.{n}: custom_id and params are required")
            if not ID.fullmatch(request["custom_id"]):
                what = f"requests.{n}.custom_id: String should match pattern"
                raise Refusal(400, f"{what} '^[a-zA-Z0-9_-]{{1,64}}$'")
            if request["params"].get("stream"):
                raise Refusal(400, f"requests.{n}.params.stream: is not supported in a batch")
        calls = {r["custom_id"]: ("/v1/messages", r["params"], HEAD) for r in body["requests"]}
        if len(calls) < len(body["requests"]):
            raise Refusal(400, "requests: custom_id must be unique")
        calls = [(id, *request) for id, request in calls.items()]
        return self.add(f"msgbatch_{token_hex(6)}", calls, made_at=datetime.now(UTC))

    def shown(self, batch):
        state = "in_progress" if batch.state == "replied" else batch.state
        counts = Counter(processing=len(batch.calls))
        if state == "ended":
            counts = Counter(_kind(status) for _, status, _ in batch.results)
        at, url = batch.made_at, f"{self.url.removesuffix('/v1')}{PATH}/{batch.id}/results"
        return {
            "id": batch.id, "type": "message_batch", "processing_status": state,
            "created_at": at.isoformat(), "expires_at": (at + timedelta(days=1)).isoformat(),
            "ended_at": at.isoformat() if state == "ended" else None, "archived_at": None,
            "cancel_initiated_at": at.isoformat() if state == "canceling" else None,
            "results_url": url if state == "ended" else None,
            "request_counts": {kind: counts[kind] for kind in KINDS},
        }  # fmt: skip

    async def tick(self, id):
        """First its calls are done, and then it has ended; a cancelled one has half of them."""
        batch = self.batch(id)
        if batch.state == "canceling":
            if not batch.results:
                await self.work(batch, "canceled")
            batch.state = "ended"
        await super().tick(id)

    def line(self, call, status, body):
        result = {"type": _kind(status)}
        if status == 200:
            result["message"] = body
        elif body:
            result["error"] = body | {"request_id": "req_1"}
        return {"custom_id": call, "result": result}


def _kind(status):
    """Of a result; `status` is that of the reply, or why there is none."""
    return status if isinstance(status, str) else "succeeded" if status == 200 else "errored"
