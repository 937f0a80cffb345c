"""The shipped modes of the fake server, and rules that no provider has but clients must survive."""

from dataclasses import dataclass

from agent_env.extensions.fake_server import modes
from agent_env.extensions.fake_server.modes import (
    Mode,
    TextField,
    binding,
    join_pieces,
    seal,
    signature,
)


@dataclass(frozen=True, slots=True)
class UndocumentedFields:
    """Fields of every kind, at every level, that nobody has documented yet."""

    def write(self, message, reasoning, nonce):
        calls = [
            call | _call_extra(call["id"]) | {"function": call["function"] | _sum_of(call["id"])}
            for call in message.get("tool_calls") or ()
        ]
        return message | _message_extra(nonce, reasoning) | ({"tool_calls": calls} if calls else {})

    def fault(self, message):
        link = binding(message)
        if link is None:
            return None
        log = message.get("deliberation_log")
        pairs = [(_message_extra(link[0], log if isinstance(log, str) else ""), message)]
        for call in message["tool_calls"]:
            pairs += [(_call_extra(call["id"]), call), (_sum_of(call["id"]), call["function"])]
        if any(name not in actual for expected, actual in pairs for name in expected):
            return "missing"
        is_equal = all(
            _whole(actual[name]) == value
            for expected, actual in pairs
            for name, value in expected.items()
        )
        return None if is_equal and seal(link[0], str(log)) == link[1] else "altered"


def _whole(value):
    blocks = isinstance(value, list) and value and isinstance(value[0], dict)
    return join_pieces(value) if blocks else value


def _message_extra(nonce, reasoning):
    return {
        "deliberation_log": reasoning,
        "cognition": {"state": signature("state", nonce), "depth": 3, "path": [None, True, {}]},
        "confidence": 0.25,
        "fragments": [
            {"index": 0, "text": signature("fragment", nonce)},
            {"index": 1, "kind": "x"},
        ],
    }


def _call_extra(id_):
    return {"provenance": {"ticket": signature("call", id_)}}


def _sum_of(id_):
    return {"checksum": signature("function", id_)}


MODES = {
    **modes.MODES,
    "no-echo": Mode(
        "sends reasoning_content and refuses it in a request, status 400, naming the field",
        TextField("reasoning_content"),
        field="reasoning_content",
        refuses_echo="400",
    ),
    "no-echo-422": Mode(
        "the same, with status 422 and a list `detail`",
        TextField("reasoning_content"),
        field="reasoning_content",
        refuses_echo="422",
    ),
    "future": Mode(
        "undocumented fields on the message, its calls and their functions must come back",
        UndocumentedFields(),
        field="deliberation_log",
        demand="calls",
    ),
}
