"""Whether other words ask the same question: all that a question says is read back from them.

Guarantees of an accepted text: every value stands in it letter by letter, no other value of the
question's rows does; all its dates are read, and they say of start and end just what the question
says; nothing that is left of it denies, excludes, ranks or adds a time. What cannot be read back is
refused, so that good sentences are lost too: that costs variety, never a gold.
Not covered: of kinds without an interval b only the cues below are looked for, not the grammar.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from agent_env.families.tdbench.domains import DOMAINS, ENTRY, Ask, user_domain
from agent_env.families.tdbench.reading import (
    DATE,
    EXACT,
    MONTH,
    NUMBER,
    Bound,
    iso,
    read_bounds,
    shifted,
)
from agent_env.families.tdbench.sample import Kind, TdbenchSample
from agent_env.records.schema import MaterialTable, Record
from agent_env.temporal.facts.temporal_table import TIME_COLUMNS
from agent_env.temporal.fiction.names import ordinal

BEGIN = (
    "assumed office", "assumed the office", "assumed the post", "assumed the role", "joined",
    "came to office", "was sworn in", "was inaugurated", "was appointed", "became", "arrived",
    "was admitted", "entered into force", "became effective", "began", "started",
)  # fmt: skip
END = (
    "stepped down", "left the post", "left the role", "left", "departed", "was discharged",
    "expired", "was repealed", "stopped applying", "concluded", "ended", "finished",
)  # fmt: skip
STAY = ("served", "held office", "ran on", "carried on", "persisted")
STILL = ("still in office", "still serving", "still in force", "still going on", "still running")
"""What our templates do not say, for how a row began, ended, went on `until after` a day, and held
`on` one: the last two say the same of its end."""

LESS = "before|earlier than|ahead of"
MORE = "after|later than|subsequent to"
LASTING = "until after|beyond|past"
REFUSED = re.compile(
    rf"\b(?:not|never|no|neither|nor|none|without|except|excluding|unless|other than|rather|instead"
    rf"|or|either|unlike|failed|almost|nearly|roughly|approximately|around|circa"
    rf"|just|shortly|soon|immediately|long|right|directly|first|last|earliest|latest|longest"
    rf"|shortest|only|previous|next|former|predecessors?|successors?"
    rf"|days?|weeks?|months?|years?|decades?|centur(?:y|ies)"
    rf"|before|after|until|till|since|ago|prior|later|earlier|between|{MONTH})\b|n['’]t\b|\d+",
    re.IGNORECASE,
)
"""What may not be left of a text once its values and its dates are taken out."""
LONGEST = 3
"""Times the length of the template's sentence."""

_WHO = r"who|whom|whose|anyone|anybody|someone|person|people|individual|name|holder|which ¤"
NOUNS = {
    "person": _WHO,
    "player": f"player|{_WHO}",
    "patient": f"patient|{_WHO}",
    "doctor": "doctor|physician",
    "club": "club|team",
    "status": "status",
    "country": "country|countries|where",
    "ward": "ward",
}
"""Words by which the attribute that is asked for can be told."""
LISTED = r"listed|list|table|any|some"
CUES: dict[Kind, tuple[str, ...]] = {
    "current": (r"as of|currently|current|now|today|at present|presently|on",),
    "nth": (r"start(?:ed|s|ing)?|beg[iau]n(?:s|ning)?|earliest|order(?:ed)?|chronological(?:ly)?",),
    "count": (r"times?",),
    "longest": (r"longest", r"ended|over|finished|still|completed|concluded"),
    "duration": (r"days?", r"both|common|shared?|same|overlap(?:ped)?", r"ends?|ended"),
    "hops": (r"host(?:s|ed|ing)?",),
}  # fmt: skip
NAMED = re.compile(rf"(?<=[^.?!:\s] )(?!(?:{MONTH})\b)[A-Z]\w+")
"""Words with a capital within a sentence."""
TURNED = re.compile(r"\b(?:last|latest|revers\w*|backwards?|not|never|without|except|or)\b", re.I)
"""What turns a question of these kinds into another."""


class Told(Record):
    """What must be read back from any wording of one question."""

    kind: Kind
    template: str
    values: tuple[str, ...]
    barred: tuple[str, ...]
    """Answers, other values of the same rows, and longer values that hold one of `values`."""
    ambiguous: bool = False
    """Whether two of the values could be taken for each other."""
    cues: tuple[str, ...] = ()
    """Patterns of which each must be found."""
    bounds: tuple[tuple[str, str, str], ...] = ()
    """What is said of start and end: side, test, date."""
    now: str = ""
    number: str = ""
    """An ordinal, such as 3rd."""


class Vocabulary:
    """The values of a set's tables, by column; each column is read once."""

    def __init__(self, tables: Mapping[str, MaterialTable]) -> None:
        self._tables = tables
        self._columns: dict[tuple[str, str], frozenset[str]] = {}

    def column(self, sample: TdbenchSample, name: str) -> frozenset[str]:
        """The values of the first of the sample's tables that has the column; () without one."""
        for digest in sample.materials:
            table = self._tables[digest]
            if name in table.columns and name not in TIME_COLUMNS:
                if (digest, name) not in self._columns:
                    at = table.columns.index(name)
                    found = frozenset(str(row[at]) for row in table.rows)
                    self._columns[digest, name] = found
                return self._columns[digest, name]
        return frozenset()

    def beside(self, sample: TdbenchSample) -> set[str]:
        """Every value of the rows that bear on the question."""
        return {
            str(row[at])
            for digest, places in zip(sample.materials, sample.relevant, strict=True)
            for at, name in enumerate(self._tables[digest].columns)
            if name not in TIME_COLUMNS
            for row in (self._tables[digest].rows[place] for place in places)
        }


def told(sample: TdbenchSample, known: Vocabulary) -> Told:
    """What the sample's question says."""
    ask, values = _ask(sample), _values(sample)
    bounds = read_bounds(sample.question) if sample.kind == "relation" else ()
    columns = {name: known.column(sample, name) for name in sample.asked}
    longer = {
        v for c in columns.values() for v in c for own in values if v != own if _holds(v, own)
    }
    others = known.beside(sample) | set(sample.others) | set(sample.gold)
    kept = {v for v in others | longer if v and v not in values}
    doubtful = [
        value in columns[other]
        for name, value in sample.asked.items()
        for other in sample.asked
        if other != name
    ]
    return Told(
        kind=sample.kind,
        template=sample.question,
        values=values,
        barred=tuple(sorted(v for v in kept if not _holds(sample.question, v))),
        ambiguous=any(doubtful),
        cues=_cues(sample, ask),
        bounds=tuple((b.side, b.test, b.day) for b in bounds),
        now=sample.now if sample.kind == "current" else "",
        number=_number(sample),
    )


def refusal(text: str, wanted: Told) -> str | None:
    """Why the text is not taken in place of the template's; None where it is."""
    if not text or len(text) > LONGEST * len(wanted.template) + 80:
        return "no sentence of this length"
    if wanted.ambiguous:
        return "its values could be taken for each other"
    if any(not _holds(text, value) for value in wanted.values):
        return "a value is missing or spelt otherwise"
    if any(_holds(text, value) for value in wanted.barred):
        return "it names a value that the question does not"
    rest = _without(text, wanted.values)
    if any(not re.search(rf"(?<!\w)(?:{cue})(?!\w)", rest, re.I) for cue in wanted.cues):
        return "what is asked for cannot be told from it"
    if any(not _holds(wanted.template, name) for name in NAMED.findall(rest)):
        return "it names something that the question does not"
    return _of_interval(rest, wanted) if wanted.kind == "relation" else _of_rest(rest, wanted)


def _of_interval(rest: str, wanted: Told) -> str | None:
    """Whether start and end are said to be what they were."""
    found, left = _read(rest)
    if {(b.side, b.test, b.day) for b in found} != set(wanted.bounds):
        return "its dates, or what is said of start and end, are not the question's"
    own = _read(_without(wanted.template, wanted.values))[1]
    return _surplus(REFUSED, left, own)


def _surplus(refused: re.Pattern[str], left: str, own: str) -> str | None:
    """What the rest of a text says that the rest of the template does not."""
    allowed = {word.lower() for word in refused.findall(own)}
    more = [word.lower() for word in refused.findall(left) if word.lower() not in allowed]
    return f"it says more than the question: {more[0]}" if more else None


def _of_rest(rest: str, wanted: Told) -> str | None:
    """Whether the one date or number is there, and nothing turns the question round."""
    dates = [match[0] for match in re.finditer(rf"\b(?:{DATE})\b", rest)]
    if [iso(day) for day in dates] != ([wanted.now] if wanted.now else []):
        return "its dates are not the question's"
    for day in dates:
        rest = rest.replace(day, "¤")
    ordinals = re.findall(r"\b\d+(?:st|nd|rd|th)\b", _in_digits(rest))
    if set(ordinals) != ({wanted.number} if wanted.number else set()):
        return "its number is not the question's"
    if re.search(r"\d", re.sub(r"\b\d+(?:st|nd|rd|th)\b", "", rest)):
        return "it holds another number"
    own = re.sub(rf"\b(?:{DATE})\b", "¤", _without(wanted.template, wanted.values))
    return _surplus(REFUSED if wanted.kind == "current" else TURNED, rest, own)


# What a question says ---------------------------------------------------------------------------


def _ask(sample: TdbenchSample) -> Ask | None:
    """The domain's way of asking; None for joins and days in common."""
    domain = DOMAINS.get(sample.domain)
    asks = domain.asks if domain else ()
    for ask in asks:
        if set(ask.asked) == set(sample.asked) and ask.answers == sample.answers:
            return ask
    if sample.kind in ("hops", "duration"):
        return None
    return user_domain("own", tuple(sample.asked), sample.answers, True).asks[0]


def _values(sample: TdbenchSample) -> tuple[str, ...]:
    """The question's values; of days in common also those of the two rows."""
    rows = [row.answer for row in sample.golds] if sample.kind == "duration" else []
    return (*sample.asked.values(), *rows)


def _cues(sample: TdbenchSample, ask: Ask | None) -> tuple[str, ...]:
    found = list(CUES.get(sample.kind, ()))
    if ask is not None:
        found += [NOUNS.get(ask.noun, re.escape(name)) for name in ask.noun.split(" and ")]
        listed = ask.listed or sample.kind in ("nth", "count", "longest")
        found += [LISTED] if listed and re.search(rf"\b(?:{LISTED})\b", sample.question) else []
    return tuple(found)


def _number(sample: TdbenchSample) -> str:
    if sample.kind not in ("nth", "count"):
        return ""
    rest = _without(sample.question, _values(sample))
    return next(iter(re.findall(r"\b\d+(?:st|nd|rd|th)\b", rest)), "")


# What other words say ---------------------------------------------------------------------------


@cache
def _tokens() -> re.Pattern[str]:
    verbs = [*(domain.verbs for domain in DOMAINS.values()), ENTRY]
    begin = _either([*BEGIN, *(w for v in verbs for w in v.begin)])
    end = _either([*END, *(w for v in verbs for w in v.end)])
    stay = _either([*STAY, *(w for v in verbs for w in v.stay)])
    return re.compile(
        rf"\b(?:(?P<begin>{begin})|(?P<stay>{stay})|(?P<still>{_either(STILL)})|(?P<end>{end})"
        rf"|{EXACT}(?P<count>{NUMBER}) (?P<unit>day|month|year)s? "
        rf"(?P<way>before|after) (?P<far>{DATE})"
        rf"|(?P<lasting>{LASTING}) (?P<lasting_day>{DATE})"
        rf"|(?:{LESS}) (?P<less_day>{DATE})|(?:{MORE}) (?P<more_day>{DATE})"
        rf"|(?:on|in) (?P<same_day>{DATE}))\b"
    )


def _either(words: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, set(words)), key=len, reverse=True))


def _read(text: str) -> tuple[tuple[Bound, ...], str]:
    """All that is said of starts and ends, and the text without it. A date before which something
    went on, and one without a verb before it, are left in the text."""
    found: list[Bound] = []
    left, side, at = "", "", 0
    text = text.replace("prior to", "before")
    for match in _tokens().finditer(text):
        if verb := next((v for v in ("begin", "stay", "still", "end") if match[v]), None):
            side = verb
        elif bound := _bound(match, side):
            found.append(bound)
        else:
            continue
        left += text[at : match.start()] + " "
        at = match.end()
    return tuple(found), left + text[at:]


def _bound(match: re.Match[str], side: str) -> Bound | None:
    if side in ("begin", "end") and match["far"]:
        return _offset("start" if side == "begin" else "end", match)
    lasting = match["lasting"] is not None
    wants = {"begin": not lasting, "end": not lasting, "stay": lasting}
    if side == "still" and match["same_day"]:
        return Bound("end", ">", iso(match["same_day"]))
    if not wants.get(side) or match["far"]:
        return None
    if lasting:
        return Bound("end", ">", iso(match["lasting_day"]))
    of = "start" if side == "begin" else "end"
    test, day = next(
        (t, match[name])
        for t, name in (("<", "less_day"), (">", "more_day"), ("=", "same_day"))
        if match[name]
    )
    return Bound(of, test, iso(day))


def _offset(side: str, match: re.Match[str]) -> Bound | None:
    try:
        return Bound(side, "=", shifted(match))
    except (ValueError, OverflowError):  # no such day
        return None


def _holds(text: str, value: str) -> bool:
    """Whether the value stands in the text as a word of its own, in any case."""
    if value.casefold() not in text.casefold():
        return False
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text, re.IGNORECASE) is not None


def _without(text: str, values: Iterable[str]) -> str:
    """The text with a mark in place of each value, long ones first."""
    for value in sorted(values, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", "¤", text, flags=re.IGNORECASE)
    return text


_WORDS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()


def _in_digits(text: str) -> str:
    """Ordinals in words as in digits."""

    def digits(match: re.Match[str]) -> str:
        return ordinal(_WORDS.index(match[0].lower()) + 1)

    return re.sub(rf"\b(?:{'|'.join(_WORDS)})\b", digits, text, flags=re.IGNORECASE)


def words(text: str) -> str:
    """The text for comparing: its words in small letters."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def lines_of(reply: str) -> Iterator[str]:
    """The sentences of a reply, a line each, without numbers, bullets and quotes before them."""
    for line in reply.splitlines():
        bare = re.sub(r"^\s*(?:[-*•]\s+|\(?\d{1,2}[.):]\s+)", "", line).strip().strip('"“”').strip()
        if bare.endswith(("?", ".", "!")):
            yield " ".join(bare.split())
