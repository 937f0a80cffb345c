"""Finds the part of a reply that holds the answer, for any type of answer.

Reasoning in tags or channels and text after an end-of-turn token are ignored. The last line that
begins with `MY ANSWER:` counts; without one, the last of the other clear forms: `MY ANSWER:` within
a line, `\\boxed{}`, `<answer>`, a JSON key or a line `answer:`, or the whole of a short reply.
Every step takes time linear in the length of the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from agent_env.features.answers.hedges import takes_back
from agent_env.temporal.written import SHORT_MONTH

LONGEST = 20_000
"""Maximum characters of an answer; a longer one is cut, and its part is marked `is_cut`."""
SHORT = 2_000
"""Maximum characters of a reply that can be the answer as a whole."""


@dataclass(frozen=True, slots=True)
class Part:
    """A text that may be the answer."""

    text: str
    where: str
    """The form in which it was found, for the scoring rule."""
    is_marked: bool
    """Whether it is behind `MY ANSWER:` at the start of a line; no other part counts then."""
    is_cut: bool = False
    """Whether it is longer than `LONGEST`."""
    problem: str = ""
    """Why it is not an answer, such as words below that take it back."""


def answer_parts(reply: str, is_final: bool = True, of_dates: bool = True) -> Iterator[Part]:
    """Yields the parts that may hold the answer, the likeliest first. `is_final`: the model ended
    the reply itself; if not, only `MY ANSWER:` counts. `of_dates`: only lines with a date continue
    a list; if not, all its entries do, lines below an empty first one, and JSON stays JSON."""
    text = user_text(reply)
    marks = list(_MINE.finditer(text))
    if marks and (turn := _SPEAKER.search(text, marks[0].end())) is not None:
        text = text[: turn.start()]  # small models write the user's next turn, and answer it
        marks = [mark for mark in marks if mark.end() <= len(text)]
    for mark in reversed(marks[-_MARKS:]):
        lead = _lead(text, mark.start())
        if _opens_line(lead) and not _FORM.match(text, mark.end()):
            yield _part(text[mark.end() :], "after MY ANSWER:", of_dates, is_marked=True)
            return
        if is_final and _stands_alone(lead, mark[0]):
            yield _part(text[mark.end() :], "after MY ANSWER: within a line", of_dates)
    if is_final and (other := _other_form(text, of_dates)) is not None:
        yield other


# The reply without reasoning, tokens and turns of others ----------------------------------------

_NAMES = "think|thinking|thought|reasoning|reflection|scratchpad|analysis|seed:think"
_TAG = re.compile(rf"<(/?)(?:{_NAMES})>|\[(/?)THINK\]|◁(/?)think▷", re.I)
_FINAL_CHANNEL = re.compile(r"<\|channel\|>final[^<\n]{0,40}<\|message\|>")
_TOKEN = re.compile(
    r"<[|｜][^<>|｜\n]{1,40}[|｜]>|</?s>|<(?:start|end)_of_turn>|<eos>|<bos>|\[/?INST\]"
)
_ROLE = re.compile(r"(?:assistant|model|ai)?:?", re.I)
_SPEAKER = re.compile(r"\n[ \t#*]{0,8}(?:user|human|instruction)\b[ \t*]{0,4}(?::|\n)", re.I)


def user_text(reply: str) -> str:
    """The text meant for the user: without reasoning in tags or channels, up to the token that
    ends the turn."""
    text = reply
    if "<|channel|>" in text:
        finals = list(_FINAL_CHANNEL.finditer(text))
        text = text[finals[-1].end() :] if finals else ""
    elif text.startswith("analysis") and "assistantfinal" in text:  # its tokens were dropped
        text = text.rpartition("assistantfinal")[2]
    if not any(mark in text for mark in "<[◁"):
        return text
    # an unclosed tag hides all the text after it, an unopened one all the text before it
    outside: list[str] = []
    at, is_inside = 0, False
    for tag in _TAG.finditer(text):
        if not any(tag.groups()):
            if not is_inside:
                outside.append(text[at : tag.start()])
            is_inside = True
            continue
        if not is_inside:
            outside.clear()
        at, is_inside = tag.end(), False
    for piece in _TOKEN.split("".join(outside if is_inside else [*outside, text[at:]])):
        if not _ROLE.fullmatch(piece.strip()[:100]):
            return piece
    return ""


# Where the answer begins ------------------------------------------------------------------------

_MARKS = 50
"""How many of the last `MY ANSWER:` are examined."""
_LEAD = 200
"""Characters before a mark that are examined."""
_MINE = re.compile(
    r"my[ \t_*]{1,4}(?:final[ \t]{1,2})?answers?[ \t]{0,4}(?:is|are)?[*_`\"' \t]{0,6}"
    r"[:：][*_`]{0,4}",
    re.I,
)
_FORM = re.compile(r"\s{0,4}(?:followed by|<(?![\s=\d])|\[?(?:YYYY|dates?\]))", re.I)
"""The instruction, merely repeated."""
_OPENING = " \t>*_`#-•+{"
_NUMBERING = re.compile(r"\(?\d{1,3}[.):][ \t]")
_LEADS = frozenset(
    "so thus therefore hence finally and then now here final conclusion in answer line output "
    "response is the this gives with we have i get our".split()
)
_HYPOTHETICAL = re.compile(
    r"\b(?:if|unless|whether|would|could|might|may|maybe|perhaps|suppose|assume|assuming|should"
    r"|must|write|say|finish|end|not|like|as|eg|example|format)\b|n't\b|e\.g\.",
    re.I,
)


def _lead(text: str, at: int) -> str:
    """The text before a mark on its line."""
    line = text.rfind("\n", max(0, at - _LEAD), at) + 1
    return text[line or max(0, at - _LEAD) : at]


def _opens_line(lead: str) -> bool:
    bare = lead.lstrip(_OPENING)
    return not _NUMBERING.sub("", bare, count=1).strip(_OPENING) and '"' not in lead


def _stands_alone(lead: str, mark: str) -> bool:
    """Whether the mark begins a sentence, is a JSON key, or follows a few words such as "So,";
    false within quotes and in a hypothetical sentence."""
    if lead.rstrip(" \t*_")[-1:] in tuple("\"'“‘`"):
        return _is_key(lead, mark)
    sentence = re.split(r"[.!?]\s", lead)[-1].strip(_OPENING)
    if _HYPOTHETICAL.search(sentence):
        return False
    words = re.findall(r"[^\W\d_]+", sentence.lower())
    return sentence[-1:] in tuple(":;,.!") or _LEADS.issuperset(words)


def _is_key(lead: str, mark: str) -> bool:
    return lead[-1:] in ('"', "'") and mark.rstrip(" :")[-1:] == lead[-1]


# Where it ends ----------------------------------------------------------------------------------

_QUOTE = re.compile(r"[ \t]{0,3}(?:>[ \t]?){1,3}")
_FENCE = re.compile(r"[ \t]*```[\w-]*[ \t]*")
_FENCED = re.compile(r"```[\w-]*[ \t]*\n((?:(?!```).)*?)\n[ \t]*```", re.S)
_BULLET = re.compile(r"[ \t>*_]*(?:[-*•+]|\(?\d{1,3}[.)])[ \t*_`]+")
_MONTH = rf"(?:{SHORT_MONTH})[a-z]{{0,6}}"
_GOES_ON = re.compile(
    r"[\"'“‘*_`\[({]{0,4}(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6}[, ]{1,3})?"
    rf"(?:\d{{4}} ?[-/.年] ?\d|\d{{1,2}}[/.]\d|\d{{1,2}}[a-z]{{0,2}}(?: of)?[ -]{_MONTH}"
    rf"|{_MONTH}\.? (?:the )?\d)|\.\.|…|and so on|etc",
    re.I,
)


def _part(rest: str, where: str, of_dates: bool, is_marked: bool = False) -> Part:
    block, after = _block(rest, of_dates)
    block = block or rest[:LONGEST].strip().partition("\n")[0]  # nothing but symbols
    return Part(block, where, is_marked, len(block) >= LONGEST, takes_back(after))


def _block(rest: str, of_dates: bool) -> tuple[str, str]:
    """The answer's own line or the first below it (a fence, table or list whole), and the text
    after it."""
    if not of_dates and (end := _json_end(rest)):
        return rest[:end].strip(), rest[end:]
    own, *below = rest[:LONGEST].split("\n")
    lines = [
        own,
        *(_QUOTE.sub("", line, count=1) if line.lstrip()[:1] == ">" else line for line in below),
    ]
    is_below = not of_dates and not re.search(r"\w", lines[0])
    block: list[str] = []
    is_fenced = is_gap = False
    for number, line in enumerate(lines):
        if _FENCE.fullmatch(line):
            if is_fenced or block:
                return "\n".join(block), "\n".join(lines[number + is_fenced :]) + rest[LONGEST:]
            is_fenced = True
        elif not re.search(r"\w|∅|\[\s?\]|\{\s?\}|\.\.|…", line):
            is_gap = is_gap or (bool(block) and not re.search(r"[|\[\]{}()]", line))
        elif (
            not block
            or is_fenced
            or _goes_on(line, block[0], is_gap)
            or (not of_dates and _is_entry(line, block, is_gap, is_below))
        ):
            block.append(line)
            is_gap = False
        else:
            return "\n".join(block), "\n".join(lines[number:]) + rest[LONGEST:]
    return "\n".join(block), rest[LONGEST:]


def _goes_on(line: str, first: str, is_gap: bool) -> bool:
    """Whether a line below the answer's first belongs to it: it begins with a date, is a table row,
    or is indented within a list. Only a list continues across a blank line."""
    is_list = _bullet_end(first) > 0
    if is_gap and not (is_list and _bullet_end(line)):
        return False
    if line.lstrip().startswith("|") or (is_list and line[:1] in (" ", "\t")):
        return True
    return _GOES_ON.match(line[_bullet_end(line) :].lstrip(" \t*_`-•,;")) is not None


def _json_end(rest: str) -> int:
    """The index after the JSON list or object that the text begins with, where no word follows on
    its line; 0 without one."""
    start = len(rest) - len(rest.lstrip())
    if rest[start : start + 1] not in ("[", "{"):
        return 0
    try:
        _, end = json.JSONDecoder().raw_decode(rest[:LONGEST], start)
    except (ValueError, RecursionError):
        return 0
    return 0 if re.search(r"\w", rest[end : end + LONGEST].partition("\n")[0]) else end


def _is_entry(line: str, block: list[str], is_gap: bool, is_below: bool) -> bool:
    """Whether a line goes on with a list of any things: it is marked as the first entry is, follows
    a heading or a comma, or, in a block below the mark's line, is no sentence and no label."""
    has_heading = block[0].rstrip(" *_").endswith(":")
    if has_heading and len(block) == 1:
        return True
    if _ENTRY.match(block[has_heading]):
        return _ENTRY.match(line) is not None
    follows = block[-1].rstrip(" *_").endswith((",", ";"))
    return not is_gap and (follows or (is_below and _AFTERWORD.match(line) is None))


_ENTRY = re.compile(r"[ \t]*(?:[-*•+]|\(?\d{1,3}[.)]|\(?[a-z]\))[ \t]+(?=\S)")
_AFTERWORD = re.compile(
    r"[>*_` \t]*+(?:"
    r"(?:reason(?:ing)?|explanation|sources?|notes?|evidence|confidence)\b[*_` ]*[:：]"
    r"|(?:\S+ +){3,200}\S+[.!?][*_\"')]*\s*$)",
    re.I,
)


def _bullet_end(line: str) -> int:
    return bullet.end() if (bullet := _BULLET.match(line)) else 0


# Answers without MY ANSWER: ---------------------------------------------------------------------

_BOX = re.compile(r"\\(?:boxed|fbox)\s?\{")
_ANSWER_TAG = re.compile(r"<(/?)answer>", re.I)
_LABEL = re.compile(
    r"\b(?:my |the )?(?:(?:final|correct|complete|only|valid)[ _]){0,2}(?:answer|solution)s?\b"
    r"(?:[\"'*_` \t]{0,5}[:：]|[*_ ]{0,4}(?:is|are)\b[*_ ]{0,4}[:：]?|(?=[*_]{0,3}[ \t]{0,3}\n))"
    r"|\bthe (?:only )?(?:valid |possible )?dates? (?:that|which) (?:satisf(?:y|ies)|meets?|fits?|"
    r"match(?:es)?)(?: all)?(?: of)?(?: the)?(?: given)?(?: constraints| conditions| criteria)?"
    r" (?:is|are)\b[:：]?",
    re.I,
)
_CLOSING = " \t\n`}])\"'*_.$|"


def _other_form(text: str, of_dates: bool) -> Part | None:
    """The last of the clear forms; the whole of a short reply where there is none."""
    found = (_box_form(text), _tag_form(text), _label_form(text, of_dates))
    if forms := [form for form in found if form is not None]:
        return max(forms, key=lambda form: form[0])[1]
    bare = text.strip()
    if not of_dates and (fence := _FENCED.fullmatch(bare)) is not None:
        bare = fence[1].strip()
    return Part(bare, "as the whole reply", False) if 0 < len(bare) <= SHORT else None


def _box_form(text: str) -> tuple[int, Part] | None:
    """The last box and those directly before it."""
    boxes = list(_BOX.finditer(text))[-_MARKS:]
    inner: list[str] = []
    begin = len(text)
    for box in reversed(boxes):
        end = _closing_brace(text, box.end())
        if end is None:
            break
        between = text[end:begin].strip(" \t\n$}{,;.&*-•()\\[]").lower()
        if inner and between not in ("", "and"):
            break
        inner.insert(0, text[box.end() : end - 1])
        begin = box.start()
    return (boxes[-1].start(), Part(", ".join(inner), "in a box", False)) if inner else None


def _closing_brace(text: str, at: int) -> int | None:
    """The index after the brace that closes the one before `at`."""
    depth = 1
    for brace in re.finditer(r"[{}]", text[at : at + SHORT]):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return at + brace.end()
    return None


def _tag_form(text: str) -> tuple[int, Part] | None:
    tags = list(_ANSWER_TAG.finditer(text))
    opening = next((tag for tag in reversed(tags) if not tag[1]), None)
    if opening is None:
        return None
    end = next((tag.start() for tag in tags if tag[1] and tag.start() > opening.end()), len(text))
    inner = text[opening.end() : end]
    if len(inner) > SHORT:
        return None
    return opening.start(), Part(inner.strip(), "in an answer tag", False)


def _label_form(text: str, of_dates: bool) -> tuple[int, Part] | None:
    """The text after `answer:` where that opens or closes the reply, or is a JSON key."""
    for label in reversed(list(_LABEL.finditer(text))[-_MARKS:]):
        lead, rest = _lead(text, label.start()), text[label.end() :]
        if not (_opens_line(lead) or _stands_alone(lead, label[0])):
            continue
        value = _json_value(rest, of_dates) if _is_key(lead, label[0]) else None
        if value is not None:
            return label.start(), Part(value, "under the key answer", False)
        block, after = _block(rest, of_dates)
        if not after.strip(_CLOSING) or not text[: label.start()].strip(_OPENING + "\n"):
            return label.start(), Part(block, "after answer:", False)
        return None
    return None


def _json_value(rest: str, of_dates: bool) -> str | None:
    """The string, or list of strings, at the start of the text, parsed as JSON."""
    try:
        value, _ = json.JSONDecoder().raw_decode(rest[:LONGEST].lstrip())
    except (ValueError, RecursionError):
        return None
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        is_one = len(value) == 1 and not re.search(r"[,;&\n]|\band\b", value[0])
        listed = of_dates or is_one
        return (", ".join(value) or "[]") if listed else json.dumps(value, ensure_ascii=False)
    return None
