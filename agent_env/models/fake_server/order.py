"""Calls and their results: each call is answered once, and before anything else is said."""

from __future__ import annotations

from collections.abc import Sequence

from agent_env.models.fake_server.talk import Refusal, Turn

STRAY = (
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with"
    " 'tool_calls'."
)
NOT_THERE = (
    "Invalid parameter: 'tool_call_id' of '{id}' not found in 'tool_calls' of previous message."
)
TWICE = "Invalid parameter: 'tool_call_id' of '{id}' has more than one response message."
UNANSWERED = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
    " 'tool_call_id'. The following tool_call_ids did not have response messages: {ids}"
)


def check_messages(turns: Sequence[Turn]) -> None:
    """Raises Refusal where Chat Completions would not take the order of messages."""
    open_ids: list[str] = []
    answered: set[str] = set()
    calling = False
    for number, turn in enumerate(turns):
        if turn.role == "tool":
            field = f"messages.[{number}].tool_call_id"
            if not calling:
                raise Refusal(400, STRAY, f"messages.[{number}].role")
            if turn.call_id in answered:
                raise Refusal(400, TWICE.format(id=turn.call_id), field)
            if turn.call_id not in open_ids:
                raise Refusal(400, NOT_THERE.format(id=turn.call_id), field)
            open_ids.remove(turn.call_id)
            answered.add(turn.call_id)
            continue
        _refuse_unanswered(open_ids, number)
        open_ids, answered = [call.id for call in turn.calls], set()
        calling = bool(turn.calls)
    _refuse_unanswered(open_ids, len(turns))


def check_items(turns: Sequence[Turn]) -> None:
    """Raises Refusal where Responses would not take the items: it only wants each pair whole."""
    calls = [call.id for turn in turns for call in turn.calls]
    outputs = [str(turn.call_id) for turn in turns if turn.role == "tool"]
    for number, id_ in enumerate(outputs):
        if id_ not in calls:
            text = f"No tool call found for function call output with call_id {id_}."
            raise Refusal(400, text, "input")
        if id_ in outputs[:number]:
            raise Refusal(400, f"Duplicate function call output with call_id {id_}.", "input")
    for id_ in calls:
        if id_ not in outputs:
            raise Refusal(400, f"No tool output found for function call {id_}.", "input")


def _refuse_unanswered(ids: Sequence[str], number: int) -> None:
    if ids:
        text = UNANSWERED.format(ids=", ".join(ids))
        raise Refusal(400, text, f"messages.[{number}].role")
