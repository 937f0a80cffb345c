"""What a mode refuses of a chat request: fields, a forced choice, reasoning that is not as sent."""

from __future__ import annotations

from collections.abc import Sequence

from agent_env.models.fake_server.fields import CHAT, refuse_unknown
from agent_env.models.fake_server.modes import Mode
from agent_env.models.fake_server.talk import Object, Refusal, Shape

FORBIDDEN = "property '{where}' is unsupported"


def check_chat(mode: Mode, body: Object, choice: str) -> None:
    """Raises Refusal as the mode's server would."""
    if mode.strict_fields:
        refuse_unknown(body, CHAT)
    if mode.token_limit != "any" and body.get("max_tokens") is not None:
        text = "Unsupported parameter: 'max_tokens' is not supported with this model. Use"
        text += " 'max_completion_tokens' instead."
        raise Refusal(400, text, "max_tokens", code="unsupported_parameter")
    shape = shape_for(mode, body)
    if mode.refuses_echo:
        _refuse_echo(mode, body)
    if shape is None:
        return
    if mode.refuses_forced and choice not in ("auto", "none"):
        shown = "required" if choice == "required" else "specified"
        raise Refusal(400, mode.refuses_forced.format(choice=shown), "tool_choice")
    _check_reasoning(mode, shape, body)


def shape_for(mode: Mode, body: Object) -> Shape | None:
    """How reasoning is written in this exchange; None where the model is not to think."""
    if (body.get("thinking") or {}).get("type") == "disabled":
        return None
    return mode.split if mode.split and body.get("reasoning_split") is True else mode.reasoning


def _refuse_echo(mode: Mode, body: Object) -> None:
    for number, message in enumerate(body["messages"]):
        if message.get("role") == "assistant" and mode.field in message:
            where = f"messages.{number}.assistant.{mode.field}"
            if mode.refuses_echo == "422":
                text = "Extra inputs are not permitted"
                place = ["body", "messages", number, "assistant", mode.field]
                detail = [{"type": "extra_forbidden", "loc": place, "msg": text}]
                raise Refusal(422, text, where, extra={"detail": detail})
            text = f"{where}: {FORBIDDEN.format(where=where)}"
            raise Refusal(400, text, where, code="wrong_api_format")


def _check_reasoning(mode: Mode, shape: Shape, body: Object) -> None:
    messages: Sequence[Object] = body["messages"]
    for index in _held_to(mode, body, messages):
        fault = shape.fault(messages[index])
        if fault is not None:
            calls = messages[index].get("tool_calls") or [{}]
            name = (calls[0].get("function") or {}).get("name")
            text = mode.missing if fault == "missing" else mode.altered
            what = text.format(
                field=mode.field, index=index, fault=fault, name=name, position=index + 1
            )
            raise Refusal(400, what, f"messages[{index}]")


def _held_to(mode: Mode, body: Object, messages: Sequence[Object]) -> list[int]:
    """The assistant messages that must carry their reasoning."""
    spoken = [n for n, message in enumerate(messages) if message.get("role") == "assistant"]
    with_calls = [n for n in spoken if messages[n].get("tool_calls")]
    match mode.demand:
        case "tools":
            return spoken if body.get("tools") else []
        case "calls":
            return with_calls
        case "calls of this turn":
            users = [n for n, message in enumerate(messages) if message.get("role") == "user"]
            return [n for n in with_calls if n > max(users, default=-1)]
    return []
