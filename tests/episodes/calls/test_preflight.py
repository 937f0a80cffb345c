"""What a preflight concludes from the replies of a server, and that nothing makes it fail."""

import asyncio

import pytest

from agent_env.episodes.calls.preflight import (
    LONGER_QUESTION,
    OK_QUESTION,
    ProbedModel,
    preflight,
    refusal,
    remarks,
)
from agent_env.errors import ModelError
from agent_env.models.server_facts import ServerFacts
from agent_env.models.text_protocol import TextProtocol
from agent_env.protocols import ReplyOptions
from agent_env.records.manifest import ContextCheck, ToolCheck
from agent_env.records.schema import Condition, ToolSpec, Usage
from agent_env.testing import answer, calls

SPECS = {
    name: ToolSpec(name=name, description="A tool.", parameters={"type": "object"})
    for name in ("web_search", "python")
}
OFFERS = {("web_search",): [SPECS["web_search"]], ("python",): [SPECS["python"]]}
CONDITIONS = (
    Condition(name="base"),
    Condition(name="web", tools=("web_search",), first_step="required"),
    Condition(name="python", tools=("python",)),
)
LISTED = ServerFacts(models=("smollm2",))


class Server:
    """A Model that gives one reply without tools and others with them, whatever it is asked, but
    for what `first` has an answer to."""

    name = "compatible/smollm2"

    def __init__(self, bare=None, offered=None, first=lambda *asked: None):
        self._bare, self._offered, self._first = bare or said("OK"), offered or called(), first
        self.asked = []

    async def generate(self, messages, tools, options=ReplyOptions()):
        reply = self._first(messages, tools, options)
        self.asked.append((tuple(tool.name for tool in tools), options.tool_choice))
        in_text = messages[0].role == "system"
        reply = reply or (self._offered if tools or in_text else self._bare)
        if isinstance(reply, Exception):
            raise reply
        return reply


def used(tokens):
    return Usage(input_tokens=tokens, output_tokens=1, source="provider")


def called(name="web_search", tokens=300):
    return calls((name, "{}"), usage=used(tokens)).model_copy(update={"model": "smollm2"})


def said(text, tokens=31, model="smollm2"):
    return answer(text, used(tokens)).model_copy(update={"model": model})


def tried(server, facts=LISTED, conditions=CONDITIONS, needs=(), **target):
    """What is found out about the server."""
    target = {"name": "compatible/smollm2", "in_text": False} | target
    model = TextProtocol(server) if target["in_text"] else server
    asked = ProbedModel(base_url="http://127.0.0.1:1/v1", facts=facts, **target)
    return asyncio.run(preflight(model, asked, conditions, OFFERS, "2026-01-01T00:00:00Z", needs))


def test_one_call_without_tools_and_one_for_each_list_of_tools():
    server = Server()
    web = Condition(name="explicit+web", tools=("web_search",))
    found = tried(server, conditions=(*CONDITIONS, web))
    search = (("web_search",), "required")
    assert server.asked == [((), "auto"), search, search, (("python",), "auto")]
    assert [check.condition for check in found.conditions] == ["web", "python", "explicit+web"]


def test_a_server_that_calls_the_tools_is_good_and_one_that_ignores_required_is_told():
    found = tried(Server())
    assert found.conditions[0] == ToolCheck(
        condition="web", added_input_tokens=269, is_reached=True, required_obeyed=True,
        calls_parsed=True, problem=None,
    )  # fmt: skip
    assert (found.served_model, found.tells_usage, found.problem) == ("smollm2", True, None)
    assert refusal(found, False) is None
    assert list(remarks(found)) == []
    found = tried(Server(offered=said("I would rather not.", 300)))
    assert next(iter(remarks(found))) == (
        "no call came though one was required: web; --tool-protocol auto tries other ways to call"
    )


def test_a_call_that_only_required_asks_for_shows_whether_the_server_obeys_it():
    def first(messages, tools, options):
        return said("OK", 280) if tools and messages[-1] == OK_QUESTION else None

    found = tried(Server(first=first))
    web, python = found.conditions
    assert (web.required_obeyed, web.calls_parsed, web.is_reached) == (False, True, True)
    assert python.required_obeyed is None
    assert next(iter(remarks(found))).startswith("no call came though one was required: web; ")


@pytest.mark.parametrize(
    ("replies", "repeats"),
    [
        (("It keeps pace.", "It keeps pace."), True),
        (("It keeps pace.", "The year is long."), False),
        (("", ""), None),
    ],
)
def test_two_equal_requests_show_whether_replies_can_be_had_again(replies, repeats):
    texts = iter(replies)

    def first(messages, tools, options):
        return said(next(texts)) if messages[-1] == LONGER_QUESTION else None

    found = tried(Server(first=first), is_repeatable=True)
    assert found.repeats_replies is repeats
    two = ["two equal requests got two replies, so one question may go either way; --repeats 3 "
           "asks each three times"]  # fmt: skip
    assert [each for each in remarks(found) if "equal requests" in each] == (
        two if repeats is False else []
    )
    assert tried(Server(), is_repeatable=False).repeats_replies is None


def test_a_server_that_drops_or_refuses_the_tools_is_refused():
    deaf = ServerFacts(models=("smollm2",), supports_tools=False)
    found = tried(Server(offered=said("OK")), deaf)
    assert found.conditions[1].problem == (
        "the server drops its tools (31 input tokens with tools, 31 without, its template knows no "
        "tools)"
    )
    reason = refusal(found, False)
    assert reason.startswith("http://127.0.0.1:1/v1: condition web, python cannot mean anything: ")
    assert "--tool-protocol auto" in reason
    assert "--anyway" in reason
    assert "\n" not in reason
    error = ModelError("HTTP 400: no tool parser;\n use --tool-protocol text", kind="bad_request")
    reason = refusal(tried(Server(offered=error)), False)
    assert reason == (
        "http://127.0.0.1:1/v1: condition web, python cannot mean anything: the server refuses its "
        "tools: HTTP 400: no tool parser; use --tool-protocol text; --anyway runs it and marks it "
        "in every table"
    )


@pytest.mark.parametrize(
    "error",
    [
        ModelError("HTTP 429", kind="rate_limit", retryable=True, retry_after_s=3600.0),
        ModelError("a broken reply", kind="unreadable", retryable=True),
        ModelError("HTTP 500", kind="server", retryable=True),
        ValueError("a policy that fails"),
        TimeoutError(),
    ],
)
def test_what_an_error_hides_is_unknown_and_said(error):
    for bare in (error, None):
        found = tried(Server(bare, error))
        assert [(c.added_input_tokens, c.is_reached, c.required_obeyed, c.calls_parsed, c.problem)
                for c in found.conditions] == [(None,) * 5] * 2  # fmt: skip
        assert refusal(found, False) is None
        assert "not checked, as a test call failed: " in "".join(remarks(found))


@pytest.mark.parametrize(
    ("gives", "name", "counts"),
    [
        ("schema", "schema", "0 of 2, text 0 of 2, schema 2 of 2"),
        ("text", "text", "0 of 2, text 2 of 2"),
        ("none", "native", "0 of 2, text 0 of 2, schema 0 of 2"),
    ],
)
def test_auto_takes_the_protocol_by_which_most_calls_come(gives, name, counts):
    def first(messages, tools, options):
        tool = "python" if '"python"' in messages[0].content else "web_search"
        if gives == "schema" and options.schema is not None:
            return said(f'{{"step": {{"tool": "{tool}", "arguments": {{}}}}}}', 300)
        if gives == "text" and messages[0].role == "system":
            return said(f'```json\n{{"name": "{tool}", "arguments": {{}}}}\n```', 300)
        return None

    found = tried(Server(offered=said("I would rather not.", 300), first=first), is_open=True)
    assert (found.protocol.name, found.protocol.reason) == (
        name,
        f"calls that came: native {counts}",
    )
    parsed = None if gives == "none" else True
    assert [check.calls_parsed for check in found.conditions] == [parsed] * 2


def test_the_text_protocol_is_tried_under_a_schema_where_the_run_has_one():
    schemas = []

    def first(messages, tools, options):
        schemas.append(options.schema is not None)

    held = [c.model_copy(update={"answer_format": "schema"}) for c in CONDITIONS]
    for conditions in (held, CONDITIONS):
        tried(Server(offered=said("no call"), first=first), conditions=conditions, in_text=True)
    assert schemas == [False, True, True, False, False, False]


def test_a_refusal_that_teaches_something_is_asked_again_at_once():
    error = ModelError("unknown field", status=400, retryable=True, is_corrected=True)
    errors = iter([error])
    found = tried(Server(first=lambda *asked: next(errors, None)))
    assert [probe.error for probe in found.probes] == [None, None, None, None]


NO_MODEL = "the server has no model nonexistent: it serves smollm2, "
ECHO = said("OK", model="nonexistent")
BARE_CALL = '{"name": "web_search", "arguments": {}}'


@pytest.mark.parametrize(
    ("replies", "about", "problem", "remark"),
    [
        ((said("OK"), called()), {"name": "compatible/nonexistent"},
         f"{NO_MODEL}and smollm2 answers", None),
        ((ECHO, ECHO), {"name": "compatible/nonexistent",  # as llama.cpp answers
                        "facts": ServerFacts(models=("smollm2",), is_single=True)},
         f"{NO_MODEL}and answers any name", None),
        ((said("OK", model="gpt-4o"), said("OK", 300, "gpt-4o")), {},
         None, "the server calls the model gpt-4o, not smollm2"),
        ((said("OK"), said(f"<tool_call>{BARE_CALL}</tool_call>", 300)), {}, None,
         "the call of web_search came as text (<tool_call>): take --tool-protocol auto, or start "
         "the server with a parser that fits the model (vLLM, SGLang: --tool-call-parser; "
         "llama.cpp: --chat-template-file, whose form of a call is the model's)"),
        ((said("OK"), said(BARE_CALL, 300)), {"in_text": True}, None,
         "the call of web_search came as text (bare JSON): take --answer-format schema, where the "
         "server holds replies to one"),
    ],
)  # fmt: skip
def test_another_model_and_a_call_in_text_are_said_with_the_remedy(replies, about, problem, remark):
    found = tried(Server(*replies), **about)
    assert found.problem == problem
    if problem is not None:
        assert refusal(found, False).endswith("; name --model compatible/smollm2")
    else:
        assert next(iter(remarks(found, in_text="in_text" in about))) == remark
        is_written = [check.calls_parsed is False for check in found.conditions]
        assert (is_written[0], all(is_written)) == ("as text" in remark, "<tool" in remark)
        assert refusal(found, False) is None


KEY = ModelError("http://h/v1 answered HTTP 401: no; check the API key", kind="authentication")
ABSENT = ModelError("http://h/v1 answered HTTP 404: no", status=404, kind="bad_request")


@pytest.mark.parametrize(
    ("error", "models", "reason"),
    [
        (KEY, ("smollm2",), str(KEY)),
        (ABSENT, None, str(ABSENT)),
        (ABSENT, ("a", "b", "c", "d", "e", "smollm3"),
         "http://127.0.0.1:1/v1: the server has no model smollm2: it serves smollm3, a, b, c, d; "
         "name one of these"),
    ],
)  # fmt: skip
def test_a_server_that_refuses_the_key_or_the_model_is_asked_no_question(error, models, reason):
    found = tried(Server(error, error), ServerFacts(models=models))
    assert (refusal(found, False), list(remarks(found))) == (reason, [found.problem])


def test_a_proxy_may_serve_what_it_does_not_list_and_a_short_context_is_said():
    offered = called().model_copy(update={"model": "nonexistent"})
    found = tried(Server(ECHO, offered), name="compatible/nonexistent")
    assert found.problem is None
    assert list(remarks(found)) == ["the server's list of models has no nonexistent"]
    needs = [
        ContextCheck(condition="base", first_tokens=300, needed_tokens=600),
        ContextCheck(condition="web", first_tokens=900, needed_tokens=2700),
    ]
    found = tried(Server(), ServerFacts(context_tokens=2048), needs=needs)
    assert [check.fits for check in found.contexts] == [True, False]
    assert list(remarks(found)) == [
        "web: the context of 2048 tokens is shorter than a request and its reply need (about "
        "2700); raise it (llama.cpp: -c, for each slot; vLLM: --max-model-len)"
    ]


@pytest.mark.parametrize(
    ("finish_reason", "stops"), [("stop", True), ("length", False), (None, None)]
)
def test_a_reply_without_an_end_is_said(finish_reason, stops):
    reply = said("OK").model_copy(update={"finish_reason": finish_reason})
    found = tried(Server(reply))
    assert found.stops is stops
    cut = ["the reply to a test had no end within 256 tokens: the model thinks long, or does not "
           "stop (a wrong chat template)"]  # fmt: skip
    assert list(remarks(found)) == ([] if stops is not False else cut)
