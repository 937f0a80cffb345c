"""Parses which of the known names an answer gives.

Names are compared as words without case, accents and punctuation, the longest first: "Illegal" is
not "Legal", and "Not legal" is not "Legal" where both are known. A name that is denied ("not X",
"rather than X") or only referred to ("who succeeded X", "I first thought of X") is not given; one
that is told beside the answer ("X came later") is given only where no other is; and nothing is
given where `hedges` says so. Behind `Answer:` the answer ends at the first line of prose. Unknown
names beside known ones count, in lists and where `and` or a comma joins them: `Carl Dahl, Zaphod
Beeblebrox` is two names. JSON is parsed.
"""

from __future__ import annotations

import json
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise
from typing import Any, Literal

from agent_env.features.answers.hedges import hedge
from agent_env.features.answers.time_references import flat
from agent_env.temporal.written import NUMBERS, TIMES


@dataclass(frozen=True, slots=True)
class Mention:
    """A known name in a text."""

    name: str
    at: tuple[int, int]
    """Character span: start and end."""
    how: Literal["given", "denied", "aside", "beside"]


@dataclass(frozen=True, slots=True)
class NameAnswer:
    """The names of an answer. If it has none and does not say so, `rule` has the reason."""

    names: tuple[str, ...] = ()
    """Known names given, without duplicates, in the order of the text."""
    others: tuple[str, ...] = ()
    """Unknown entries of its list, or its first words."""
    none: bool = False
    """Whether it states that there is no answer."""
    unsure: bool = False
    """Whether it states that it does not know."""
    mentions: tuple[Mention, ...] = ()
    rule: str = ""


_SPECIAL = str.maketrans(
    {"ł": "l", "ø": "o", "ı": "i", "ß": "ss", "đ": "d", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d"}
)
_TOKEN = re.compile(r"[A-Za-z]{1,2}[+-](?!\w)|\w+")
_SMALL = (
    r"(?:(?:an?|the|by|yet|currently|considered|been|be|actually|fully|made|really|now|at\s+all|"
    r"president|king|queen|prime|minister|mr|mrs|ms|dr)\.?\s+)*"
)
_QUOTES = r"[\"'“”‘’*_`(\[]*"
_DENIED = re.compile(
    r"(?:\b(?:not(?!\s+(?:only|just|merely))|never|no\s+longer|neither|nor|rather\s+than|instead\s+of"
    rf"|other\s+than|except(?:\s+for)?|excluding|unlike)|n['’]t)\s+{_SMALL}{_QUOTES}$",
    re.I,
)
_ASIDE = re.compile(
    r"\b(?:succe(?:ed(?:ed|ing|s)|ssor\s+(?:to|of))(?:\s+by)?|replac(?:ed|ing|es)(?:\s+by)?"
    r"|follow(?:ed|ing|s)(?:\s+by)?|preced(?:ed|ing|es)(?:\s+by)?|predecessor\s+of"
    r"|(?:his|her|their|its|whose)\s+(?:immediate\s+)?(?:predecessor|successor)(?:\s+(?:was|is)|,)?"
    r"|(?:first|initially|originally|previously) (?:i )?(?:thought|believed|guessed|considered"
    r"|assumed|suspected|supposed)(?: (?:of|that|it|this|about|is|was|might|could|be|to)){0,4}"
    r"|after|before|hand(?:ed|ing)\s+(?:over\s+)?(?:power\s+)?to|t(?:ook|aking)\s+over\s+from"
    rf"|defeat(?:ed|ing)|served\s+under|compared\s+(?:to|with))\s+{_SMALL}{_QUOTES}$",
    re.I,
)
_ASIDE_BEHIND = re.compile(r"[*_`\"]*['’]s?\s+(?:immediate\s+)?(?:successor|predecessor)", re.I)
_RULED_OUT = re.compile(r"[*_`\"'”’]*\s?\?[*_`\"'”’]*\s(?:no|not|wrong)\b", re.I)
_BESIDE = re.compile(
    r"[*_`\"'”’]*,?(?: who)?(?: had (?:already |just |long |by then )?(?!been\b)\w+"
    r"| (?:only )?(?:then |later |next )?(?:came|followed|succeeded|preceded|took over|took office"
    r"|replaced|left|became|was|held|served|started|began|entered)\b[^.!?\n]{0,60}?(?<=\s)(?:later"
    r"|afterwards?|thereafter|next|earlier|beforehand|by then|previously"
    r"|(?:(?:after|before) )?(?:him|her|them|that))\b)",
    re.I,
)
"""Behind a name that is told beside the answer: it had left, came later, took over after that."""
_CONCLUSION = re.compile(
    r"\b(?:(?:so|thus|hence|therefore),?|but(?= (?:it|this|that|the)\b))"
    r"(?: (?:it|this|that|the (?:\w+ )?answer) (?:is|was|must (?:be|have been)))?[ :*_\"“]{0,5}",
    re.I,
)
_NO_ANSWER = (
    r"no\s+(?:valid\s+|such\s+|correct\s+|matching\s+|known\s+|single\s+)*"
    r"(?:answers?|one|person|rows?|records?|results?|match(?:es)?|entr(?:y|ies))\b"
    r"|(?:there|it)\s+(?:is|are|was|were|has\s+been|have\s+been)\s+(?:no(?:\s+one|body|thing|ne)?|not\s+any)\b(?!\s+doubt)"
    r"|no\s+(?:\w+\s+){1,12}?(?:ended|started|began|begins?|ends?|starts?|finish\w+|satisf\w+|match\w+|meets?|"
    r"fits?|held|served|had|was|were|is|exists?|existed)\b"
    r"|null\b|nil\b|\[\s?\]|\{\s?\}|∅|\(?(?:an\s)?empty\)?(?:\s(?:list|set))?\W*$|0\s+(?:row|result)s"
    r"|none\b|nobody\b|n/?a\b|nothing\b|no\s+such\b"
)
_UNSURE = (
    r"(?:i\s*(?:am|['’]m)\s+)?(?:unsure|uncertain|not\s+(?:sure|certain))\b"
    r"|i\s+(?:do\s+not|don['’]t)\s+(?:know|have)\b|(?:i\s+)?(?:can\s?not|can['’]t|am\s+unable\s+to|unable\s+to)"
    r"\s+(?:determine|say|tell|answer|find|provide|verify)|(?:insufficient|not\s+enough)\s+information"
    r"|(?:the\s+answer\s+is\s+)?unknown\b"
)
_LEAD = (
    r"[\s*_`\"'#>:.\-]*+"
    r"(?:(?:sorry|unfortunately|(?:based\s+on|according\s+to)\s++[^,\n]{1,60}+)\s*+,\s*+)?"
)
_STARTS_NONE = re.compile(rf"{_LEAD}(?:{_NO_ANSWER})", re.I)
_STARTS_UNSURE = re.compile(rf"{_LEAD}(?:{_UNSURE})", re.I)
_SAYS_NONE = re.compile(rf"\b(?:{_NO_ANSWER})", re.I)
_SAYS_UNSURE = re.compile(rf"\b(?:{_UNSURE})", re.I)
_MARKER = re.compile(
    r"^(?:[^\S\n]|[>*_`#-])*+(?:my\s+|final\s+|the\s+)?answers?\s*+(?:is|are)?[*_`]*+\s*+[:：=][*_`]*+"
    r"|\bthe\s+(?:final\s+|correct\s+)?answers?\s+(?:is|are)\b[:\s]*",
    re.I | re.M,
)
_BULLET = re.compile(r"^([ \t]*)(?:[-*•]|\d{1,2}[.)])[ \t]+(.*)$", re.M)
_ENTRY_ENDS = re.compile(r"[*_`\"'”’]*\s*(?:$|[\n(\[:;,|–—-]|(?:from|since|until|and|&)\b)")
"""Behind the name of a list's entry."""
_JSON = re.compile(r"(?:^|:)[ \t*_]{0,9}(?=[\[{])", re.M)
"""Where JSON may begin."""
_KEYS = ("final_answer", "answer", "answers", "names", "name", "result")
_NO_ENTRY = re.compile(
    r"[*_`]*(?:start\w*|end\w*|from|since|until|till|term|dates?|reason\w*|rationale|explanation|note|"
    r"because|this|that|he|she|it|they|his|her|their|who|in|on|as|according|began|begun|duration|period|"
    r"both|all|total|hop|step|\d)\b",
    re.I,
)
_KNOWN = "\0"
"""Stands for a known name."""
_LINE = 2_000
"""Characters of a line that may be a list."""
_BETWEEN_NAMES = re.compile(r"[,;|/]|\band\b|\bor\b")
_OPENINGS = frozenset("yes so thus hence therefore well indeed okay ok sure finally".split())
_NAME = r"[^\W\d_a-z][\w'’.&-]{0,40}(?:\s(?:[^\W\d_a-z][\w'’.&-]{0,40}|of|the|de|van|von))"
_LIKE_A_NAME = re.compile(rf"{_KNOWN}|{_NAME}{{0,5}}")
_WITH = r"[*_]*,? (?:and|&|as well as) (?:also )?[*_]*"
_WITH_KNOWN = re.compile(rf"{_KNOWN}{_WITH}|(?:and|&|as) (?:also )?[*_]*{_KNOWN}")
_BESIDE_KNOWN = re.compile(rf"{_KNOWN}{_WITH}({_NAME}{{1,5}})|({_NAME}{{1,5}}){_WITH}{_KNOWN}")
_DATED = re.compile(
    r" ?[(\[][^()\[\]\d]{0,40}\d[^()\[\]]{0,80}[)\]]"
    r"|(?: (?:from|since|until|to|in|-)){1,3} \d[\d-]*"
)
"""The dates of an entry."""
_TITLE = re.compile(
    r"(?:Prime|Vice|Deputy|Acting|First|Chief|Head|President|Minister|Chancellor|King|Queen"
    r"|Emperor|Sir|The|In)\b"
)
"""How a remark on a name begins."""
_HEAD = re.compile(
    r"[^(\[:;,\n]*?(?=(?<!\s)\s++(?:-++\s|(?:from|since|until|who|was|served|held|started)\b)"
    r"|[(\[:;,\n]|$)"
)


def normalised(text: str) -> str:
    """The text with composed letters, plain dashes and blanks; positions refer to this text."""
    return flat(unicodedata.normalize("NFC", text))


def words(text: str) -> tuple[str, ...]:
    """The words of a name in the form that is compared."""
    return tuple(_folded(token) for token in _TOKEN.findall(unicodedata.normalize("NFC", text)))


def without_json(text: str) -> str:
    """The text with the JSON that ends it, the answer of one's own key first, written as a list."""
    whole = text.rstrip(" \n`*_.")
    if not whole.endswith(("]", "}")):
        return text
    for begin in islice(_JSON.finditer(whole), 3):
        try:
            written = _listed(json.loads(whole[begin.end() :]))
        except (ValueError, RecursionError):
            continue
        return f"{text[: begin.end()]}\n{written}"
    return text


def _listed(value: Any) -> str:
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key not in _KEYS)
        items = [_listed(value[key]) if key in _KEYS else f"{key}: {value[key]}" for key in keys]
        return "\n".join(items) or "None"
    if isinstance(value, list):
        return "\n".join("- " + _listed(each).replace("\n", ", ") for each in value) or "None"
    return "None" if value is None or value == "" else str(value)


def answer_part(text: str) -> int:
    """Where the answer itself begins: after the last `Answer:` or `the answer is`, else 0."""
    for mark in reversed(list(_MARKER.finditer(text))):
        rest = text[mark.end() :]
        if rest.strip(" \t\n*_`."):
            return len(text) - len(rest.lstrip(" \t"))
    return 0


def parse_known_names(
    text: str | None,
    known: Sequence[str],
    aliases: Mapping[str, str] | None = None,
    question: str = "",
) -> NameAnswer:
    """The known names that a text, as `normalised` returns it, gives as its answer; `aliases` are
    other spellings, with the known name that each stands for; words of the question are no
    names."""
    if text is None or not text.strip():
        return NameAnswer(rule="no text")
    begin = answer_part(text)
    part = text[begin:]
    end = len(part)
    mentions = find_names(text, known, aliases)
    mine = tuple(m for m in mentions if m.at[0] >= begin)
    concluding = _CONCLUSION.finditer(text, begin) if len(mine) > 1 else ()
    ends = {match.end() for match in concluding}
    if concluded := [m.at[0] for m in mine if m.at[0] in ends]:
        mine = tuple(m for m in mine if m.at[0] >= concluded[-1])
    elif begin:
        end = _answer_end(part, [(m.at[0] - begin, m.at[1] - begin) for m in mine])
        mine = tuple(m for m in mine if m.at[0] < begin + end)
    if any(m.how == "given" for m in mine):
        mine = tuple(m for m in mine if m.how != "beside")
    first = min((m.at[0] - begin for m in mine), default=len(part))
    if (opening := _STARTS_NONE.match(part)) is not None and opening.end() <= first:
        if why := hedge(part, [opening.span()]):
            return NameAnswer(mentions=mentions, rule=why)
        return NameAnswer(none=True, mentions=mentions, rule="begins with no answer")
    if (opening := _STARTS_UNSURE.match(part)) is not None and opening.end() <= first:
        return NameAnswer(unsure=True, mentions=mentions, rule="begins with unsure")
    names = tuple(dict.fromkeys(m.name for m in mine if m.how in ("given", "beside")))
    for name in names:
        spans = [m.at for m in mine if m.name == name and m.how != "aside"]
        if why := hedge(part, [(start - begin, end - begin) for start, end in spans]):
            return NameAnswer(mentions=mentions, rule=why)
    spans = [(m.at[0] - begin, m.at[1] - begin) for m in mine]
    entries = _unknown_entries(part[:end], spans, question)
    if names or entries:
        return NameAnswer(names, entries, mentions=mentions, rule="names")
    if _SAYS_UNSURE.search(part):
        return NameAnswer(unsure=True, mentions=mentions, rule="says that it is unsure")
    if (none := _SAYS_NONE.search(part)) is not None:
        if why := hedge(part, [none.span()]):
            return NameAnswer(mentions=mentions, rule=why)
        return NameAnswer(none=True, mentions=mentions, rule="says that there is no answer")
    head = _HEAD.match(part.strip(" \t\n*_`\"'#>-."))
    others = (head[0].strip(" *_`\"'.")[:80],) if head is not None else ()
    return NameAnswer(others=tuple(filter(None, others)), mentions=mentions, rule="no known name")


def _answer_end(part: str, spans: Sequence[tuple[int, int]]) -> int:
    """Where the lines behind `Answer:` stop to be a list: at the first one, behind a line with a
    name, that is not a list entry or table row and does not begin with a name and its dates."""
    has_name, at = False, 0
    for line in part.splitlines(keepends=True):
        inside = [span for span in spans if at <= span[0] < at + len(line)]
        bare = line.strip(" \t\n*_`>.")
        is_other = _BULLET.match(line) or bare[:1] in "|[{" or _LIKE_A_NAME.fullmatch(bare)
        if has_name and not is_other:
            is_entry = inside and not part[at : inside[0][0]].strip(" \t*_`\"'>")
            if not (is_entry and _ENTRY_ENDS.match(part, inside[0][1])):
                return at
        has_name = has_name or bool(inside)
        at += len(line)
    return len(part)


def find_names(
    text: str, known: Sequence[str], aliases: Mapping[str, str] | None = None
) -> tuple[Mention, ...]:
    """All mentions of the known names, the longest at each position, also by their aliases."""
    names = aliases or {}
    index = _index((*known, *names))
    tokens = list(_TOKEN.finditer(text))
    mentions: list[Mention] = []
    at = 0
    while at < len(tokens):
        for spelled, name in index.get(_folded(tokens[at][0]), ()):
            if tuple(_folded(t[0]) for t in tokens[at : at + len(spelled)]) == spelled:
                span = tokens[at].start(), tokens[at + len(spelled) - 1].end()
                mentions.append(Mention(names.get(name, name), span, _how(text, span)))
                at += len(spelled)
                break
        else:
            at += 1
    return tuple(mentions)


@lru_cache(maxsize=4096)
def _index(known_names: tuple[str, ...]) -> dict[str, list[tuple[tuple[str, ...], str]]]:
    """Names by their first word, the longest first; of names spelled alike, the first."""
    names: dict[tuple[str, ...], str] = {}
    for name in known_names:
        names.setdefault(words(name), name)
    index: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for parts, name in sorted(names.items(), key=lambda pair: -len(pair[0])):
        if parts:
            index.setdefault(parts[0], []).append((parts, name))
    return index


def _how(text: str, span: tuple[int, int]) -> Literal["given", "denied", "aside", "beside"]:
    how = _how_behind(text[max(0, span[0] - 60) : span[0]])
    if how != "given":
        return how
    if _RULED_OUT.match(text, span[1]):
        return "denied"
    if _ASIDE_BEHIND.match(text, span[1]):
        return "aside"
    return "beside" if _BESIDE.match(text, span[1]) else "given"


@lru_cache(maxsize=4096)  # a text that loops repeats the words before a mention
def _how_behind(words: str) -> Literal["given", "denied", "aside"]:
    before = re.split(r"[.;:\n]\s", words)[-1]
    if _DENIED.search(before):
        return "denied"
    return "aside" if _ASIDE.search(before) else "given"


def _unknown_entries(text: str, spans: Sequence[tuple[int, int]], question: str) -> tuple[str, ...]:
    """The list entries without a known name, which are at these spans, that are no remark on
    one."""
    bullets = list(_BULLET.finditer(text))
    indent = min((len(b[1]) for b in bullets), default=0)
    entries = list(_unknown_in_line(text, spans, question))
    starts = [start for start, _ in spans]
    for bullet in bullets:
        has_name = bisect_left(starts, bullet.start()) < bisect_left(starts, bullet.end())
        line = bullet[2]
        is_remark = _STARTS_NONE.match(line) or _STARTS_UNSURE.match(line) or _NO_ENTRY.match(line)
        if has_name or is_remark or len(bullet[1]) > indent:
            continue
        head = _HEAD.match(line.strip(" *_`\"'"))
        if head is not None and re.search(r"[^\W\d_]", head[0]):
            entries.append(head[0].strip(" *_`\"'.")[:80])
    if "\n" not in text or not spans:
        return tuple(entries)
    lines = [line.strip(" \t*_`.") for line in text.splitlines() if line.strip()]
    if all(map(_LIKE_A_NAME.fullmatch, lines)):
        names = {text[start:stop] for start, stop in spans}
        entries += [line for line in lines if not any(name in line for name in names)]
    return tuple(dict.fromkeys(entries))


def _unknown_in_line(text: str, spans: Sequence[tuple[int, int]], question: str) -> tuple[str, ...]:
    """The unknown names beside a known one, and those of a first line that is a list of names.
    Behind commas up to two may say what the last known name is, in one word each, by a title or in
    words of the question: `Carl Dahl, Tallinn, Estonia`."""
    end = text.find("\n", len(text) - len(text.lstrip()))
    line = text[: end if end >= 0 else len(text)]
    for start, stop in reversed(spans):
        if stop <= len(line):
            line = f"{line[:start]}{_KNOWN}{line[stop:]}"
    if not spans or ("&" not in line and not _BETWEEN_NAMES.search(line[:_LINE])):
        return ()
    line = _DATED.sub("", line[:_LINE])

    def is_name(entry: str) -> bool:
        return not _TITLE.match(entry) and entry.casefold() not in question.casefold()

    if _WITH_KNOWN.search(line):
        found = [m[1] or m[2] for m in _BESIDE_KNOWN.finditer(line)]
        if beside := tuple(filter(is_name, found)):
            return beside
    items = [each.strip(" \t*_`\"'.[]()") for each in _BETWEEN_NAMES.split(line)]
    items = [each for each in items if each and each.lower() not in _OPENINGS]
    if _KNOWN not in items or not all(_LIKE_A_NAME.fullmatch(each) for each in items):
        return ()
    last = len(items) - items[::-1].index(_KNOWN)
    unknown = [each for each in items[:last] if each != _KNOWN]
    behind = items[last:]
    if len(behind) <= 2 and not re.search(r"[;|/]|\band\b|\bor\b", line):
        is_of_words = any(" " in text[start:stop] for start, stop in spans)
        behind = [each for each in behind if is_of_words and " " in each and is_name(each)]
    return tuple(unknown + behind)


@lru_cache(maxsize=65536)
def _folded(token: str) -> str:
    return plain_letters(token.casefold())


def plain_letters(text: str) -> str:
    """Small letters without their accents."""
    apart = unicodedata.normalize("NFKD", text.translate(_SPECIAL))
    return "".join(c for c in apart if not unicodedata.combining(c))


_NUMBER_WORDS = {word: number for word, number in NUMBERS.items() if number <= 20} | TIMES
_NUMBER = re.compile(
    rf"(?<![\w.,])(?:\d{{1,3}}(?:,\d{{3}})+|\d+)(?![\w]|[.,]\d)|\b(?:{'|'.join(_NUMBER_WORDS)})\b",
    re.I,
)
_MOST_DIGITS = 40
_EITHER = re.compile(r"\s*\(?(?:or|to|and|[-/,;&|])\s*", re.I)
_COUNTED = re.compile(r"[\s*_`]*(?:times|days?|terms?|stints?)\b", re.I)


def parse_number(text: str | None, dates: Sequence[tuple[int, int]]) -> int | None:
    """The number in a text, as `normalised` returns it, outside the spans `dates`; None for no
    number, or for several of which none is a count of times or days, and for a hedge."""
    if text is None:
        return None
    begin = answer_part(text)
    date_spans = sorted(dates)
    numbers = [m for m in _NUMBER.finditer(text, begin) if not _is_within(m.start(), date_spans)]
    counts = [m for m in numbers if _COUNTED.match(text, m.end()) or "ce" in m[0][-2:].lower()]
    gaps = (text[a.end() : b.start()] for a, b in pairwise(numbers))
    if any(_EITHER.fullmatch(gap) for gap in gaps):
        return None
    values = {_number(m[0]) for m in numbers}
    if len(values) > 1 and counts:
        values = {_number(m[0]) for m in counts}
    if len(values) > 1 and numbers and not text[begin : numbers[0].start()].strip(" \t\n*_`"):
        values = {_number(numbers[0][0])}  # the number itself comes first, then its derivation
    if len(values) != 1:
        return None
    (value,) = values
    spans = [(m.start() - begin, m.end() - begin) for m in numbers if _number(m[0]) == value]
    return None if hedge(text[begin:], spans) else value


def _is_within(place: int, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether the index lies in one of the spans, which are sorted and do not overlap."""
    before = bisect_right(spans, (place, place))
    nearest = spans[max(0, before - 1) : before + 1]
    return any(start <= place < end for start, end in nearest)


def _number(text: str) -> int | None:
    """Its value; None for more digits than any count has."""
    plain = text.lower().replace(",", "")
    if len(plain) > _MOST_DIGITS:
        return None
    return int(plain) if plain.isdigit() else _NUMBER_WORDS.get(plain)
