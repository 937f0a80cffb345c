"""The server's configuration by its owner, independent of the mode."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agent_env.models.fake_server.conversation import ModelRequest, Refusal, input_tokens
from agent_env.models.fake_server.modes import FULL_VLLM_BOTH, Mode

FULL_RESPONSES = (
    "Your input exceeds the context window of this model. Please adjust your input and try again."
)


@dataclass(frozen=True, slots=True)
class Hosting:
    """The configuration; by default a server without limits that serves any model."""

    key: str | None = None
    """The only key accepted; None accepts any, or none."""
    context_tokens: int | None = None
    """The context window: tokens of prompt and reply together."""
    drops_tools: bool = False
    """Whether tools are silently dropped, as with a chat template that has none."""
    loading_s: float = 0.0
    """How long after its start the server answers that it is loading the model."""
    redirects_to: str | None = None
    """The host to which all requests are redirected, such as http://127.0.0.1:9999."""
    serves: str | None = None
    """The only model: others are refused, or it answers for them where the mode checks no model."""
    answers_as: str | None = None
    """The model's name in replies, whatever the request names."""
    hides_truncation: bool = False
    """Whether the Responses API reports truncated replies as `completed`."""
    piece_delay_s: float = 0.0
    """The delay before each piece of a streamed reply."""


def admit(
    hosting: Hosting, mode: Mode, request: ModelRequest, over_responses: bool
) -> ModelRequest:
    """The request as the model gets it; raises Refusal where the configuration does."""
    if hosting.serves is not None and request.model != hosting.serves:
        if mode.checks_model:
            text = f"The model `{request.model}` does not exist."
            raise Refusal(404, text, "model", code="model_not_found")
        request = replace(request, model=hosting.serves)
    if hosting.drops_tools:
        request = replace(request, offers=(), tool_texts=(), choice="auto")
    if hosting.context_tokens is None:
        return request
    return _fit_context(hosting.context_tokens, mode, request, over_responses)


def _fit_context(
    limit: int, mode: Mode, request: ModelRequest, over_responses: bool
) -> ModelRequest:
    tokens, most = input_tokens(request), request.max_tokens
    if tokens >= limit:
        words = FULL_RESPONSES if over_responses and mode.error_style == "openai" else mode.overflow
        extra = {}
        if mode.error_style == "llama.cpp":
            kind = "exceed_context_size_error"
            extra = {"type": kind, "n_prompt_tokens": tokens, "n_ctx": limit}
        text = words.format(limit=limit, tokens=tokens)
        field = "input_tokens" if mode.error_style == "vllm" else "messages"
        raise Refusal(400, text, field, code="context_length_exceeded", extra=extra)
    if mode.error_style == "vllm" and most is not None and tokens + most > limit:
        raise Refusal(400, FULL_VLLM_BOTH.format(limit=limit, tokens=tokens, wanted=most))
    return replace(request, max_tokens=min(most or limit, limit - tokens))
