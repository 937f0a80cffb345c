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

from agent_env.features.agents.apis.messages import MessagesApi
from tests.fake_server import Refusal
from tests.features.batch.batch_server import Batching

PATH = "/v1/messages/batches"
ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
KINDS = ("processing", "succeeded", "errored", "canceled", "expired")


class MessageBatchServer(Batching):
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
                return self._results(self.batch(id))
            case "POST", id, "cancel":
                batch = self.batch(id)
                if batch["processing_status"] == "in_progress":
                    now = datetime.now(UTC).isoformat()
                    batch |= {"processing_status": "canceling", "cancel_initiated_at": now}
                return self.shown(batch)
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
        if len({request["custom_id"] for request in body["requests"]}) < len(body["requests"]):
            raise Refusal(400, "requests: custom_id must be unique")
        now = datetime.now(UTC)
        return self.add(
            f"msgbatch_{token_hex(6)}", type="message_batch", processing_status="in_progress",
            created_at=now.isoformat(), expires_at=(now + timedelta(days=1)).isoformat(),
            ended_at=None, archived_at=None, cancel_initiated_at=None, results_url=None,
            requests=body["requests"],
        )  # fmt: skip

    def shown(self, batch):
        counts = Counter(processing=len(batch["requests"]))
        if batch["processing_status"] == "ended":
            counts = Counter(each["result"]["type"] for each in batch["results"])
        hidden = ("requests", "results", "number")
        shown = {name: batch[name] for name in batch if name not in hidden}
        return shown | {"request_counts": {kind: counts[kind] for kind in KINDS}}

    async def tick(self, id):
        """One step of the batch: first its calls are done, and then it has ended."""
        batch = self.batch(id)
        if batch["processing_status"] == "ended":
            return
        todo, has_results = batch["requests"], bool(batch["results"])
        is_canceled = batch["processing_status"] == "canceling"
        if not has_results:
            part = len(todo) // 2 if is_canceled or batch["number"] in self.expires else len(todo)
            for request in todo[:part]:
                batch["results"].append(await self._done(request))
                self.asked.append(request["custom_id"])
            left = {"type": "canceled" if is_canceled else "expired"}
            batch["results"] += [{"custom_id": r["custom_id"], "result": left} for r in todo[part:]]
        if has_results or is_canceled:
            url = f"{self.url.removesuffix('/v1')}{PATH}/{id}/results"
            batch |= {"processing_status": "ended", "results_url": url}
            batch["ended_at"] = datetime.now(UTC).isoformat()

    async def _done(self, request):
        head = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
        status, body = await self.done("/v1/messages", request["params"], head)
        result = {"type": "succeeded", "message": body}
        if status != 200:
            result = {"type": "errored", "error": body | {"request_id": "req_1"}}
        return {"custom_id": request["custom_id"], "result": result}

    def _results(self, batch):
        if batch["processing_status"] != "ended":
            raise Refusal(404, "results are not available before the batch has ended")
        lines = self.reversed(batch["results"], lambda each: each["result"]["type"] == "succeeded")
        return b"".join(json.dumps(each).encode() + b"\n" for each in lines)
