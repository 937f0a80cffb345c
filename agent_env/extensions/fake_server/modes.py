"""Whose rules the server enforces, as data; `validation` enforces them.

Errors have the provider's own words. Where a provider documents only worse replies without the
reasoning (GLM, MiniMax, OpenRouter, vLLM), this server refuses, so that a rehearsal shows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agent_env.extensions.fake_server.conversation import ReasoningFormat
from agent_env.extensions.fake_server.reasoning import (
    CallSignature,
    Details,
    TextField,
    ThinkingBlocks,
    ThinkingParts,
    ThinkTags,
)
from agent_env.sdk.errors import ConfigError

Demand = Literal["none", "calls", "calls of this turn", "tools"]
"""Which assistant messages must carry their reasoning: those with calls, those with calls since
the last user message, or all of a request that offers tools."""
Structured = Literal["held", "strict", "whole reply", "unread", "refused"]
"""`held`: the text has it, beside tools. `strict`: and the schema must be one of the provider's
strict mode. `whole reply`: no tool is called beside it. `unread`: the same, and nothing over the
Responses API. `refused`: the server has none."""
ErrorStyle = Literal["openai", "gemini", "vllm", "llama.cpp", "mistral"]

WORSE = (
    "{field} of messages[{index}] is {fault}: it must be passed back complete and unmodified"
    " (the provider would go on with a worse reply; the fake server refuses)"
)
GEMINI_MISSING = (
    "Function call is missing a thought_signature in functionCall parts. This is required for tools"
    " to work correctly, and missing thought_signature may lead to degraded model performance."
    " Additional data, function call `default_api:{name}` , position {position}."
)
FULL_OPENAI = (
    "This model's maximum context length is {limit} tokens. However, your messages resulted in"
    " {tokens} tokens. Please reduce the length of the messages."
)
FULL_VLLM = (
    "This model's maximum context length is {limit} tokens. However, your request has {tokens}"
    " input tokens. Please reduce the length of the input messages."
    " (parameter=input_tokens, value={tokens})"
)
FULL_VLLM_BOTH = (
    "'max_tokens' or 'max_completion_tokens' is too large: {wanted}. This model's maximum context"
    " length is {limit} tokens and your request has {tokens} input tokens"
    " ({wanted} > {limit} - {tokens})."
)
FULL_LLAMA = (
    "request ({tokens} tokens) exceeds the available context size ({limit} tokens),"
    " try increasing it"
)
FULL_GEMINI = (
    "The input token count ({tokens}) exceeds the maximum number of tokens allowed ({limit})."
)


@dataclass(frozen=True, slots=True)
class Mode:
    """One provider's or server's rules."""

    about: str
    """A summary for the docs."""
    reasoning: ReasoningFormat | None = None
    """How reasoning is written; None for plain text in `reasoning` where the policy gives some."""
    split: ReasoningFormat | None = None
    """The same for requests with `reasoning_split`."""
    field: str = "reasoning"
    """The field that errors name."""
    demand: Demand = "none"
    missing: str = WORSE
    altered: str = WORSE
    refuses_echo: Literal["400", "422"] | None = None
    """The status with which reasoning in a request is refused; None where it is not."""
    forced_choice: Literal["obeyed", "ignored"] = "obeyed"
    """What becomes of tool_choice `required` or a tool's name."""
    refuses_forced: str | None = None
    """The error for a forced tool choice while thinking is on."""
    strict_fields: bool = False
    """Whether unknown fields of a request are refused."""
    forbids: frozenset[str] = frozenset()
    """Fields of a request that are refused, status 422."""
    stop: Literal["obeyed", "refused"] = "obeyed"
    """What becomes of stop sequences."""
    user_after_tool: str | None = None
    """The error for a user's message behind a tool's."""
    short_ids: bool = False
    """Whether ids of calls are nine letters or digits, and others are refused."""
    has_gaps: bool = False
    """Whether every second reply has no reasoning: null in its field, which must come back."""
    cache: Literal["none", "litellm", "openrouter"] = "none"
    """As whose usage the tokens of a prompt cache are told."""
    token_limit: Literal["any", "max_completion_tokens"] = "any"
    """The name that the length limit must have."""
    strict_order: bool = True
    """Whether every call must be answered, once, before the next turn."""
    checks_model: bool = True
    """Whether requests for other models than the one served are refused."""
    structured: Structured = "held"
    """What becomes of a request's JSON schema."""
    error_style: ErrorStyle = "openai"
    overflow: str = FULL_OPENAI

    @property
    def has_usage_option(self) -> bool:
        """Whether a stream's usage must be asked for."""
        return "stream_options" not in self.forbids


MODES: dict[str, Mode] = {
    "lenient": Mode(
        "no provider's rule on reasoning; unknown fields are ignored",
        checks_model=False,
    ),
    "openai": Mode(
        "unknown fields, max_tokens and stop are refused; over Responses encrypted_content must"
        " come back byte for byte",
        strict_fields=True,
        token_limit="max_completion_tokens",
        stop="refused",
        structured="strict",
    ),
    "deepseek": Mode(
        "where tools are offered, every assistant message must carry its reasoning_content, which"
        " is null in every second reply; tool_choice required or a name is refused while thinking",
        TextField("reasoning_content"),
        field="reasoning_content",
        demand="tools",
        missing="The `reasoning_content` in the thinking mode must be passed back to the API.",
        refuses_forced="Thinking mode does not support this tool_choice",
        has_gaps=True,
        structured="refused",
    ),
    "kimi": Mode(
        "assistant messages with calls must carry reasoning_content; tool_choice required or a"
        " name is refused while thinking",
        TextField("reasoning_content"),
        field="reasoning_content",
        demand="calls",
        missing=(
            "thinking is enabled but reasoning_content is missing in assistant tool call message"
            " at index {index}"
        ),
        refuses_forced="tool_choice '{choice}' is incompatible with thinking enabled",
    ),
    "gemini": Mode(
        "the first call of each message of this turn must carry"
        " extra_content.google.thought_signature; errors come in a list",
        CallSignature(),
        field="thought_signature",
        demand="calls of this turn",
        missing=GEMINI_MISSING,
        altered="Corrupted thought signature.",
        error_style="gemini",
        overflow=FULL_GEMINI,
    ),
    "minimax": Mode(
        "<think> text at the head of content, or with reasoning_split reasoning_details, must come"
        " back; tool_choice is ignored",
        ThinkTags(),
        split=Details("MiniMax-response-v1", encrypts=False, plain_too=False),
        field="reasoning",
        demand="calls",
        forced_choice="ignored",
    ),
    "glm": Mode(
        "reasoning_content of messages with calls must come back unmodified; tool_choice is taken"
        " for auto",
        TextField("reasoning_content"),
        field="reasoning_content",
        demand="calls",
        forced_choice="ignored",
    ),
    "openrouter": Mode(
        "reasoning_details of messages with calls must come back whole and in order, with"
        " signatures",
        Details("anthropic-claude-v1", encrypts=True, plain_too=True),
        field="reasoning_details",
        demand="calls",
        cache="openrouter",
    ),
    "litellm": Mode(
        "Anthropic behind litellm: thinking_blocks of messages with calls must come back with their"
        " signatures; streams send them in pieces without index, twice; no forced tool_choice",
        ThinkingBlocks(),
        field="thinking_blocks",
        demand="calls",
        missing="messages.{index}.content.0.type: Expected `thinking`, but found `tool_use`",
        altered="messages.{index}.content.0: Invalid `signature` in `thinking` block",
        refuses_forced="Thinking may not be enabled when tool_choice forces tool use.",
        cache="litellm",
    ),
    "mistral": Mode(
        "no user's message behind a tool's; ids of calls are nine letters or digits; seed,"
        " stream_options and max_completion_tokens are refused; thinking is a part of content",
        ThinkingParts(),
        field="content",
        forbids=frozenset({"seed", "stream_options", "max_completion_tokens"}),
        user_after_tool="Unexpected role 'user' after role 'tool'",
        short_ids=True,
        error_style="mistral",
    ),
    "vllm": Mode(
        "the field reasoning of messages with calls must come back",
        TextField("reasoning"),
        demand="calls",
        strict_order=False,
        structured="whole reply",
        error_style="vllm",
        overflow=FULL_VLLM,
    ),
    "llama.cpp": Mode(
        "its errors, and /props; reasoning need not come back",
        strict_order=False,
        checks_model=False,
        structured="unread",
        error_style="llama.cpp",
        overflow=FULL_LLAMA,
    ),
}


def mode_named(name: str) -> Mode:
    """The mode; raises ConfigError where there is none."""
    if name not in MODES:
        raise ConfigError(f"no mode {name!r} of the fake server; known: {', '.join(MODES)}")
    return MODES[name]
