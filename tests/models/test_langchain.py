"""Chat models of LangChain: one of our own, whose requests are kept, and those of three packages
against the fake server."""

import asyncio

import pytest
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

from agent_env.errors import ConfigError, ModelError
from agent_env.models.function import NOT_KNOWN, ChatModelMaker, model_of
from agent_env.models.settings import ModelSettings
from agent_env.protocols import ReplyOptions
from agent_env.records.schema import Message, ToolCall, ToolSpec, Usage
from agent_env.registry import NO_PLUGINS
from agent_env.wiring.models import head_of, make_model, not_known_of
from agent_env.wiring.trust import own_plugins
from tests.fake_server import FakeServer
from tests.fake_server.talk import agent

SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
SEARCH = ToolSpec(name="web_search", description="Searches.", parameters=SCHEMA)
USER = Message(role="user", content="Which day was it?")


class Spoken(BaseChatModel):
    """Gives its answers one after the other; raises those that are errors."""

    model: str = "m"
    temperature: float | None = None
    max_retries: int = 6
    answers: list = Field(default_factory=list)
    heard: list = Field(default_factory=list)

    @property
    def _llm_type(self):
        return "spoken"

    def bind_tools(self, tools, **keywords):
        return self.bind(tools=tools, **keywords)

    def _generate(self, messages, stop=None, run_manager=None, **keywords):
        self.heard.append((messages, stop, keywords))
        answer = self.answers[len(self.heard) - 1]
        if isinstance(answer, Exception):
            raise answer
        return ChatResult(generations=[ChatGeneration(message=answer)])


def ask(model, messages, tools=(), options=ReplyOptions()):
    return asyncio.run(model.generate(messages, tools, options))


def spoken(*answers):
    thing = Spoken(answers=list(answers), heard=[])
    return thing, model_of(thing, "mine")()


THINKING = {"type": "thinking", "thinking": "I look.", "signature": "c2ln"}
SYSTEM = Message(role="system", content="Be brief.")


def test_a_reply_is_read_with_its_thoughts_its_calls_its_usage_and_why_it_ended():
    usage = {"input_tokens": 50, "output_tokens": 9, "total_tokens": 59}
    usage |= {"input_token_details": {"cache_read": 30, "cache_creation": 10}}
    about = {"stop_reason": "tool_use", "model_name": "m-1", "model_provider": "anthropic"}
    answer = AIMessage(
        content=[THINKING, {"type": "text", "text": "Wait."}],
        tool_calls=[{"name": "web_search", "args": {"query": "ä"}, "id": "a"}],
        invalid_tool_calls=[{"name": "web_search", "args": '{"que', "id": "b", "error": "cut"}],
        usage_metadata=usage | {"output_token_details": {"reasoning": 4}},
        response_metadata=about,
    )
    got = ask(spoken(answer)[1], [USER], [SEARCH])
    assert (got.message.content, got.message.reasoning) == ("Wait.", "I look.")
    assert got.message.tool_calls == (
        ToolCall(id="a", name="web_search", arguments='{"query": "ä"}'),
        ToolCall(id="b", name="web_search", arguments='{"que'),
    )
    assert (got.finish_reason, got.model) == ("tool_calls", "m-1")
    assert got.usage == Usage(
        input_tokens=50, cached_tokens=30, cache_write_tokens=10, output_tokens=9,
        reasoning_tokens=4, source="provider",
    )  # fmt: skip


def test_what_the_model_said_goes_back_as_it_was_and_what_another_said_as_text_and_calls():
    call = {"name": "web_search", "args": {"query": "x"}, "id": "a", "type": "tool_call"}
    first = AIMessage(content=[THINKING], tool_calls=[call], additional_kwargs={"mark": "c2ln"})
    thing, model = spoken(first, AIMessage(content="Friday"), AIMessage(content="Friday"))
    options = ReplyOptions("required", stop=("END",))
    said = ask(model, [SYSTEM, USER], [SEARCH], options).message
    stored = Message.model_validate_json(said.model_dump_json())
    found = Message(role="tool", content="found", tool_call_id="a")
    ask(model, [SYSTEM, USER, stored, found], [SEARCH])
    theirs = stored.model_copy(update={"provider_fields": None, "content": "Wait."})
    ask(model, [USER, theirs, found])
    (_, stop, chosen), (messages, _, keywords), (others, *_) = thing.heard
    kinds = [SystemMessage, HumanMessage, AIMessage, ToolMessage]
    assert [type(each) for each in messages] == kinds
    _, _, own, result = messages
    assert (own.content, own.additional_kwargs) == ([THINKING], {"mark": "c2ln"})
    assert own.tool_calls == [call]
    assert (result.content, result.tool_call_id) == ("found", "a")
    assert (stop, chosen["tool_choice"], "tool_choice" in keywords) == (["END"], "any", False)
    assert (others[1].content, others[1].tool_calls) == ("Wait.", [call])


@pytest.mark.parametrize(
    ("about", "reason"),
    [
        ({"finish_reason": "length"}, "length"),
        ({"stop_reason": "refusal"}, "refused"),
        ({"finish_reason": "SAFETY"}, "refused"),
        ({"done_reason": "stop"}, "stop"),
        ({"stopReason": "end_turn"}, "stop"),
        ({}, None),
    ],
)
def test_reasons_to_stop_are_ours(about, reason):
    answer = AIMessage(content="x", response_metadata=about)
    got = ask(spoken(answer)[1], [USER])
    assert (got.finish_reason, got.usage) == (reason, Usage())


class OfServer(Exception):
    def __init__(self, status_code, body, **headers):
        super().__init__("a text")
        self.status_code, self.body = status_code, body
        self.response = type("Response", (), {"headers": headers})


@pytest.mark.parametrize(
    ("error", "kind", "retryable", "wait_s"),
    [
        (OfServer(429, {"message": "Slow."}, **{"retry-after": "7"}), "rate_limit", True, 7.0),
        (OfServer(500, None), "server", True, None),
        (OfServer(400, {"message": "maximum context length is 10 tokens"}), "context_overflow",
         False, None),
        (TimeoutError("late"), "timeout", True, None),
        (ConnectionRefusedError("no"), "connection", True, None),
        (ValueError("odd"), "bad_request", False, None),
    ],
)  # fmt: skip
def test_errors_are_ours(error, kind, retryable, wait_s):
    with pytest.raises(ModelError) as caught:
        ask(spoken(error)[1], [USER])
    failure = caught.value
    assert (failure.kind, failure.retryable, failure.retry_after_s) == (kind, retryable, wait_s)


def made(**parameters):
    return ChatModelMaker(Spoken, "mine")("m-2", ModelSettings.read(parameters), None)._model


def test_a_class_gets_the_settings_that_it_knows_and_no_retries():
    model = made(temperature=0.5, extra_body={"answers": [1]})
    assert (model.model, model.temperature, model.max_retries) == ("m-2", 0.5, 0)
    assert model.answers == [1]


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"seed": 1}, "mine has no seed"),
        ({"stream": True}, "--stream, --hosted-tools and --system-role are not for LangChain"),
        ({"extra_body": {"headers": {"X-Api-Key": "s"}}}, "X-Api-Key would be stored"),
        ({"extra_body": {"temperature": "hot"}}, "mine/m-2: ValidationError"),
    ],
)
def test_what_a_class_cannot_be_made_with_is_the_users_mistake(parameters, words):
    with pytest.raises(ConfigError, match=words):
        made(**parameters)


def test_its_name_is_a_modules_class_and_its_code_and_keywords_want_a_permit(monkeypatch):
    name = "langchain:tests.models.test_langchain:Spoken/m:2"
    assert head_of(name) == ("tests.models.test_langchain:Spoken", "m:2")
    assert not_known_of(name, own_plugins()) == NOT_KNOWN
    monkeypatch.setenv("SPOKEN_KEY", "sk-spoken")
    with pytest.raises(ConfigError, match="has no api_key"):
        make_model(name, None, {"api_key_env": "SPOKEN_KEY"}, own_plugins())
    with pytest.raises(ConfigError, match=r"the code tests.models.test_langchain:Spoken is not"):
        make_model(name, None, {}, NO_PLUGINS)


@pytest.mark.parametrize(
    ("package", "kind", "mode", "path"),
    [
        ("langchain_openai", "ChatOpenAI", "lenient", "/v1"),
        ("langchain_anthropic", "ChatAnthropic", "lenient", ""),
        ("langchain_mistralai", "ChatMistralAI", "mistral", "/v1"),
        ("langchain_google_genai", "ChatGoogleGenerativeAI", "gemini", ""),
    ],
)
def test_real_packages_call_tools_and_send_back_what_the_server_wants(
    monkeypatch, package, kind, mode, path
):
    """The server refuses what is lost on the way: signatures, ids, the order of results."""
    pytest.importorskip(package, reason="langchain's packages are tested by .ci/integrations")
    monkeypatch.setenv("A_KEY", "k")
    more = {"ChatGoogleGenerativeAI": {"include_thoughts": True}}

    async def run():
        async with FakeServer(agent, mode=mode) as server:
            url = server.url.removesuffix("/v1") + path
            fields = {"base_url": url} | more.get(kind, {})
            parameters = {"extra_body": fields, "api_key_env": "A_KEY", "temperature": 0.0}
            name = f"langchain:{package}:{kind}/gemini-3-pro-preview"
            model = make_model(name, None, parameters, own_plugins())
            messages, calls = [USER], []
            while True:
                first = "auto" if calls else "required"
                got = await model.generate(messages, [SEARCH], ReplyOptions(first))
                calls.append(len(got.message.tool_calls))
                messages.append(got.message)
                messages += [
                    Message(role="tool", content="found", tool_call_id=call.id)
                    for call in got.message.tool_calls
                ]
                if not got.message.tool_calls:
                    return calls, got

    calls, got = asyncio.run(run())
    assert (calls, got.message.content, got.finish_reason) == ([2, 1, 0], "Friday", "stop")
    assert got.usage.input_tokens > 0
    assert got.usage.source == "provider"
