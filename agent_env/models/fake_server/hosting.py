"""How the server is set up: what its owner chose, or got wrong, under anybody's rules."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agent_env.models.fake_server.modes import FULL_VLLM_BOTH, Mode
from agent_env.models.fake_server.talk import Asked, Refusal, input_tokens

FULL_RESPONSES = (
    "Your input exceeds the context window of this model. Please adjust your input and try again."
)


@dataclass(frozen=True, slots=True)
class Hosting:
    """The owner's choices; by default a server without limits that serves any model."""

    key: str | None = None
    """The only key that is taken; None takes any, or none."""
    context_tokens: int | None = None
    """What the prompt and the reply may have together."""
    drops_tools: bool = False
    """Whether tools never reach the prompt, without a word, as where a chat template has none."""
    loading_s: float = 0.0
    """How long after its start the server says that it loads the model."""
    redirects_to: str | None = None
    """The host to which every request is sent on, such as http://127.0.0.1:9999."""
    serves: str | None = None
    """The one model there is: others are refused, or, in modes that do not look, it answers."""
    answers_as: str | None = None
    """The model's name in replies, whatever was asked for."""
    hides_truncation: bool = False
    """Whether Responses says `completed` of replies that were cut at their limit."""
    piece_delay_s: float = 0.0
    """The wait before each piece of a streamed reply."""


def admitted(hosting: Hosting, mode: Mode, asked: Asked, over_responses: bool) -> Asked:
    """The request as it reaches the model; raises Refusal where it does not."""
    if hosting.serves is not None and asked.model != hosting.serves:
        if mode.checks_model:
            text = f"The model `{asked.model}` does not exist."
            raise Refusal(404, text, "model", code="model_not_found")
        asked = replace(asked, model=hosting.serves)
    if hosting.drops_tools:
        asked = replace(asked, offers=(), tool_texts=(), choice="auto")
    if hosting.context_tokens is None:
        return asked
    return _fitted(hosting.context_tokens, mode, asked, over_responses)


def _fitted(limit: int, mode: Mode, asked: Asked, over_responses: bool) -> Asked:
    tokens, wanted = input_tokens(asked), asked.max_tokens
    if tokens >= limit:
        words = FULL_RESPONSES if over_responses and mode.error_style == "openai" else mode.overflow
        extra = {}
        if mode.error_style == "llama.cpp":
            kind = "exceed_context_size_error"
            extra = {"type": kind, "n_prompt_tokens": tokens, "n_ctx": limit}
        text = words.format(limit=limit, tokens=tokens)
        field = "input_tokens" if mode.error_style == "vllm" else "messages"
        raise Refusal(400, text, field, code="context_length_exceeded", extra=extra)
    if mode.error_style == "vllm" and wanted is not None and tokens + wanted > limit:
        raise Refusal(400, FULL_VLLM_BOTH.format(limit=limit, tokens=tokens, wanted=wanted))
    return replace(asked, max_tokens=min(wanted or limit, limit - tokens))
