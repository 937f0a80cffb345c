"""Finds tool calls that a model wrote as text: the usual sign that the server's parser does not fit
the model, so that no tool runs.

The forms are those of model families; the mere mention of a tag in a sentence does not count. Text
before `</think>` is ignored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable

from agent_env.records.schema import Episode

TAGS: dict[str, re.Pattern[str]] = {
    # gpt-oss: the recipient stands after the channel or before it
    "harmony channel": re.compile(r"<\|channel\|>\s*\w+\s+to=[\w.]+|\bto=functions\.[\w.-]+"),
    "<|python_tag|>": re.compile(r"<\|python_tag\|>\s*\S"),
    "[TOOL_CALLS]": re.compile(r"\[TOOL_CALLS\]\s*(?:[\[{]|[\w.-]+\s*[\[{(])"),
    # GLM writes the name without JSON, Qwen3-Coder <function=…> inside
    "<tool_call>": re.compile(r"<(?:\w+:)?tool_calls?>\s*(?:[\[{<]|[\w.-]+\s*<arg)"),
    "<|tool_call|>": re.compile(r"<\|tool_call(?:\|>|_argument|_begin|s_section_begin)\S*\s*\S"),
    "<｜tool▁calls▁begin｜>": re.compile(r"<[|｜]tool[▁_ ]calls?[▁_ ]begin[|｜]>"),
    "<function=…>": re.compile(r"<function=[\w.-]+>|<function_calls?>\s*[\[{<]"),
    "<invoke …>": re.compile(r"<(?:｜DSML｜)?invoke name=[\"'][\w.-]+[\"']"),
    "```tool_code": re.compile(r"^```tool_code[ \t]*\n\s*\S", re.M),
    "```tool_call": re.compile(r"^```tool_call[ \t]*\n\s*\S", re.M),
    "functools[…]": re.compile(r"\bfunctools\s*\[\s*\{"),
}
"""How a call begins, by the name of its form."""

FENCE = re.compile(r"^[ \t]*```[\w-]*[ \t]*\n(.*?)(?:^[ \t]*```[ \t]*$|\Z)", re.M | re.S)
NAMES = ("name", "function", "tool", "tool_name")
ARGUMENTS = ("arguments", "parameters", "args", "tool_input")
OBJECT = re.compile(
    rf'"(?:{"|".join(NAMES)})"\s*:\s*"([\w.:-]+)"\s*,\s*"(?:{"|".join(ARGUMENTS)})"\s*:\s*[{{"]'
)
FENCED_JSON = "fenced JSON"
BARE_JSON = "bare JSON"

CUT_OFF = ", cut off"
"""Behind the form of a call that the length limit ended."""


def call_in_text(text: str | None, tools: Collection[str] = ()) -> str | None:
    """The form of the call in the text, such as `<tool_call>` or `fenced JSON`; None without a
    call. With `tools`, a call in JSON must name one of them."""
    if not text:
        return None
    text = text.rpartition("</think>")[2]
    for form, pattern in TAGS.items():
        if pattern.search(text):
            return form
    if any(_is_call(block[1], tools) for block in FENCE.finditer(text)):
        return FENCED_JSON
    return BARE_JSON if _is_call(text, tools) else None


def answer_with_call(episode: Episode) -> str | None:
    """The form of a call in the episode's answer that nobody read, cut by the length limit or not;
    None without one or without tools. A reply whose calls were read, as the text protocol does, is
    another fault, and so is one that repeated itself until it was cut."""
    if not episode.tools or episode.stop_reason == "repetition":
        return None
    replies = (m for m in reversed(episode.messages) if m.role == "assistant" and m.content)
    last = next(replies, None)
    if last is not None and last.tool_calls:
        return None
    form = call_in_text(episode.answer, episode.tools)
    return f"{form}{CUT_OFF}" if form and episode.stop_reason == "truncated" else form


def remedy(in_text: bool, forms: Iterable[str] = ()) -> str:
    """What to do about calls of these forms; `in_text`: under the text protocol."""
    if (forms := tuple(forms)) and all(form.endswith(CUT_OFF) for form in forms):
        return "give replies more room with --max-output-tokens"
    if in_text:
        return "take --answer-format schema, where the server holds replies to one"
    template = (
        "agent-env serve model --chat-template fenced-json"
        if FENCED_JSON in forms
        else "llama.cpp: --chat-template-file, whose form of a call is the model's"
    )
    return (
        "take --tool-protocol auto, or start the server with a parser that fits the model (vLLM, "
        f"SGLang: --tool-call-parser; {template})"
    )


def _is_call(text: str, tools: Collection[str]) -> bool:
    if any(_is_known(match[1], tools) for match in OBJECT.finditer(text)):
        return True
    text = text.strip()
    if text[:1] not in ("{", "["):
        return False
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    values = value if isinstance(value, list) else [value]
    return any(_is_call_object(each, tools) for each in values)


def _is_call_object(value: object, tools: Collection[str]) -> bool:
    """In any order of the fields; also {"type": "function", "function": {…}}."""
    if not isinstance(value, dict):
        return False
    if isinstance(inner := value.get("function"), dict):
        return _is_call_object(inner, tools)
    name = next((value[key] for key in NAMES if isinstance(value.get(key), str)), None)
    has_arguments = any(isinstance(value.get(key), dict | str) for key in ARGUMENTS)
    return name is not None and has_arguments and _is_known(name, tools)


def _is_known(name: str, tools: Collection[str]) -> bool:
    return not tools or name.rpartition(".")[2] in tools
