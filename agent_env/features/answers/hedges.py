"""Whether an answer is given, or only weighed, asked, denied or taken back: then it earns nothing.

An answer is given if one of its mentions is plain: in no question, under no condition, beside no
alternative, and not denied; and if nothing behind the last of these takes it back. Remarks that
leave an answer as it is are allowed: "X, not Y", "X. No other club matches", "X. I am sure of it".
"""

from __future__ import annotations

import re
from collections.abc import Sequence

Span = tuple[int, int]
"""Start and end in a text."""
NEAR = 400
"""Characters around a mention that are examined."""
MOST = 50
"""Mentions, the last ones, that are examined."""
QUESTION_MARKS = "?？؟"
"""Of Latin, Chinese and Arabic scripts."""
DENIED = "denies its answer"
_N_T = r"(?: not|n['’]t)"
_SAY = (
    r"(?:say|tell|know|determine|decide|answer|provide|give|verify|confirm|find|identify"
    r"|be (?:sure|certain|determined|verified))\b"
)
_WEIGHED = re.compile(
    r"\b(?:maybe|perhaps|possibly|probably|presumably|might|could (?:also )?(?:be|have been)"
    r"|may (?:also )?be(?! (?:seen|found))|either(?! (?:way|case))|alternatively|otherwise"
    r"|unless|depend(?:s|ing)|if(?! (?:we|you|one|i) (?:look|check|go|read|compare|consider|see))"
    r"|for example|for instance|such as|you asked|i doubt|doubtful|refuse|once thought"
    r"|plausible|(?:some|one) (?:would|might|may|could) (?:say|think)"
    r"|(?:also|another) (?:a )?possib\w+"
    rf"|one possibility|(?:can(?:not|['’]t| not)|unable to) {_SAY}"
    rf"|(?:do|does|did){_N_T} {_SAY}|impossible to {_SAY}"
    r"|not (?:sure|certain|enough|known|clear)|unsure|uncertain|unclear|insufficient)\b"
    r"|candidates?:|possible answers?:|^\W{0,9}(?:one|any|some) of\b(?! the)",
    re.I,
)
_SMALL = r"(?:(?:an?|the|by|yet|really|it|is|was|be|of|them|these|for) ){0,4}[\"'“‘*_`(\[]{0,4}"
_DENIED_BEFORE = re.compile(
    r"(?:\b(?:not(?! (?:only|just|merely))|never|neither|nor|(?:any|every)(?:thing|one|body) but"
    r"|except|all but|apart from|other than|excluding|(?:wrong|incorrect|false) [a-z]{1,12} ?:"
    r"|cannot be|rather [^.!?\n]{1,60} than|(?:wo|would)n['’]t say)|n['’]t|~~) ?"
    rf"{_SMALL}$",
    re.I,
)
_WRONG = (
    r"(?:wrong|incorrect|false|mistaken|invalid|ruled out|excluded|rejected|a mistake|a decoy"
    r"|out of the question)\b"
)
_RIGHT = r"(?:the )?(?:right|correct|true|valid|answer|one|it|real)\b"
_DENIED_BEHIND = re.compile(
    r"[^\w.!?;\n]{0,6}(?:but )?(?:(?:that|this|it|which) )?"
    rf"(?:is|was|are|were|(?:can|must|would) be)(?: {_WRONG}|{_N_T} {_RIGHT})"
    rf"|[^\w.!?;\n]{{0,6}}(?:does|did){_N_T} (?:fit|match|satisfy|meet|hold|work|apply|count)\b"
    r"|[ *_`\"']{0,4}(?:[:=–—]|->|=>|→|==|-(?= )) ?(?:wrong|false|incorrect|rejected|invalid)\b"
    r"|[ *_]{0,3}[✗✘❌]"
    rf"|[ *_`\"']{{0,4}}\((?:(?:wrong|false|incorrect)\b|not(?:\)| {_RIGHT}))"
    rf"|.*\b(?:this|that|it|which) (?:is|was) {_WRONG}|.*\bbut (?:it )?(?:is|was) not\W{{0,4}}$",
    re.I,
)
_OR_BEFORE = re.compile(r"\bor (?:else )?[\"'“‘*_`(\[]{0,3}$", re.I)
_OR_BEHIND = re.compile(r"[\"'”’*_`)\]]{0,4},? or (?!so\b|more\b|less\b|thereabouts\b)", re.I)
_NO_MORE = (
    r"(?: (?:it|that|this|which|more|for (?:sure|certain)|(?:about|of) (?:it|this|that)))?"
    r" ?(?:[.!,;)\n]|$)"
)
_DENIES_ANOTHER = (
    r" (?!it\b|that\b|this\b)[^.!?\n]{1,60}(?: (?:not|cannot|never|no|excluded)\b|n['’]t\b)"
)
"""What "No, …" denies in "No, Ann cannot be meant", where the answer is another."""
_BACK = re.compile(
    r"(?:^|[.,;:!?…–—→\n)\]\"”]|\s-)[\"'\s*_]{0,4}(?:but |however,? |sorry,? |oh )?(?:"
    rf"no(?: ?[,:;!](?!{_DENIES_ANOTHER})| wait\b|\s-|\.(?! ?\d)|$)"
    r"|wait,? (?:no|that|it)\b|scratch that|never ?mind\b"
    r"|edit ?:|(?:please )?(?:ignore|disregard|forget) (?:that|this|it|the above|everything"
    r"|my (?:\w+ )?(?:answer|reply|response))\b(?! (?:reasoning|steps?|notes?|explanation|if)\b)"
    r"|(?:the above|(?:this|that|my) answer) (?:is|was) (?:wrong|incorrect|false|a mistake)\b"
    r"|(?:sorry,? )?i made an? (?:mistake|error)\b"
    r"|strike that|correction ?[:,.–—]|actually,?(?: no\b"
    r"| (?:it|that|the (?:\w+ )?answer) (?:is|was|should be|must be)\b"
    r"|(?! (?:this|that|it|the|we|you|i|there|all|both|only|none)\b)"
    r"(?: [^\s.!?\n]{1,30}){1,4} ?(?:[.!\n]|$))"
    r"|on second thoughts?|i (?:take|took) (?:that|it|this) back"
    r"|i was wrong(?! (?:at first|about|before|earlier|to)\b)"
    r"|(?:that|this|it) (?:is|was) (?:wrong|incorrect|a mistake|not (?:right|correct|true))\b"
    r"(?! (?:to|of|for|that)\b)"
    r"|i (?:do not|don['’]t|can\s?not|can['’]t|am unable to) (?:know|say|tell|decide"
    rf"|determine|give){_NO_MORE}|i can(?:not|['’]t) give"
    r" the (?:real|right|true)\b"
    rf"|i(?: am|['’]m) not (?:sure|certain)(?:{_NO_MORE}| (?:if|whether) (?:it|this|that|my)\b))"
    r"|\b(?:but|however,?|rather,?) (?:the|my) (?:right|correct|real|true|actual) \w+ is\b",
    re.I,
)
UNFINISHED = re.compile(r"\.\.|…|\betc\b|\band (?:so on|more|others)\b", re.I)
"""What says that a list goes on."""
_ELSE = re.compile(r"[.,;:!?…–—)] ?(?:alternatively|otherwise|if not)\b", re.I)
_BLANKS = re.compile(r"[^\S\n ]|  | \n|\n ")
_END = re.compile(r"[.!?;][\"'”’)\]*_]{0,4}\s|\.\.\.|…|\n")


def hedge(text: str, spans: Sequence[Span]) -> str:
    """Why the text does not give the answer that it mentions at these places, in order; "" where it
    does, and where there is no place."""
    why, is_given = "", False
    for span in spans[-MOST:]:
        low, high = _sentence(text, span)
        why = _not_plain(_spaced(text[low : span[0]]), _spaced(text[span[1] : high]))
        is_given = not why or (is_given and why != DENIED)
    if not is_given:
        return why
    behind = text[spans[-1][1] :]
    has_other = _ELSE.search(_spaced(behind[:NEAR]).partition("\n")[0])
    return "names an alternative" if has_other else takes_back(behind)


def takes_back(behind: str) -> str:
    """Why the text behind an answer leaves nothing of it; "" where it stays."""
    return "takes its answer back" if _BACK.search(_spaced(behind[:NEAR])) else ""


def _sentence(text: str, span: Span) -> Span:
    """The sentence around a mention; a stop within the mention ends none."""
    low = max(0, span[0] - NEAR)
    for end in _END.finditer(text, low, span[0]):
        low = end.end()
    following = _END.search(text, span[1], span[1] + NEAR)
    return low, following.end() if following is not None else min(len(text), span[1] + NEAR)


def _spaced(text: str) -> str:
    """With one blank in place of several, and one line break for those with blanks around it."""
    if _BLANKS.search(text) is None:
        return text
    return re.sub(r" ?\n ?", "\n", re.sub(r"[^\S\n]+", " ", text))


def _not_plain(before: str, behind: str) -> str:
    """Why a mention between these parts of its sentence gives no answer."""
    if _DENIED_BEFORE.search(before) or _DENIED_BEHIND.match(behind):
        return DENIED
    if any(mark in behind for mark in QUESTION_MARKS):
        return "asks"
    if (weighed := _WEIGHED.search(before) or _WEIGHED.search(behind)) is not None:
        return f"hedges ('{' '.join(weighed[0].lower().split())}')"
    if _OR_BEFORE.search(before) or _OR_BEHIND.match(behind):
        return "hedges ('or')"
    return ""
