"""Spans arrive at a real collector over HTTP, by the GenAI conventions."""

import json
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from agent_env.errors import ConfigError, StorageError
from agent_env.extensions.interop.export.otel import Collector, send
from tests.extensions.interop.export.runs import a_run, source_of
from tests.noting_server import answering

protocol = pytest.importorskip(
    "opentelemetry.proto.collector.trace.v1.trace_service_pb2", reason="needs the extra otel"
)


class Stub(HTTPServer):
    """A collector that keeps what it gets."""

    status = 200

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.spans = []
        self.schemas = set()
        self.paths = []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        data = self.rfile.read(int(self.headers["content-length"]))
        stub = self.server
        asked = protocol.ExportTraceServiceRequest.FromString(data)
        stub.paths.append(self.path)
        for resource in asked.resource_spans:
            for scope in resource.scope_spans:
                stub.schemas.add(scope.schema_url)
                stub.spans.extend(scope.spans)
        self.send_response(stub.status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        return None


@pytest.fixture
def stub():
    with answering(Stub()) as (server,):
        yield server


def _attributes(span):
    found = {}
    for pair in span.attributes:
        kind = pair.value.WhichOneof("value")
        value = getattr(pair.value, kind)
        found[pair.key] = [v.string_value for v in value.values] if kind == "array_value" else value
    return found


def _right(stub):
    root = next(s for s in stub.spans if _attributes(s).get("agent_env.sample") == "right")
    return [span for span in stub.spans if span.trace_id == root.trace_id]


def test_an_episode_is_a_trace_of_agent_chat_and_tool_spans(stub, tmp_path):
    assert send(source_of(a_run(tmp_path)), Collector(stub.url)) == {"spans": 9}
    assert stub.paths == ["/v1/traces"]
    spans = _right(stub)
    assert [span.name for span in spans] == [
        "invoke_agent agent-env", "chat gpt-5", "chat gpt-5", "execute_tool web_search",
        "chat gpt-5",
    ]  # fmt: skip
    assert {span.parent_span_id for span in spans[1:]} == {spans[0].span_id}
    assert spans[2].end_time_unix_nano - spans[2].start_time_unix_nano == 250_000_000
    events = {_attributes(e)["gen_ai.evaluation.name"]: e for e in spans[0].events}
    assert _attributes(events["exact_match"])["gen_ai.evaluation.score.value"] == 1.0
    assert all(
        spans[0].start_time_unix_nano <= s.start_time_unix_nano <= s.end_time_unix_nano
        for s in spans
    )


def test_usage_and_names_follow_the_conventions(stub, tmp_path):
    send(source_of(a_run(tmp_path)), Collector(stub.url))
    agent, failed, chat, tool, _ = map(_attributes, _right(stub))
    assert agent["gen_ai.usage.input_tokens"] == 235
    assert (agent["agent_env.outcome"], agent["agent_env.score.exact_match"]) == ("read", 1.0)
    assert chat["gen_ai.operation.name"] == "chat"
    assert chat["gen_ai.provider.name"] == "openai"
    assert chat["gen_ai.response.model"] == "gpt-5-2026"
    assert chat["gen_ai.usage.input_tokens"] == 100
    assert chat["gen_ai.usage.cache_read.input_tokens"] == 40
    assert chat["gen_ai.response.finish_reasons"] == ["tool_calls"]
    assert failed["error.type"] == "rate_limit"
    assert tool["gen_ai.tool.name"] == "web_search"
    assert "gen_ai.tool.call.result" not in tool
    assert "gen_ai.input.messages" not in chat


def test_every_span_tells_the_conventions_that_it_follows(stub, tmp_path):
    """Each name is one of theirs, by OpenTelemetry's own list, or begins with ours."""
    from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
    from opentelemetry.semconv.schemas import Schemas

    send(source_of(a_run(tmp_path)), Collector(stub.url, content=True))
    assert stub.schemas == {"https://opentelemetry.io/schemas/1.41.1"}
    assert stub.schemas <= {schema.value for schema in Schemas}
    parts = [part for span in stub.spans for part in (span, *span.events)]
    names = {name for part in parts for name in _attributes(part)}
    known = {value for value in vars(gen_ai_attributes).values() if isinstance(value, str)}
    assert {n for n in names - known if not n.startswith("agent_env.")} == {"error.type"}


def test_what_was_said_is_sent_only_where_it_is_asked_for(stub, tmp_path):
    send(source_of(a_run(tmp_path)), Collector(stub.url, content=True))
    agent, _, chat, tool, _ = map(_attributes, _right(stub))
    assert "Which day was it?" in agent["gen_ai.input.messages"]
    (reply,) = json.loads(chat["gen_ai.output.messages"])
    assert (reply["role"], reply["finish_reason"]) == ("assistant", "tool_call")
    assert reply["parts"][1] == {"type": "text", "content": "I look."}
    (definition,) = json.loads(agent["gen_ai.tool.definitions"])
    assert (definition["type"], definition["name"]) == ("function", "web_search")
    assert tool["gen_ai.tool.call.arguments"] == '{"query": "Falklands War"}'


def test_a_collector_that_refuses_is_named(stub, tmp_path):
    stub.status = 400
    with pytest.raises(StorageError, match=r"/v1/traces took 0 spans and no more: .*400"):
        send(source_of(a_run(tmp_path)), Collector(stub.url))


def test_an_endpoint_that_is_no_url_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="write a URL"):
        send(source_of(a_run(tmp_path)), Collector("localhost:4318"))
