"""Parses a model's extraction (facts, relation, reference) as data, never as a program; and makes
one by rules, without a model.

Our form is one JSON object with a list of facts. The paper's form (section 3.1), a dictionary keyed
by intervals beside `ref_obj`, is parsed from its syntax tree, which keeps several facts with one
interval, unlike running it.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agent_env.features.extraction.solver import RELATIONS, Fact, Query, Relation, Shift
from agent_env.features.extraction.wording import (
    Defect,
    kind_of,
    make_fact,
    read_facts,
    read_query,
    read_reference,
)
from agent_env.temporal.months import Span, read_span, write_month

Trouble = Literal["empty", "prose", "code", "unterminated", "shape", "date", "order"]
"""Why a text is not an extraction: no text; words; a program; unclosed quotes or brackets; wrong
fields; an impossible date; an end before its start."""

_FENCE = re.compile(r"```[a-zA-Z]*\n(.*?)```", re.S)
_CODE = re.compile(
    r"^[^\S\n]*+(?:def |import |from \w+ import|for |while |class |print\(|return )", re.M
)
_PAPER = re.compile(r"^[^\S\n]*+(?:extracted_info|extracted_information)\s*=", re.M)
_LIKE_DATA = re.compile(r'[{\[]\s*["\'(\[{]|"facts"')
RELATION_NAMES: dict[str, Relation] = {name: name for name in RELATIONS} | {
    "during": "in", "at": "in", "on": "in", "from": "throughout", "within": "between",
}  # fmt: skip


_MOST_FAILURES = 1000
_LONGEST_PROGRAM = 20_000
"""Characters; a longer text is not an extraction."""


class ExtractionError(ValueError):
    """A text without an extraction."""

    def __init__(self, trouble: Trouble, reason: str) -> None:
        super().__init__(f"{trouble}: {reason}")
        self.trouble = trouble


@dataclass(frozen=True, slots=True)
class Extraction:
    """A parsed extraction; its facts have no topic and kind, which the prompt does not request."""

    facts: tuple[Fact, ...]
    """Empty for a question of L1."""
    query: Query | Shift


def read_extraction(text: str) -> Extraction:
    """The last extraction in a reply. Raises ExtractionError with the reason."""
    if not text.strip():
        raise ExtractionError("empty", "the reply is empty")
    fenced = _FENCE.findall(text)
    best: ExtractionError | None = None
    for part in [*reversed(fenced), text]:
        try:
            if _PAPER.search(part):
                return _of_fields(_paper_fields(part))
            objects = [f for f in _objects(part) if "facts" in f or {"years", "months"} & f.keys()]
            if objects:
                return _of_fields(objects[-1]) if "facts" in objects[-1] else _of_shift(objects[-1])
            raise _trouble(part)
        except (ValueError, RecursionError) as error:
            exc = (
                error
                if isinstance(error, ExtractionError)
                else ExtractionError("shape", str(error))
            )
            best = best if best is not None and best.trouble != "prose" else exc
    assert best is not None  # the text itself was tried
    raise best


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The outermost JSON objects of a text, until _MOST_FAILURES brackets did not start one."""
    decoder, at = json.JSONDecoder(), text.find("{")
    failures = 0
    while at >= 0 and failures < _MOST_FAILURES:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            failures += 1
            continue
        if isinstance(value, dict):
            yield value
        at = text.find("{", end)


def _trouble(text: str) -> ExtractionError:
    if _CODE.search(text):
        return ExtractionError("code", "a program stands where data should; nothing of it is run")
    if not _LIKE_DATA.search(text):
        return ExtractionError("prose", "there is no JSON object with the field facts")
    if text.count("{") != text.count("}") or text.count("[") != text.count("]"):
        return ExtractionError("unterminated", "a bracket is not closed")
    if text.count('"') % 2:
        return ExtractionError("unterminated", "a quotation mark is not closed")
    return ExtractionError("shape", "the object is not JSON, or has no field facts")


def _of_fields(fields: Mapping[str, Any]) -> Extraction:
    raw = fields.get("facts")
    if not isinstance(raw, list):
        raise ExtractionError("shape", "facts is not a list")
    facts = tuple(_fact(item) for item in raw)
    relation = RELATION_NAMES.get(str(fields.get("relation", "")).strip().casefold())
    if relation is None:
        names = ", ".join(RELATIONS)
        raise ExtractionError(
            "shape", f"relation is {fields.get('relation')!r}; write one of {names}"
        )
    reference = fields.get("reference")
    if not isinstance(reference, str) or not reference.strip():
        raise ExtractionError("shape", "reference is missing: a name or a date in quotes")
    values = tuple(fact.value for fact in facts)
    try:
        return Extraction(facts, Query(relation, read_reference(relation, reference, values)))
    except ValueError as exc:
        raise ExtractionError("date", f"reference: {exc}") from None


def _of_shift(fields: Mapping[str, Any]) -> Extraction:
    relation, reference = fields.get("relation"), fields.get("reference")
    if relation not in ("before", "after"):
        raise ExtractionError("shape", f"relation is {relation!r}; write before or after")
    months = 0
    for name, factor in (("years", 12), ("months", 1)):
        count = fields.get(name, 0)
        if not isinstance(count, int) or not 0 <= count < 1_000_000:
            raise ExtractionError("shape", f"{name} is {count!r}, no whole number")
        months += factor * count
    if not isinstance(reference, str | int):
        raise ExtractionError("shape", "reference is missing: a date in quotes")
    try:
        base = read_span(str(reference))
    except ValueError as exc:
        raise ExtractionError("date", f"reference: {exc}") from None
    return Extraction((), Shift(base, months if relation == "after" else -months))


def _fact(item: object) -> Fact:
    if not isinstance(item, dict) or not isinstance(item.get("object"), str):
        raise ExtractionError(
            "shape", f"{json.dumps(item)[:80]} is no fact with object, start, end"
        )
    bounds = []
    for name in ("start", "end"):
        value = item.get(name)
        if value is not None and not isinstance(value, str | int):
            raise ExtractionError("shape", f"{name} of '{item['object']}' is not a date in quotes")
        text = None if value is None else str(value).strip()
        bounds.append(None if text in (None, "", "present", "null") else text)
    try:
        return make_fact("", "", item["object"], bounds[0], bounds[1])
    except ValueError as exc:
        order = "before its start" in str(exc)
        raise ExtractionError("order" if order else "date", str(exc)) from None


def _paper_fields(text: str) -> dict[str, Any]:
    """Our fields from the paper's assignments."""
    assignments: dict[str, ast.expr] = {}
    start = _PAPER.search(text)
    assert start is not None
    for node in _tree(text[start.start() :].strip()).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            assignments[node.targets[0].id] = node.value
        else:
            raise ExtractionError("code", "something other than assignments; nothing of it is run")
    info = assignments.get("extracted_info", assignments.get("extracted_information"))
    if not isinstance(info, ast.Dict):
        raise ExtractionError("shape", "extracted_info is not a dictionary")
    reference = assignments.get("ref_obj", assignments.get("ref_time"))
    relation = assignments.get("t_relation", ast.Constant("in"))
    return {
        "facts": [_paper_fact(k, v) for k, v in zip(info.keys, info.values, strict=True)],
        "relation": relation.value if isinstance(relation, ast.Constant) else None,
        "reference": None if reference is None else _plain(reference),
    }


def _tree(source: str) -> ast.Module:
    """The syntax tree of the longest leading lines that are a program; words may follow."""
    lines = source.split("\n")
    if len(source) > _LONGEST_PROGRAM:
        raise ExtractionError("shape", f"longer than {_LONGEST_PROGRAM:,} characters")
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as exc:
        reason = str(exc)
    for count in range(len(lines) - 1, 0, -1)[:40]:
        try:
            return ast.parse("\n".join(lines[:count]))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    kind: Trouble = "unterminated" if re.search(r"untermin|never closed|EOF", reason) else "shape"
    raise ExtractionError(kind, reason)


def _paper_fact(key: ast.expr | None, value: ast.expr) -> dict[str, Any]:
    if not isinstance(key, ast.Tuple) or len(key.elts) != 2:
        raise ExtractionError("shape", "a key that is not a pair of dates")
    start, end = (_plain(bound) for bound in key.elts)
    return {"object": _plain(value), "start": start, "end": end}


def _is_datetime(name: ast.expr) -> bool:
    """Whether it is `datetime` or `datetime.datetime`."""
    if isinstance(name, ast.Attribute) and name.attr == "datetime":
        name = name.value
    return isinstance(name, ast.Name) and name.id == "datetime"


def _plain(node: ast.expr) -> str | None:
    """A text, or a `datetime(…)` as YYYY-MM, or None."""
    if isinstance(node, ast.Constant):
        return None if node.value is None else str(node.value)
    if isinstance(node, ast.Call) and _is_datetime(node.func):
        numbers = [a.value for a in node.args if isinstance(a, ast.Constant)]
        if len(numbers) >= 2 and all(isinstance(n, int) for n in numbers):
            year, number = int(str(numbers[0])), int(str(numbers[1]))
            return f"{year:04d}-{number:02d}"
    raise ExtractionError(
        "code", f"`{ast.unparse(node)[:60]}` is neither a text nor a datetime of numbers"
    )


def write_shift(shift: Shift) -> str:
    """The extraction of a question of L1 in our form."""
    one_month = shift.base.first == shift.base.last
    reference = write_month(shift.base.first, "iso") if one_month else str(shift.base.first // 12)
    years, months = divmod(abs(shift.months), 12)
    fields = {
        "relation": "after" if shift.months > 0 else "before",
        "reference": reference,
        "years": years,
        "months": months,
    }
    return json.dumps(fields)


def write_extraction(facts: tuple[Fact, ...], query: Query, reference: str) -> str:
    """The extraction in our form, one fact a line."""
    rows = ",\n    ".join(
        json.dumps({"object": f.value, "start": f.start, "end": f.end}, ensure_ascii=False)
        for f in facts
    )
    return (
        f'{{\n  "facts": [\n    {rows}\n  ],\n  "relation": {json.dumps(query.relation)},\n'
        f'  "reference": {json.dumps(reference, ensure_ascii=False)}\n}}'
    )


@dataclass(frozen=True, slots=True)
class RuleExtraction:
    """The extracted facts; no query for an unknown form of question."""

    facts: tuple[Fact, ...]
    """Of the question's topic and relation."""
    query: Query | None
    defects: tuple[Defect, ...]
    """Statements with a time that could not be parsed."""


def extract(question: str, context: str) -> RuleExtraction:
    """The facts of the question's topic, the longest that it has in whole words, and relation, and
    its query."""
    parsed_facts = read_facts(context, running=True)
    topics = [
        topic
        for topic in dict.fromkeys(fact.topic for fact in parsed_facts.facts)
        if re.search(rf"(?<!\w){re.escape(topic)}(?!\w)", question) is not None
    ]
    longest, kind = max(topics, key=len, default=None), kind_of(question)
    of_topic = tuple(fact for fact in parsed_facts.facts if fact.topic == longest)
    own_facts = tuple(fact for fact in of_topic if fact.kind == kind) or of_topic
    query = read_query(question, tuple(fact.value for fact in own_facts))
    return RuleExtraction(own_facts, query, parsed_facts.defects)


def reference_text(query: Query) -> str:
    """The reference in an extraction's form: a name, YYYY-MM, or two months."""
    if not isinstance(query.reference, Span):
        return query.reference
    first, last = (write_month(m, "iso") for m in (query.reference.first, query.reference.last))
    return first if first == last else f"{first} to {last}"
