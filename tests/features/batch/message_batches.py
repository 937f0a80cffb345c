"""The fake server with Anthropic's Message Batches, as documented.

Refused: a request without its headers or with unknown fields, an id that is not one, is there
twice, or is too long, streams, too many or too large requests, results of a batch that has not
ended. A batch is in progress, or canceling, until it has ended; its counts are of the end alone.
Results come in another order. A call that the API would refuse has errored, and the others have
not.
"""

import json
import re
from datetime import UTC, datetime, timedelta
from secrets import token_hex

from agent_env.features.agents.apis.exchange import as_json
from agent_env.features.agents.apis.messages import MessagesApi
from tests.fake_server import Refusal
from tests.features.batch.batch_server import Batching

PATH = "/v1/messages/batches"
ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
KINDS = ("processing", "succeeded", "errored", "canceled", "expired")


class MessageBatchServer(Batching):
    def __init__(self, *args, most_calls=100_000, most_bytes=256_000_000, **kwargs):
        super().__init__(*args, most_calls=most_calls, most_bytes=most_bytes, **kwargs)

    async def _route(self, channel, http, apis):
        if not http.path.startswith(PATH):
            await super()._route(channel, http, apis)
            return
        if http.keys <= {""}:
            raise Refusal(401, "invalid x-api-key")
        if not http.headers.get("anthropic-version"):
            raise Refusal(400, "anthropic-version: header is required")
        match http.method, http.path.removeprefix(PATH).split("/")[1:]:
            case "POST", []:
                reply = self.kept(self._create(http.body))
            case "GET", []:
                for id in self.batches if self.moves else ():
                    await self.tick(id)
                data = [self._shown(batch) for batch in reversed(self.batches.values())]
                ends = [each["id"] for each in data[:1] + data[-1:]] or [None, None]
                reply = {"data": data, "has_more": False, "first_id": ends[0], "last_id": ends[-1]}
            case "GET", [id]:
                if self.moves:
                    await self.tick(id)
                reply = self._shown(self.batch(id))
            case "GET", [id, "results"]:
                await channel.reply(200, self._results(self.batch(id)), "application/x-jsonl")
                return
            case "POST", [id, "cancel"]:
                reply = self._cancel(self.batch(id))
            case _:
                raise Refusal(404, f"nothing at {http.method} {http.path}")
        await channel.reply(200, as_json(reply))

    async def _refuse(self, channel, refusal, apis):
        await super()._refuse(channel, refusal, [MessagesApi()])

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
        ids = [request["custom_id"] for request in body["requests"]]
        if len(set(ids)) < len(ids):
            raise Refusal(400, "requests: custom_id must be unique")
        id, now = f"msgbatch_{token_hex(6)}", datetime.now(UTC)
        self.batches[id] = {
            "id": id, "type": "message_batch", "processing_status": "in_progress",
            "created_at": now.isoformat(), "expires_at": (now + timedelta(days=1)).isoformat(),
            "ended_at": None, "archived_at": None, "cancel_initiated_at": None,
            "results_url": None, "requests": body["requests"], "results": [],
            "number": len(self.batches) + 1,
        }  # fmt: skip
        return self._shown(self.batches[id])

    def _shown(self, batch):
        counts = dict.fromkeys(KINDS, 0)
        if batch["processing_status"] == "ended":
            for each in batch["results"]:
                counts[each["result"]["type"]] += 1
        else:
            counts["processing"] = len(batch["requests"])
        hidden = ("requests", "results", "number")
        return {n: batch[n] for n in batch if n not in hidden} | {"request_counts": counts}

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
        good = [each for each in batch["results"] if each["result"]["type"] == "succeeded"]
        bad = [each for each in batch["results"] if each["result"]["type"] != "succeeded"]
        lines = [*bad, *self.spoil(good)]
        return b"".join(json.dumps(each).encode() + b"\n" for each in reversed(lines))

    def _cancel(self, batch):
        if batch["processing_status"] == "in_progress":
            batch["processing_status"] = "canceling"
            batch["cancel_initiated_at"] = datetime.now(UTC).isoformat()
        return self._shown(batch)
