"""Anthropic's Messages API as its documents have it.

Refused beside what the codec refuses: unknown fields, thinking that is missing before calls or was
changed, a forced call while the model thinks, a way of thinking that the model does not have, more
than four marks for the cache. The cache holds prefixes up to a mark, from the model's least length
on, and is looked up 20 blocks back; a change of tool choice or thinking loses the messages, not the
tools and the system text. Not covered: media, hosted tools, schemas, expiry of the cache.
"""

from __future__ import annotations

import hashlib
import json
import re

from agent_env.features.agents.apis import messages
from agent_env.features.agents.apis.exchange import count_tokens, slices
from tests.fake_server.conversation import Refusal, Tokens, with_more
from tests.fake_server.modes import ThinkingBlocks

FIELDS = frozenset(
    "cache_control container diagnostics inference_geo max_tokens messages metadata model"
    " output_config service_tier speed stop_sequences stream system temperature thinking"
    " tool_choice tools top_k top_p".split()
)
MOST_MARKS = 4
LOOKBACK = 20
LEAST_CACHED = ((r"opus-5|fable|mythos", 512), (r"opus-4-7", 2048), (r"(opus|haiku)-4-[56]", 4096))
"""Tokens from which on a prefix is cached, by the model's name; 1,024 for others."""
BEFORE_ADAPTIVE = re.compile(r"claude-3|claude-(opus|sonnet|haiku)-4(-[0-5])?(-\d{8})?$")
ONLY_ADAPTIVE = re.compile(r"claude-\w+-(4-[78]|5)|claude-(fable|mythos)")
NO_THINKING = (
    "messages.{n}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`."
    " When `thinking` is enabled, a final `assistant` message must start with a thinking block."
)


class MessagesApi(messages.MessagesApi):
    """Reads requests and writes replies of this API."""

    opening = messages.MessagesApi.opening | {"thinking": "", "signature": ""}

    def __init__(self):
        self._cached = set()
        """Digests of the prefixes that the cache holds."""

    def read(self, body, http):
        if unknown := sorted(set(body) - FIELDS):
            raise Refusal(400, f"{unknown[0]}: Extra inputs are not permitted")
        request = super().read(body, http)
        thinks = _check_thinking(body)
        turns = messages.joined(body["messages"])
        _check_thoughts(turns, thinks)
        tools, system = body.get("tools") or [], body.get("system") or []
        system = [messages.text(system)] if isinstance(system, str) else list(system)
        return with_more(
            request,
            thinks=thinks,
            reasoning_format=ThinkingBlocks() if thinks else None,
            prompt=self._prompt(body, tools, system, turns),
        )

    def content(self, request, answer, number):
        if request.thinks and answer.reasoning is not None:
            written = ThinkingBlocks().write({}, answer.reasoning, request.nonce)
            yield from written["thinking_blocks"]
        yield from super().content(request, answer, number)

    def usage(self, tokens):
        written = getattr(tokens, "written", 0) or 0
        usage = super().usage(tokens)
        return usage | {
            "input_tokens": usage["input_tokens"] - written,
            "cache_creation_input_tokens": written,
            "cache_creation": {
                "ephemeral_5m_input_tokens": written,
                "ephemeral_1h_input_tokens": 0,
            },
        }

    def deltas(self, block):
        yield from super().deltas(block)
        for piece in slices(block.get("thinking", "")):
            yield {"type": "thinking_delta", "thinking": piece}
        if "signature" in block:
            yield {"type": "signature_delta", "signature": block["signature"]}

    def _prompt(self, body, tools, system, turns):
        """What the prompt takes, and what of it the cache held and took in."""
        ways = {name: body.get(name) for name in ("tool_choice", "thinking")}
        blocks = [*tools, *system, ways, *(block for turn in turns for block in turn["content"])]
        digest, total = hashlib.sha256(str(body["model"]).encode()), 0
        digests, sums, marks = [], [], []
        for place, block in enumerate(blocks):
            plain = json.dumps({n: block[n] for n in block if n != "cache_control"}, sort_keys=True)
            digest.update(plain.encode())
            total += 0 if block is ways else count_tokens([plain])
            digests.append(digest.hexdigest())
            sums.append(total)
            if block.get("cache_control"):
                marks.append(place)
        if body.get("cache_control"):
            marks.append(len(blocks) - 1)
        if len(marks) > MOST_MARKS:
            text = f"A maximum of {MOST_MARKS} blocks with cache_control may be provided."
            raise Refusal(400, f"{text} Found {len(marks)}.")
        looked_at = (n for place in marks for n in range(max(0, place - LOOKBACK), place + 1))
        read = max((sums[n] for n in looked_at if digests[n] in self._cached), default=0)
        least = next((n for name, n in LEAST_CACHED if re.search(name, str(body["model"]))), 1024)
        end = read
        for place in marks:
            if sums[place] >= least:
                self._cached.add(digests[place])
                end = max(end, sums[place])
        return Tokens(total, 0, cached=read, written=end - read)


def _check_thinking(body):
    """Whether the model thinks."""
    thinking, model = body.get("thinking") or {}, str(body["model"])
    kind, choice = thinking.get("type", "disabled"), body.get("tool_choice") or {}
    if kind == "disabled":
        return False
    if kind == "enabled" and ONLY_ADAPTIVE.match(model):
        what = '"thinking.type.enabled" is not supported for this model. Use'
        raise Refusal(400, f'{what} "thinking.type.adaptive" and "output_config.effort"')
    if kind == "adaptive" and BEFORE_ADAPTIVE.match(model):
        raise Refusal(400, "adaptive thinking is not supported on this model")
    if kind == "enabled" and thinking["budget_tokens"] < 1024:
        what = "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
        raise Refusal(400, what)
    if kind == "enabled" and thinking["budget_tokens"] >= body["max_tokens"]:
        raise Refusal(400, "`max_tokens` must be greater than `thinking.budget_tokens`.")
    if choice.get("type") in ("any", "tool"):
        raise Refusal(400, "Thinking may not be enabled when tool_choice forces tool use.")
    if body.get("temperature") not in (None, 1):
        raise Refusal(400, "`temperature` may only be set to 1 when thinking is enabled.")
    return True


def _check_thoughts(turns, thinks):
    last = max((n for n, turn in enumerate(turns) if turn["role"] == "assistant"), default=None)
    for n, turn in enumerate(turns):
        if turn["role"] == "assistant":
            _check_thoughts_of(n, turn["content"], is_required=thinks and n == last)


def _check_thoughts_of(n, blocks, is_required):
    thoughts = [b for b in blocks if b["type"] in ("thinking", "redacted_thinking")]
    for i, block in enumerate(blocks):
        if block["type"] == "thinking" and not block.get("signature"):
            raise Refusal(400, f"messages.{n}.content.{i}.thinking.signature: Field required")
    ids = [{"id": block["id"]} for block in blocks if block["type"] == "tool_use"]
    fault = ThinkingBlocks().fault({"thinking_blocks": thoughts, "tool_calls": ids})
    if fault == "altered":
        raise Refusal(400, f"messages.{n}.content.0: Invalid `signature` in `thinking` block")
    if fault == "missing" and is_required and ids:
        raise Refusal(400, NO_THINKING.format(n=n))
