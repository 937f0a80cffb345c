"""Checks that other words ask the same question, by parsing everything that they state.

Guarantees of an accepted text: every value stands in it letter by letter, no other value of the
question's rows does; all its dates are parsed, and they state of start and end exactly what the
question states; nothing that remains denies, excludes, ranks or adds a time. A text that cannot be
parsed is refused, so good sentences are lost too: that costs variety, never a gold.
Not covered: of kinds without an interval b only the cues below are looked for, not the grammar.

The wording of a set by a model is a task of its own: a query each, all its phrasings at once. The
model's words are taken where the same question is read from them; else the template's stay. So a
set worded by a model has the queries, golds and rows of the same set without one.

A user's own sentences for the columns of a table are checked the same way. Their TOML file has
`relation`, a list of sentences with `{cond}` where the condition on time goes, and may have
`current` (with `{now}`), `verbs` (office, spell, rule, stay or entry), `noun` and `group` (for
`nth`, `longest` and `count`). Every sentence names each column of the question once, as `{column}`.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import cycle, groupby, islice
from pathlib import Path

from pydantic import Field, ValidationError

from agent_env.extensions.facts.fiction.names import ordinal
from agent_env.extensions.facts.tables.temporal_table import TIME_COLUMNS
from agent_env.families.tdbench.reading import (
    DATE,
    bounds_of,
    iso,
    parse_condition,
    read_bounds,
)
from agent_env.families.tdbench.sample import Kind, TdbenchSample, tdbench_sample
from agent_env.families.tdbench.wording import (
    DOMAINS,
    STYLES,
    VERBS,
    Domain,
    QuestionForm,
    user_domain,
)
from agent_env.sdk.errors import ConfigError, DatasetError, first_problem
from agent_env.sdk.family import Family, Rewording, RewordingResult
from agent_env.sdk.records import (
    Condition,
    Episode,
    MaterialTable,
    Message,
    Record,
    Sample,
    Score,
)
from agent_env.sdk.scoring import episode_score
from agent_env.temporal.written import MONTH

REFUSED = re.compile(
    rf"\b(?:not|never|no|neither|nor|none|without|except|excluding|unless|other than|rather|instead"
    rf"|or|either|unlike|failed|almost|nearly|roughly|approximately|around|circa"
    rf"|just|shortly|soon|immediately|long|right|directly|first|last|earliest|latest|longest"
    rf"|shortest|only|previous|next|former|predecessors?|successors?"
    rf"|days?|weeks?|months?|years?|decades?|centur(?:y|ies)"
    rf"|before|after|until|till|since|ago|prior|later|earlier|between|{MONTH})\b|n['’]t\b|\d+",
    re.IGNORECASE,
)
"""What may not remain of a text without its values and its dates."""
MAX_RATIO = 3
"""Of a text's length to that of the template's sentence."""

_WHO = (
    r"who|whom|whose|anyone|anybody|everyone|everybody|someone|person|people|individual|name|holder"
    r"|which ¤"
)
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
"""Words that show which column is asked for."""
LISTED = r"listed|list|table|any|some"
CUES: dict[Kind, tuple[str, ...]] = {
    "current": (r"as of|currently|current|now|today|at present|presently|on",),
    "nth": (r"start(?:ed|s|ing)?|beg[iau]n(?:s|ning)?|earliest|order(?:ed)?|chronological(?:ly)?",),
    "count": (r"times?",),
    "longest": (r"longest", r"ended|over|finished|still|completed|concluded"),
    "duration": (r"days?", r"both|common|shared?|same|overlap(?:ped)?", r"ends?|ended"),
    "hops": (r"host(?:s|ed|ing)?",),
}  # fmt: skip
CAPITALISED = re.compile(rf"(?<=[^.?!:\s] )(?!(?:{MONTH})\b)[A-Z]\w+")
"""Words with a capital within a sentence."""
ORDINAL = re.compile(r"\b\d+(?:st|nd|rd|th)\b")
REVERSING = re.compile(
    r"\b(?:last|latest|revers\w*|backwards?|not|never|without|except|or)\b", re.I
)
"""Words that turn a question of other kinds than `relation` and `current` into another."""


class Requirements(Record):
    """What must be read from any wording of one question."""

    kind: Kind
    template: str
    values: tuple[str, ...]
    barred: tuple[str, ...]
    """Answers, other values of the same rows, and longer values that contain one of `values`."""
    ambiguous: bool = False
    """Whether two of the values could be taken for each other."""
    cues: tuple[str, ...] = ()
    """Patterns of which each must match."""
    bounds: tuple[tuple[str, str, str], ...] = ()
    """What is stated of start and end: side, test, date."""
    now: str = ""
    number: str = ""
    """An ordinal, such as 3rd."""


class ColumnValues:
    """The values of a set's tables, by column; each column is read once."""

    def __init__(self, tables: Mapping[str, MaterialTable]) -> None:
        self._tables = tables
        self._columns: dict[tuple[str, str], frozenset[str]] = {}

    def column(self, sample: TdbenchSample, name: str) -> frozenset[str]:
        """The values of the column in the first of the sample's tables that has it; empty where
        none does."""
        for digest in sample.materials:
            table = self._tables[digest]
            if name in table.columns and name not in TIME_COLUMNS:
                if (digest, name) not in self._columns:
                    at = table.columns.index(name)
                    self._columns[digest, name] = frozenset(str(row[at]) for row in table.rows)
                return self._columns[digest, name]
        return frozenset()

    def relevant(self, sample: TdbenchSample) -> set[str]:
        """Every value of the sample's relevant rows."""
        return {
            str(row[at])
            for digest, indices in zip(sample.materials, sample.relevant, strict=True)
            for at, name in enumerate(self._tables[digest].columns)
            if name not in TIME_COLUMNS
            for row in (self._tables[digest].rows[index] for index in indices)
        }


def requirements(sample: TdbenchSample, column_values: ColumnValues) -> Requirements:
    """What a wording of the sample's question must say."""
    rows = [row.answer for row in sample.golds] if sample.kind == "duration" else []
    values = (*sample.asked.values(), *rows)
    bounds = read_bounds(sample.question) if sample.kind == "relation" else ()
    columns = {name: column_values.column(sample, name) for name in sample.asked}
    longer = {
        v for c in columns.values() for v in c for own in values if v != own if _holds(v, own)
    }
    others = column_values.relevant(sample) | set(sample.others) | set(sample.gold) | longer
    foreign = {v for v in others if v and v not in values}
    number = None
    if sample.kind in ("nth", "count"):
        number = ORDINAL.search(without_values(sample.question, values))
    return Requirements(
        kind=sample.kind,
        template=sample.question,
        values=values,
        barred=tuple(sorted(v for v in foreign if not _holds(sample.question, v))),
        ambiguous=any(
            value in columns[other]
            for name, value in sample.asked.items()
            for other in sample.asked
            if other != name
        ),
        cues=_cues(sample),
        bounds=tuple((b.side, b.test, b.day) for b in bounds),
        now=sample.now if sample.kind == "current" else "",
        number=number[0] if number else "",
    )


def refusal(text: str, required: Requirements) -> str | None:
    """The reason why the text cannot replace the template's; None where it can."""
    if not text or len(text) > MAX_RATIO * len(required.template) + 80:
        return "no sentence of this length"
    if required.ambiguous:
        return "its values could be taken for each other"
    if any(not _holds(text, value) for value in required.values):
        return "a value is missing or spelt otherwise"
    if any(_holds(text, value) for value in required.barred):
        return "it names a value that the question does not"
    rest = without_values(text, required.values)
    if any(not re.search(rf"(?<!\w)(?:{cue})(?!\w)", rest, re.I) for cue in required.cues):
        return "what is asked for cannot be told from it"
    if any(not _holds(required.template, name) for name in CAPITALISED.findall(rest)):
        return "it names something that the question does not"
    check = _refuse_condition if required.kind == "relation" else _refuse_rest
    return check(rest, required)


def _refuse_condition(rest: str, required: Requirements) -> str | None:
    """The reason why the text states other bounds than the template."""
    bounds, remaining = parse_condition(rest)
    if {(b.side, b.test, b.day) for b in bounds} != set(required.bounds):
        return "its dates, or what is said of start and end, are not the question's"
    own = parse_condition(without_values(required.template, required.values))[1]
    return _refuse_surplus(REFUSED, remaining, own)


def _refuse_surplus(pattern: re.Pattern[str], remaining: str, own: str) -> str | None:
    """The first refused word of a text's remainder that the template's does not have."""
    allowed = {word.lower() for word in pattern.findall(own)}
    more = [word.lower() for word in pattern.findall(remaining) if word.lower() not in allowed]
    return f"it says more than the question: {more[0]}" if more else None


def _refuse_rest(rest: str, required: Requirements) -> str | None:
    """The reason why date or number differ, or a word reverses the question."""
    dates = [match[0] for match in re.finditer(rf"\b(?:{DATE})\b", rest)]
    if [iso(day) for day in dates] != ([required.now] if required.now else []):
        return "its dates are not the question's"
    for day in dates:
        rest = rest.replace(day, "¤")
    if set(ORDINAL.findall(_in_digits(rest))) != ({required.number} - {""}):
        return "its number is not the question's"
    if re.search(r"\d", ORDINAL.sub("", rest)):
        return "it holds another number"
    own = re.sub(rf"\b(?:{DATE})\b", "¤", without_values(required.template, required.values))
    return _refuse_surplus(REFUSED if required.kind == "current" else REVERSING, rest, own)


# Samples ----------------------------------------------------------------------------------------


def _form(sample: TdbenchSample) -> QuestionForm | None:
    """The domain's form of question; None for joins and days in common."""
    domain = DOMAINS.get(sample.domain)
    for form in domain.forms if domain else ():
        if set(form.keys) == set(sample.asked) and form.answers == sample.answers:
            return form
    if sample.kind in ("hops", "duration"):
        return None
    return user_domain("own", tuple(sample.asked), sample.answers, True).forms[0]


def _cues(sample: TdbenchSample) -> tuple[str, ...]:
    cues, form = list(CUES.get(sample.kind, ())), _form(sample)
    if form is not None:
        cues += [NOUNS.get(form.noun, re.escape(name)) for name in form.noun.split(" and ")]
        listed = form.listed or sample.kind in ("nth", "count", "longest")
        cues += [LISTED] if listed and re.search(rf"\b(?:{LISTED})\b", sample.question) else []
    return tuple(cues)


# Texts ------------------------------------------------------------------------------------------


def _holds(text: str, value: str) -> bool:
    """Whether the value stands in the text as a word of its own, in any case."""
    if value.casefold() not in text.casefold():
        return False
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text, re.IGNORECASE) is not None


def without_values(text: str, values: Iterable[str]) -> str:
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


# Templates of the user's own ---------------------------------------------------------------------

DROPPED = "questions of own templates that do not read back as their dates"


class TemplateFile(Record):
    """What the file holds."""

    relation: tuple[str, ...] = Field(min_length=1)
    current: tuple[str, ...] = ()
    verbs: str = "entry"
    noun: str | None = None
    group: str | None = None


def with_templates(domain: Domain, file: Path) -> Domain:
    """The domain of a user's table with the file's sentences; DatasetError names what is wrong."""
    own = _read(file)
    (form,) = domain.forms
    if own.verbs not in VERBS:
        raise DatasetError(file, None, f"verbs '{own.verbs}': known are {', '.join(VERBS)}")
    for field, sentences, marks in (
        ("relation", own.relation, ("cond",)),
        ("current", own.current, ("now",)),
        ("group", [] if own.group is None else [own.group], ()),
    ):
        names = (*form.keys, *marks)
        for sentence in sentences:
            if sorted(re.findall(r"{([^{}]*)}", sentence)) != sorted(names):
                wanted = ", ".join(f"{{{name}}}" for name in names)
                raise DatasetError(file, None, f"{field}: '{sentence}' needs each of {wanted} once")
    form = replace(
        form,
        noun=own.noun or form.noun,
        group=own.group or form.group,
        heads=tuple(islice(cycle(own.relation), STYLES)),
        now_heads=tuple(islice(cycle(own.current), STYLES)) or form.now_heads,
    )
    return replace(domain, verbs=VERBS[own.verbs], forms=(form,))


def _read(file: Path) -> TemplateFile:
    try:
        return TemplateFile.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
    except OSError as exc:
        raise ConfigError(f"templates {file}: {exc.strerror}") from exc
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        raise DatasetError(file, None, f"is no TOML: {exc}") from exc
    except ValidationError as exc:
        raise DatasetError(file, None, first_problem(exc.errors())) from exc


def reads_back(sample: TdbenchSample) -> bool:
    """Whether the dates in the question's words are those of its query."""
    text = without_values(sample.question, sample.asked.values())
    if len(re.findall("¤", text)) != len(sample.asked):
        return False
    if sample.kind == "current":
        return [iso(match[0]) for match in re.finditer(rf"\b(?:{DATE})\b", text)] == [sample.now]
    if sample.kind != "relation":
        return True
    return set(read_bounds(text)) == set(bounds_of(sample))


# The wording of a set by a model ------------------------------------------------------------------

NAME = "tdbench-wording"

_TEXTS = tomllib.loads(Path(__file__).with_name("prompts.toml").read_text(encoding="utf-8"))
PROMPT: str = _TEXTS["reword"]
PROMPT_DIGEST = sha256(PROMPT.encode()).hexdigest()[:12]
NO_LINE, TWICE, NO_REPLY = "no line for it in the reply", "the same words twice", "no reply"


class WordingSample(Sample):
    """One query with the requirements of its wordings; `gold` is empty."""

    told: tuple[Requirements, ...]
    """By phrasing."""


def wording_samples(
    samples: Sequence[Sample], tables: Mapping[str, MaterialTable]
) -> tuple[WordingSample, ...]:
    """One for each query of a set."""
    values = ColumnValues(tables)
    queries = groupby(map(tdbench_sample, samples), lambda sample: sample.query)
    return tuple(
        WordingSample(
            id=query, task=NAME, gold=(), told=tuple(requirements(one, values) for one in phrasings)
        )
        for query, phrasings in queries
    )


def _prompt(sample: Sample, condition: Condition) -> tuple[Message, ...]:
    phrasings = _wording_sample(sample).told
    count = len(phrasings)
    text = PROMPT.format(
        count="one sentence" if count == 1 else f"{count} sentences",
        number="one" if count == 1 else str(count),
        sentences="\n".join(one.template for one in phrasings),
        values="; ".join(dict.fromkeys(phrasings[0].values)),
    )
    return (Message(role="user", content=text),)


@dataclass(frozen=True, slots=True)
class RewordedText:
    """A phrasing: the model's words, or the reason why the template's stay."""

    text: str | None
    reason: str | None


def read_reply(reply: str | None, phrasings: Sequence[Requirements]) -> list[RewordedText]:
    """One for each phrasing, in order."""
    if reply is None:
        return [RewordedText(None, NO_REPLY) for _ in phrasings]
    lines = [*lines_of(reply), *[None] * len(phrasings)]
    earlier = {words(one.template) for one in phrasings}
    wordings = []
    for line, one in zip(lines, phrasings, strict=False):
        reason = NO_LINE if line is None else refusal(line, one)
        if line is not None and reason is None:
            reason = TWICE if words(line) in earlier else None
            earlier.add(words(line))
        wordings.append(RewordedText(None if reason else line, reason))
    return wordings


def score(sample: Sample, episode: Episode) -> Score:
    """`kept`: the share of the phrasings for which the model's words are taken."""
    return episode_score(sample, episode, lambda text: _measure(_wording_sample(sample), text))


def _measure(sample: WordingSample, text: str | None) -> dict[str, object]:
    wordings = read_reply(text, sample.told)
    texts = tuple(one.text for one in wordings if one.text is not None)
    rule = "; ".join(one.reason or "taken" for one in wordings)
    kept = len(texts) / len(wordings)
    return {"outcome": "read", "answer": texts, "rule": rule, "metrics": {"kept": kept}}


def reworded(
    samples: Sequence[Sample],
    queries: Iterable[Sample],
    replies: Mapping[str, str],
    model: str,
) -> RewordingResult:
    """The set with the words of `replies`, which are by query; a query without one keeps its
    template."""
    wordings = (
        wording
        for query in map(_wording_sample, queries)
        for wording in read_reply(replies.get(query.id), query.told)
    )
    reasons: Counter[str] = Counter()
    results = []
    for sample, wording in zip(samples, wordings, strict=False):
        if wording.text is None:
            reasons[wording.reason or ""] += 1
            results.append(sample)
            continue
        update = {"question": wording.text, "worded_by": model, "wording_prompt": PROMPT_DIGEST}
        results.append(sample.model_copy(update=update))
    return RewordingResult(tuple(results), dict(reasons.most_common()))


def _wording_sample(sample: Sample) -> WordingSample:
    if not isinstance(sample, WordingSample):
        raise ConfigError(f"sample '{sample.id}' is no query to be worded")
    return sample


FAMILY = Family.of_wording(
    NAME,
    WordingSample,
    _prompt,
    score,
    "queries are worded by: agent-env questions generate tdbench --wording model:NAME",
)
REWORDING = Rewording(NAME, PROMPT, PROMPT_DIGEST, wording_samples, reworded)
