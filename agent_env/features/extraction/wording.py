"""The relations with the wording of their facts and questions, and the parsers of both.

A statement with a time that cannot be parsed is a defect, listed with its reason. Two facts with
the same interval remain two.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from agent_env.features.answers.names import normalise
from agent_env.features.extraction.solver import Fact, Query, Relation, Shift, Ties
from agent_env.sdk.errors import first_problem
from agent_env.temporal.months import DATE_TEXT, Span, month, read_span, write_month


@dataclass(frozen=True, slots=True)
class RelationWording:
    """One relation between a topic and a value."""

    name: str
    past: str
    """A fact without its time; placeholders {t}, {v}."""
    lasting: str
    """The same of a fact that has not ended."""
    ask: str
    """The question; placeholders {t}, {when}."""
    today: str
    """The question about the present; placeholder {t}."""
    cues: tuple[str, ...]
    """Words that identify its questions, ours and published ones."""
    other_lines: tuple[str, ...] = ()
    """Wordings of published facts."""


def _read_relations() -> dict[str, RelationWording]:
    """Those of the file beside this one, by name."""
    text = Path(__file__).with_name("relations.toml").read_text(encoding="utf-8")
    relations = {}
    for entry in tomllib.loads(text)["relations"]:
        cues, other_lines = tuple(entry.pop("cues")), tuple(entry.pop("other_lines", ()))
        relation = RelationWording(**entry, cues=cues, other_lines=other_lines)
        relations[relation.name] = relation
    return relations


KINDS = _read_relations()


TIE_RULES: dict[Ties, str] = {
    "nearest": "Of several that begin in the same month, the one meant is the last to end before, "
    "or the first to end after.",
    "first-ending": "Of several that begin in the same month, the one that ends first is meant.",
    "last-ending": "Of several that begin in the same month, the one that ends last is meant.",
}
"""How the prompt states the tie-break; `all` needs no rule."""


def kind_of(question: str) -> str | None:
    """The relation of a question, by its longest cue; None without one."""
    lowered = question.casefold()
    matches = [
        (len(cue), kind.name)
        for kind in KINDS.values()
        for cue in kind.cues
        if re.search(rf"\b{re.escape(cue)}", lowered)
    ]
    if any(name == "coach" for _, name in matches):
        return "coach"  # a head coach is not a head
    return max(matches)[1] if matches else None


PROSE = (
    "From {start} to {end} {statement}.",
    "{statement} from {start} until {end}.",
    "{statement} ({start} to {end}).",
)
IN_ONE = ("In {at} {statement}.", "{statement} in {at}.")
OPEN = "{statement} since {start}."


def fact_line(fact: Fact) -> str:
    """`S … O from January 1992 until January 1998.`, or as prose of the same form."""
    return prose(fact, 1)


def prose(fact: Fact, form: int) -> str:
    """The fact as a sentence of running text, in one of several forms."""
    start = "" if fact.start is None else _long_date(fact.start)
    end = "" if fact.end is None else _long_date(fact.end)
    wording = KINDS[fact.kind]
    template = wording.lasting if start and not end else wording.past
    statement = template.format(t=fact.topic, v=fact.value)
    has_stop = statement.endswith(".")  # then the sentence ends with the date
    if start and end:
        forms = IN_ONE if start == end else PROSE
        text = forms[1 if has_stop else form % len(forms)]
    elif start:
        text = OPEN
    elif end:
        text = "{statement} until {end}." if has_stop else "Until {end} {statement}."
    else:
        text = "All along {statement}" if has_stop else "All along {statement}."
    return text.format(statement=statement, start=start, end=end, at=end)


def _long_date(text: str) -> str:
    return text if "-" not in text else write_month(read_span(text).first)


_STILL = r"present|now|today"


def _form(text: str) -> re.Pattern[str]:
    """The regular expression of a sentence form."""
    pattern = re.escape(text).replace(r"\{statement\}", "(?P<statement>.+)")
    for name in ("start", "at"):
        pattern = pattern.replace(rf"\{{{name}\}}", f"(?P<{name}>{DATE_TEXT})")
    return re.compile(pattern.replace(r"\{end\}", f"(?P<end>{DATE_TEXT})"))


FORMS = (
    *(_form(text) for text in (*PROSE, "Until {end} {statement}.", "All along {statement}.")),
    _form(IN_ONE[0]),
    re.compile(
        rf"(?P<statement>.+?),? (?:from|since) (?P<start>{DATE_TEXT})"
        rf"(?: (?:to|until|till|through) (?:(?P<end>{DATE_TEXT})|(?:the )?(?:{_STILL})))?"
        r"(?: on)?\.?"
    ),
    re.compile(rf"(?P<statement>.+?),? (?:until|till) (?P<end>{DATE_TEXT})\.?"),
    re.compile(rf"(?P<statement>.+?),? in (?P<at>{DATE_TEXT})\.?"),
)
_CUT = re.compile(r"(?<=\d{3}\.)\s+(?=\S)|(?<=\d{3}\)\.)\s+(?=\S)|(?<=[pP]resent\.)\s+(?=\S)|\n+")
_A_YEAR = re.compile(r"\b\d{4}\b|\b(?:from|since|until|till|to|in) (?:\w+\.?,? )?\d{3}\b")


def _statement_pattern(template: str) -> re.Pattern[str]:
    pattern = re.escape(template).replace(r"\{t\}", "(?P<t>.+?)").replace(r"\{v\}", "(?P<v>.+)")
    return re.compile(pattern)


_STATEMENTS = sorted(
    (
        (template, kind.name, _statement_pattern(template))
        for kind in KINDS.values()
        for template in (kind.past, kind.lasting, *kind.other_lines)
    ),
    key=lambda form: -len(form[0]),
)


@dataclass(frozen=True, slots=True)
class Defect:
    """A statement that should be a fact but cannot be parsed."""

    line: int
    """The statement's number, from 1."""
    text: str
    reason: str

    def __str__(self) -> str:
        return f"{self.line}: {self.reason}: {self.text}"


@dataclass(frozen=True, slots=True)
class ParsedFacts:
    """The facts of a text in order, and its defects."""

    facts: tuple[Fact, ...]
    defects: tuple[Defect, ...]
    repeated: int
    """Number of verbatim repetitions, which are dropped."""


def read_facts(text: str, running: bool = False) -> ParsedFacts:
    """The facts of a text; in `running` text a statement without a year need not be a fact."""
    facts: list[Fact] = []
    defects: list[Defect] = []
    statements = (part.strip() for part in _CUT.split(text) if part.strip())
    for number, statement in enumerate(statements, start=1):
        try:
            facts.append(read_fact(statement))
        except ValueError as exc:
            states_relation = any(pattern.match(statement) for _, _, pattern in _STATEMENTS)
            if not running or (_A_YEAR.search(statement) and states_relation):
                defects.append(Defect(number, statement, str(exc)))
    distinct = tuple(dict.fromkeys(facts))
    return ParsedFacts(distinct, tuple(defects), len(facts) - len(distinct))


def read_fact(statement: str) -> Fact:
    """The fact of a statement. Raises ValueError with the reason."""
    for form in FORMS:
        if (match := form.fullmatch(statement)) is not None:
            parts = match.groupdict()
            topic, kind, value = parse_statement(parts["statement"])
            at = parts.get("at")
            return make_fact(topic, kind, value, parts.get("start", at), parts.get("end", at))
    if not _A_YEAR.search(statement):
        return make_fact(*parse_statement(statement.removesuffix(".")), None, None)
    raise ValueError("no interval such as `from Jan, 1992 to Jan, 1998`")


def parse_statement(text: str) -> tuple[str, str, str]:
    """Topic, kind and value. Raises ValueError for an unknown relation."""
    for _, kind, pattern in _STATEMENTS:
        if (match := pattern.fullmatch(text)) is not None:
            return match["t"], kind, match["v"]
    raise ValueError("no known relation")


def make_fact(topic: str, kind: str, value: str, start: str | None, end: str | None) -> Fact:
    """The fact with normalised dates. Raises ValueError for an impossible date or order."""
    try:
        return Fact(
            topic=topic, kind=kind, value=value, start=_stored_date(start), end=_stored_date(end)
        )
    except ValidationError as exc:
        raise ValueError(first_problem(exc.errors())) from None


def _stored_date(text: str | None) -> str | None:
    if text is None:
        return None
    span = read_span(text)
    return text.strip() if span != Span(span.first, span.first) else write_month(span.first, "iso")


_DATE = f"({DATE_TEXT})"
_DECADE = re.compile(r"\b(early|mid|late)[ -](?:the )?(\d{2,3}0)s", re.I)
_TWO = (
    ("between", re.compile(rf"\bbetween {_DATE} (?:and|to) {_DATE}", re.I)),
    ("throughout", re.compile(rf"\bfrom {_DATE} (?:to|until|till) {_DATE}", re.I)),
    ("throughout", re.compile(rf"\bthroughout (?={_DATE}){_DATE}", re.I)),
)
_ONE = re.compile(rf"\b(in|on|during|before|after) (?!\d{{3}} \w){_DATE}(?=\W|$)", re.I)
_NEXT = re.compile(
    r"\bin the (month|year) (?:(?:right|just|directly|immediately) )?"
    rf"(before|after|preceding|following) {_DATE}",
    re.I,
)
_BESIDE = re.compile(r"\b(before|after) (?:that of )?", re.I)
_LEADING = re.compile(r"(.+?), (?:who|whom|whose|which|what|where|in|for|by)\b", re.I | re.S)
_SUM = re.compile(
    r"(?:(?<!\d)(\d{1,6}+) years?)?(?: and )?(?:(?<!\d)(\d{1,6}+) months?)? (before|after) " + _DATE
)
DECADES = {"early": (0, 3), "mid": (4, 6), "late": (7, 9)}
"""Years of a decade: 1980 to 1983, 1984 to 1986, 1987 to 1989."""


def read_query(question: str, values: tuple[str, ...] = ()) -> Query | None:
    """The query; None for an unknown form of question. `values` are the facts' spellings of a
    reference that is not a date."""
    if (match := _DECADE.search(question)) is not None:
        low, high = DECADES[match[1].lower()]
        decade = int(match[2])
        return Query("between", Span(month(decade + low, 1), month(decade + high, 12)))
    # `before NAME` or `after NAME`, at the end of the question or, with a comma, before it; a name
    # of the values before any other
    queries: list[Query] = []
    for match in _BESIDE.finditer(question):
        relation: Relation = "before" if match[1].lower() == "before" else "after"
        rest = question[match.end() :].rstrip()
        leading = _LEADING.match(rest) if match.start() == 0 else None
        name = leading[1] if leading is not None else rest.rstrip("?").rstrip() or rest[:1]
        queries.append(Query(relation, written_as(name, values)))
    known = next((q for q in queries if q.reference in values), queries[0] if queries else None)
    if known is not None and known.reference in values:
        return known
    try:
        return _dated(question) or known
    except ValueError:
        return None  # an impossible date


def _dated(question: str) -> Query | None:
    for relation, span_of_two in _TWO:
        if (match := span_of_two.search(question)) is not None:
            first, last = read_span(match[1]), read_span(match[2])
            name: Relation = "between" if relation == "between" else "throughout"
            return Query(name, Span(first.first, last.last))
    if (match := _NEXT.search(question)) is not None:
        span = read_span(match[3])
        length = 12 if match[1].lower() == "year" else 1
        before = match[2].lower() in ("before", "preceding")
        start = span.first - length if before else span.last + 1
        return Query("in", Span(start, start + length - 1))
    ones = list(_ONE.finditer(question))
    if not ones:
        return None
    word, span = ones[-1][1].lower(), read_span(ones[-1][2])
    if word in ("before", "after"):
        return Query("before" if word == "before" else "after", span)
    return Query("in", span)


def written_as(name: str, values: tuple[str, ...]) -> str:
    """The value that equals the name after normalisation, else the name."""
    normalised = normalise(name)
    return next((value for value in values if normalise(value) == normalised), name.strip())


def read_reference(relation: Relation, text: str, values: tuple[str, ...]) -> str | Span:
    """A model's reference, parsed: a value of the facts, a date, or two dates."""
    value = written_as(text, values)
    if value in values:
        return value
    parts = re.split(r"(?<!\s)\s++(?:to|and|until|-|–)\s+|/", text.strip())
    try:
        spans = [read_span(part) for part in parts]
    except ValueError:
        if relation in ("before", "after"):
            return text.strip()
        raise
    return Span(spans[0].first, spans[-1].last)


def read_shift(question: str) -> Shift | None:
    """The question of level L1 like `What is the time 5 years and 4 months after Nov, 1992?`; None
    for another question."""
    match = _SUM.search(question)
    if match is None or not (match[1] or match[2]):
        return None
    months = int(match[1] or 0) * 12 + int(match[2] or 0)
    try:
        return Shift(read_span(match[4]), months if match[3] == "after" else -months)
    except ValueError:
        return None


def date_form(text: str) -> str:
    """A date as answers of level L1 are compared, `Jun, 2001` or `995`; other text as it is."""
    try:
        span = read_span(text)
    except ValueError:
        return text
    return write_month(span.first, "short") if span.first == span.last else str(span.first // 12)
