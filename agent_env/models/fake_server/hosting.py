"""The server's configuration by its owner, independent of the mode."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from agent_env.models.fake_server.conversation import ModelRequest, Refusal, input_tokens
from agent_env.models.fake_server.modes import FULL_VLLM_BOTH, Mode
from agent_env.records.options import Opt

FULL_RESPONSES = (
    "Your input exceeds the context window of this model. Please adjust your input and try again."
)


@dataclass(frozen=True, slots=True)
class Hosting:
    """The configuration; by default a server without limits that serves any model."""

    key: Annotated[str | None, Opt("The only API key that is taken.")] = None
    """None accepts any key, or none."""
    serves: Annotated[
        str | None,
        Opt(
            "The one model: others are refused, by lenient and llama.cpp replaced.",
            flag="--serve-model",
        ),
    ] = None
    answers_as: Annotated[
        str | None,
        Opt("The model's name in replies, whatever the request names.", flag="--answer-as"),
    ] = None
    context_tokens: Annotated[
        int | None, Opt("Tokens of prompt and reply; more is an error.", flag="--context", min=1)
    ] = None
    drops_tools: Annotated[
        bool, Opt("Drop tools from the prompt without an error.", flag="--drop-tools")
    ] = False
    loading_s: Annotated[float, Opt("Answer 503 `Loading model` for so many seconds.", min=0.0)] = (
        0.0
    )
    piece_delay_s: Annotated[
        float, Opt("Seconds before each piece of a streamed reply.", min=0.0)
    ] = 0.0
    redirects_to: Annotated[
        str | None,
        Opt("Redirect each request, such as to http://127.0.0.1:9999.", flag="--redirect-to"),
    ] = None
    hides_truncation: Annotated[
        bool,
        Opt("Responses: report truncated replies as `completed`.", flag="--hide-truncation"),
    ] = False


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
