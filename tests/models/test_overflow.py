"""Errors that say that a conversation is too long, in the words of the servers."""

import pytest

from agent_env.models.error_classes import classify
from agent_env.models.overflow import Overflow, overflow

SAID = [
    # OpenAI, both APIs
    (400, "This model's maximum context length is 8192 tokens. However, your messages resulted in "
     "9001 tokens. Please reduce the length of the messages.", 8192, 9001),
    (None, "Your input exceeds the context window of this model. Please adjust your input and try "
     "again.", None, None),
    # vLLM, older and newer
    (400, "This model's maximum context length is 16384 tokens. However, you requested 122946 "
     "tokens (112946 in the messages, 10000 in the completion).", 16384, 122946),
    (400, "The decoder prompt (length 21535) is longer than the maximum model length of 16384. "
     "Make sure that `max_model_len` is no smaller than the number of text tokens.", 16384, 21535),
    (400, "The prompt (total length 25938) is too long to fit into the model (context length "
     "4096).", 4096, 25938),
    (400, "'max_tokens' or 'max_completion_tokens' is too large: 900. This model's maximum context "
     "length is 4096 tokens and your request has 4000 input tokens (900 > 4096 - 4000).",
     4096, 4000),
    # llama.cpp, and its Python server
    (400, "request (5012 tokens) exceeds the available context size (4096 tokens), try increasing "
     "it", 4096, 5012),
    (500, "the request exceeds the available context size. try increasing the context size or "
     "enable context shift", None, None),
    (400, "Requested tokens (2285) exceed context window of 2048", 2048, None),
    # Ollama
    (400, "the input length exceeds the context length", None, None),
    (400, "prompt too long; exceeded max context length by 12 tokens", None, None),
    # litellm
    (400, "litellm.ContextWindowExceededError: litellm.BadRequestError: OpenAIException", None,
     None),
    # SGLang
    (400, "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
     4096, 5000),
    (400, "Requested token count exceeds the model's maximum context length of 4096 tokens. You "
     "requested a total of 5096 tokens: 4096 tokens from the input messages and 1000 tokens for "
     "the completion.", 4096, 5096),
    # TGI
    (422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 3474 "
     "`inputs` tokens and 60 `max_new_tokens`", 2048, 3474),
    (422, "Input validation error: `inputs` must have less than 1024 tokens. Given: 1168", 1024,
     1168),
    # Anthropic, Gemini, xAI, Moonshot
    (400, "prompt is too long: 210000 tokens > 200000 maximum", 200000, 210000),
    (400, "The input token count (1200000) exceeds the maximum number of tokens allowed "
     "(1048576).", 1048576, 1200000),
    (400, "This model's maximum prompt length is 131072 but the request contains 150000 tokens.",
     131072, 150000),
    (400, "Invalid request: Your request exceeded model token limit: 8192", 8192, None),
]  # fmt: skip


@pytest.mark.parametrize(("status", "said", "context", "request_"), SAID)
def test_an_overflow_is_known_by_its_words_with_the_sizes_that_they_tell(
    status, said, context, request_
):
    assert overflow(status, said, {}) == Overflow(context, request_)
    assert classify(status, said, {}, {}).kind == "context_overflow"


def test_llama_cpp_tells_the_sizes_in_fields():
    error = {"type": "exceed_context_size_error", "n_prompt_tokens": 1407, "n_ctx": 256}
    assert overflow(400, "too long", error) == Overflow(256, 1407)


def test_a_reply_that_may_be_as_long_as_the_context_is_a_mistake_in_the_request():
    said = "max_tokens is too large: 5000. This model's maximum context length is 4096 tokens"
    group = classify(400, said, {}, {"max_tokens": 5000})
    assert (group.kind, group.advice) == (
        "bad_request", "lower --max-output-tokens far below 4096",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "temperature must be at most 2"),
        (429, "Rate limit reached: context length 8192"),
        (401, "maximum context"),
        (500, "Context size has been exceeded."),  # of all slots together: it may pass
    ],
)
def test_other_errors_are_none(status, said):
    assert overflow(status, said, {}) is None
