# ruff: noqa: E501  # the words of servers stand on a line each
"""Refusals by size and badly written calls, in words that no list holds."""

import pytest

from agent_env.models.failures import classify, failed_call
from tests.models.raw_server import LOOKUP, ChatCompletions, ask, reply

TOO_LONG = [
    (400, "Input token count 9000 is larger than the model's context of 8192", 8192, 9000),
    # status, what the server says, the limit and the request that it tells
    (400, '<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 6000]', 6000, None),
    (400, 'Input validation error: `inputs` must have less than 1024 tokens. Given: 2260', 1024, 2260),
    (400, 'too many tokens: size limit exceeded by 1123 tokens. Try using shorter or fewer inputs. The limit for this model is 4096 tokens.', 4096, None),
    (400, 'Please reduce the length of the messages or completion.', None, None),
    (413, 'Request too large for model', None, None),
    (400, "Requested token count exceeds the model's maximum context length of 8192 tokens. You requested a total of 9000 tokens", 8192, 9000),
    (400, "The input (9000 tokens) is longer than the model's context length (8192 tokens).", 8192, 9000),
    (400, 'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again', 200000, None),
    (400, 'prompt is too long: 210000 tokens > 200000 maximum', 200000, 210000),
    (400, 'Prompt length (9000) exceeds maximum input length (8192).', 8192, 9000),
    (400, 'The prompt length 12000 exceeds the max_seq_len 8192', 8192, 12000),
    (422, 'Input is too long. Max length is 16384 tokens, got 20000', 16384, 20000),
    (400, 'Your request exceeded model token limit: 131072', 131072, None),
    (400, '1261: Prompt 超长 Prompt exceeds max length', None, None),
    (400, 'messages parameter is illegal: total tokens of messages exceed the max context window', None, None),
    (400, "This model's maximum prompt length is 131072 but the request contains 140000 tokens.", 131072, 140000),
    (400, 'Expected maxLength: 4096, actual input tokens: 5000', 4096, 5000),
    (400, 'ValidationException: Input is too long for requested model.', None, None),
    (400, 'The sequence length is too long for the context window of this model (2048)', 2048, None),
    (400, "Invalid 'input': maximum input tokens is 6000, but 7000 were given", 6000, 7000),
    (None, 'context window exceeded: the request has 9000 tokens, the window is 8192', 8192, 9000),
    (422, 'number of input tokens (9000) has exceeded max_prompt_len (8192) limit', 8192, 9000),
    (400, 'The total number of tokens exceeds the limit of 32768', 32768, None),
    (400, 'token count of the conversation (40000) is above the limit (32768)', 32768, 40000),
    (400, 'tokens in prompt too many: 40000 > 32768', 32768, 40000),
]  # fmt: skip
OTHERS = [
    (429, 'Rate limit reached for tokens per minute (TPM): Limit 6000, Used 5900, Requested 900', 'rate_limit'),
    (400, 'max_tokens is too large: 999999. This model supports at most 16384 completion tokens', 'bad_request'),
    (400, 'max_tokens must be at most 8192', 'bad_request'),
    (400, '`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for this model', 'bad_request'),
    (400, "Invalid 'stop': array too long. Expected an array with maximum length 4", 'bad_request'),
    (400, "Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64", 'bad_request'),
    (400, 'temperature must be below the maximum of 2', 'bad_request'),
    (400, 'tools: too many functions, limit is 128', 'bad_request'),
    (400, 'the number of messages exceeds the limit', 'bad_request'),
    (402, 'This request requires more credits, or fewer max_tokens. You requested up to 32000 tokens, but can only afford 200', 'authentication'),
    (400, "Invalid 'user': string too long. Expected a string with maximum length 64, input was 70", 'bad_request'),
    (400, "reasoning_effort 'max' is not supported", 'bad_request'),
    (400, 'unknown parameter: max_completion_tokens', 'bad_request'),
    (400, 'system prompt is required', 'bad_request'),
    (400, 'input tokens per day limit exceeded', 'bad_request'),
    (400, 'thinking budget of 99999 tokens is above the maximum of 24576', 'bad_request'),
    (400, 'top_logprobs limit is 20', 'bad_request'),
    (400, 'max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens', 'bad_request'),
    (400, "Invalid value for 'max_tokens': must be less than 16384", 'bad_request'),
    (400, 'The maximum value for max_output_tokens is 8192', 'bad_request'),
    (400, 'Daily token limit exceeded for organization', 'bad_request'),
    (400, 'too many requests: maximum input tokens per min reached', 'bad_request'),
    (422, 'temperature must be less than 2; input should be a number', 'bad_request'),
    (500, 'the window manager crashed with an input', 'server'),
]  # fmt: skip


@pytest.mark.parametrize(("status", "said", "limit", "request_"), TOO_LONG)
def test_a_refusal_that_speaks_of_size_and_tokens_is_an_overflow_with_its_numbers(
    status, said, limit, request_
):
    group = classify(status, said, {}, {"max_tokens": 1000})
    assert group.kind == "context_overflow"
    assert group.overflow.context_tokens == limit
    assert request_ is None or group.overflow.request_tokens == request_


@pytest.mark.parametrize(("status", "said", "kind"), OTHERS)
def test_rates_credits_and_limits_of_something_else_are_none(status, said, kind):
    assert classify(status, said, {}, {"max_tokens": 1000}).kind == kind


WRITTEN = '<function=lookup {"word": "x"}>'
BADLY = [
    (400, {"code": "tool_use_failed", "message": "Failed to call a function.",
           "failed_generation": WRITTEN}, WRITTEN),
    (400, {"message": "Failed to parse tool call arguments as JSON"}, None),
    (400, {"message": "The model produced an invalid tool call", "type": "tool_error"}, None),
    (422, {"message": "Tool call validation failed: attempted to call tool 'find'"}, None),
    (500, {"message": "Failed to parse input at pos 12: <tool_call>"}, None),
    (400, {"message": "Error while parsing the model output: unterminated string"}, None),
    (400, {"message": "could not parse function call generated by the model"}, None),
    (400, {"message": "unable to decode tool call"}, None),
    (400, {"code": "MALFORMED_FUNCTION_CALL", "message": "Malformed function call"}, None),
    (None, {"message": "tool call parsing error"}, None),
    (400, {"message": "The model produced invalid tool call JSON"}, None),
    (400, {"message": "Model output could not be parsed as a tool call"}, None),
    (400, {"message": "invalid tool call arguments generated by the model"}, None),
]  # fmt: skip
OURS = [
    "messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
    "Invalid 'tools[0].function.parameters': not a JSON schema",
    "tool_choice 'required' is not supported",
    "tool_call_id call_1 was not found",
    "does not support tools",
]


@pytest.mark.parametrize(("status", "error", "written"), BADLY)
def test_a_call_that_the_server_cannot_read_is_the_models(status, error, written):
    assert failed_call(status, error["message"], error) == (written or error["message"])


@pytest.mark.parametrize("said", OURS)
def test_a_fault_of_the_request_is_not_the_models(said):
    assert failed_call(400, said, {"message": said}) is None


def test_such_a_call_is_a_turn_with_a_tool_error():
    error = {"error": BADLY[0][1]}
    given, _ = ask(ChatCompletions, reply(error, "400 Bad Request"), tools=(LOOKUP,))
    (call,) = given.message.tool_calls
    assert (call.name, call.arguments, given.finish_reason) == ("lookup", WRITTEN, "tool_calls")
    assert call.problem.endswith('Call lookup as a tool, with arguments like {"word": "…"}')


def of(message, **usage):
    body = {"choices": [{"message": {"role": "assistant"} | message, "finish_reason": "stop"}]}
    return reply(body | {"usage": usage})


def test_counts_of_0_for_a_reply_with_a_text_are_unknown():
    given, _ = ask(ChatCompletions, of({"content": "x"}, prompt_tokens=0, completion_tokens=0))
    usage = given.usage
    assert (usage.input_tokens, usage.output_tokens, usage.source) == (None, None, None)
    given, _ = ask(ChatCompletions, of({"content": "x"}, prompt_tokens=9, completion_tokens=0))
    assert (given.usage.input_tokens, given.usage.output_tokens) == (9, None)
    given, _ = ask(ChatCompletions, of({"content": ""}, prompt_tokens=9, completion_tokens=0))
    assert (given.usage.input_tokens, given.usage.output_tokens) == (9, 0)


@pytest.mark.parametrize(
    "name",
    ["functions.lookup", "functions.lookup:0", "lookup<|channel|>commentary", " lookup", "lookup:3",
     "tools.lookup", "default_api.lookup", '"lookup"', "lookup()", "to=functions.lookup",
     "lookup <|message|>{", "lookup\n",
     "<|tool|>lookup", "assistant to=functions.lookup", "lookup</tool_call>"],
)  # fmt: skip
def test_a_name_with_something_of_a_parser_is_the_tools(name):
    calls = [{"id": "a", "function": {"name": name, "arguments": "{}"}}]
    given, _ = ask(ChatCompletions, of({"tool_calls": calls}, prompt_tokens=9), tools=(LOOKUP,))
    (call,) = given.message.tool_calls
    assert (call.name, call.written_name) == ("lookup", name)


@pytest.mark.parametrize("name", ["lookup", "look", "lookups", "other.lookup"])
def test_another_name_stays_as_it_is(name):
    calls = [{"id": "a", "function": {"name": name, "arguments": "{}"}}]
    given, _ = ask(ChatCompletions, of({"tool_calls": calls}, prompt_tokens=9), tools=(LOOKUP,))
    (call,) = given.message.tool_calls
    assert (call.name, call.written_name) == (name, None)
