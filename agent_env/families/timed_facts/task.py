"""Questions on timed facts as a Task: prompts, the worked example, and shortcuts that answer
without the time that a question names."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from random import Random

from agent_env.families.timed_facts.generating import NOW, TimedOptions
from agent_env.families.timed_facts.sample import Setting, TimedQuestion, timed
from agent_env.families.timed_facts.score import METRICS, score
from agent_env.features.answers.schemas import list_of, matching
from agent_env.features.extraction.extraction import write_extraction, write_shift
from agent_env.features.extraction.solver import Fact, Query, Shift, Ties
from agent_env.features.extraction.strategies import with_orders
from agent_env.features.extraction.wording import TIE_RULES, fact_line, prose
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.family import AnalysisHooks, AnswerForm, Example, Shortcut, Task
from agent_env.sdk.models import Limits
from agent_env.sdk.records import TEXT, Condition, Message, Sample
from agent_env.sdk.web import ShiftedWorld
from agent_env.temporal.months import Span, month

HIDDEN = {"gold": (), "negatives": ()}


def answer_text(sample: Sample) -> str:
    """The gold as the prompt asks for it."""
    return _worded(sample.gold)


def shortcuts() -> tuple[Shortcut, ...]:
    """No answer, the majority, the last fact, a random one, all of them, the gold."""
    return (
        Shortcut.constant("that there is no answer", lambda sample: _worded(())),
        Shortcut.majority(answer_text, lambda sample: timed(sample).level),
        Shortcut.by_question(
            "latest-row", "the fact that began last", _of_values(lambda v, rng: v[-1:])
        ),
        Shortcut(
            "random-row", "a random fact of the topic",
            lambda samples: _of_values(lambda v, rng: [rng.choice(v)]),
        ),
        Shortcut.by_question(
            "ignore-time", "all facts of the topic, whenever they held",
            _of_values(lambda v, rng: v),
        ),
        Shortcut.oracle(answer_text),
    )  # fmt: skip


def _worded(names: Sequence[str]) -> str:
    return f"Answer: {names[0] if len(names) == 1 else json.dumps(list(names), ensure_ascii=False)}"


def _of_values(
    choose: Callable[[list[str], Random], Sequence[str]],
) -> Callable[[Sample, Random], str | None]:
    """A choice of the values of the topic, the fact that began first foremost; None for a question
    of L1, which has none."""

    def answer(sample: Sample, rng: Random) -> str | None:
        facts = sorted(timed(sample).own_facts, key=lambda f: (f.first or 0, f.last or 0))
        values = list(dict.fromkeys(fact.value for fact in facts))
        return _worded(choose(values, rng)) if values else None

    return answer


ONE = "There is exactly one answer. Write the name alone"
SEVERAL = "There are several answers. Write all of them and no others as a JSON list of names"
EITHER = (
    "There may be one answer, several, or none, which is []. Write all of them and no others as a "
    "JSON list of names"
)
DATE = "Write the month and the year like this: Jan, 1995; or the year alone where years are asked."
MONTH_OR_YEAR = "((Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec), )?[0-9]{3,4}"
SPELT = ", spelt as in the context. A fact holds in its first and in its last month, too."
YEARS = " Where only a year is given, it begins in January, or ends in December."
DECADES = " The early years of a decade end in 0 to 3, the late ones in 7 to 9."


PROMPTS = ("default", "paper", "either")
"""`paper` states whether there are several answers, as the paper's prompts do; `either` never does;
`default` does for TempReason, but not for TimeQA, where there may be none."""


def groups(sample: Sample) -> dict[str, tuple[str, ...]]:
    """Cell, level, relation and position of the reference, where they are known."""
    question = timed(sample)
    values = {
        "cell": question.cell,
        "level": question.level,
        "relation": question.kind,
        "boundary": question.boundary,
    }
    return {name: (value,) for name, value in values.items() if value}


def make_task(
    name: str,
    prompt: str,
    options: TimedOptions,
    conditions: tuple[str, ...] = ("base",),
    ties: Ties = "all",
    shift: Callable[[Sample, Random, Callable[[str], str | None]], ShiftedWorld] | None = None,
) -> Task:
    if prompt not in PROMPTS:
        raise ConfigError(f"unknown prompt '{prompt}'; known: {', '.join(PROMPTS)}")

    def fields(sample: Sample, condition: Condition) -> dict[str, str]:
        question, setting = timed(sample), options.setting_of(sample)
        form = form_of(question, prompt, setting, ties)
        is_found = "web_search" in condition.tools or condition.context is not None
        if setting == "open-web" and options.setting is None and not is_found:
            raise ConfigError(
                f"'{question.id}' was made to be looked up: write --condition web, or "
                "--option setting=open-web to ask it without a web too"
            )
        # the context; ConfigError for a published question that has none in this setting
        context = question.context(setting)
        if not context and question.level != "L1" and setting in ("reasonqa", "open-book"):
            other = "open-book" if setting == "reasonqa" else "reasonqa"
            raise ConfigError(
                f"'{question.id}' has no context in the setting {setting}; write --option "
                f"setting={other} or setting=closed-book"
            )
        tie = _tie_rule(question, ties)
        given = {"question": question.question, "context": context, "form": form, "tie": tie}
        return given | {"shift": ""} if question.level == "L1" else given

    def wording(values: Mapping[str, str]) -> str:
        context = f"Context:\n{values['context']}\n\n" if values["context"] else ""
        return (
            f"{context}Question: {values['question']}\n\n{values['form']}\n"
            "End with one line: `Answer:` and the answer."
        )

    def start(sample: Sample, condition: Condition) -> tuple[Message, ...]:
        return (Message(role="user", content=wording(fields(sample, condition))),)

    def off_web(sample: Sample) -> str:
        other = "; use setting=open-web for a web that does" if name == "tempreason" else ""
        is_shown = options.setting_of(sample) in ("reasonqa", "open-book")
        return f"the facts of these questions, which stand in the prompt{other}" if is_shown else ""

    task = Task(
        name=name,
        sample_type=TimedQuestion,
        prompt=start,
        scorer=partial(score, ties=ties),
        metrics=METRICS,
        default_conditions=conditions,
        limits=Limits(),
        placeholders={"question": True, "context": False, "form": False},
        fields=fields,
        wording=wording,
        form=lambda sample: answer_form(
            form_of(timed(sample), prompt, options.setting_of(sample), ties)
        ),
        shift=shift,
        off_web=off_web,
        needs_day=lambda sample: timed(sample).boundary == NOW,
        analysis=AnalysisHooks(
            groups,
            statistics=("agent_env.families.timed_facts.statistics:extraction",),
            states_evidence=lambda sample, condition: (
                timed(sample).level == "L1"
                or options.setting_of(sample) in ("reasonqa", "open-book")
            ),
        ),
        shortcuts=shortcuts(),
        hidden=HIDDEN,
        examples=lambda sample, condition: (
            worked_example(
                timed(sample),
                (setting := options.setting_of(sample)),
                form_of(timed(sample), prompt, setting, ties),
            ),
        ),
    )
    return with_orders(task, ties)


def form_of(question: TimedQuestion, prompt: str, setting: Setting, ties: Ties = "all") -> str:
    """The requested form of the answer, with the meaning of bounds and of a tie-break as far as
    the question and its context have them."""
    if question.level == "L1":
        return DATE
    is_timeqa = question.level in ("easy", "hard")
    is_open = prompt == "either" or question.boundary == NOW or (prompt == "default" and is_timeqa)
    form = SEVERAL if len(question.gold) > 1 else ONE
    form = EITHER if is_open or not question.gold else form
    context = question.context(setting)
    form += SPELT if context else "."
    form += YEARS if re.search(r"\b(?:from|since|until|to|in) \d{3,4}\b", context) else ""
    form += DECADES if re.search(r"\b(?:early|mid|late) \d{3,4}s\b", question.question) else ""
    return f"{form} {_tie_rule(question, ties)}".rstrip()


def answer_form(form: str) -> AnswerForm:
    """For the requested form, in words."""
    if form == DATE:
        return AnswerForm(matching(MONTH_OR_YEAR), "Answer: {}".format)
    if form.startswith(ONE):
        return AnswerForm(TEXT, "Answer: {}".format)
    names = list_of(TEXT, most=31)
    return AnswerForm(names, lambda each: f"Answer: {json.dumps(each, ensure_ascii=False)}")


def _tie_rule(question: TimedQuestion, ties: Ties) -> str:
    """The tie-break in words, where the question can have one."""
    return TIE_RULES.get(ties, "") if question.level == "L3" else ""


WORKED = tuple(
    Fact(topic="Alda Venn", kind="team", value=value, start=start, end=end)
    for value, start, end in (
        ("Quarrow Rovers", "1992-03", "1998-01"),
        ("A.S. Tollmere", "1990-05", "1992-03"),
        ("Tollmere Select", "1991-01", "1996-06"),
    )
)
_REASONING = (
    "March 1992 is the first month of the time at Quarrow Rovers and the last one of the time at "
    "A.S. Tollmere; both count. It lies between January 1991 and June 1996, so Tollmere Select "
    "holds too."
)
_ONE_QUESTION = "Which team did Alda Venn play for in July 1997?"
_ONE_REASONING = (
    "July 1997 lies between March 1992 and January 1998, so she played for Quarrow Rovers. A.S. "
    "Tollmere ended in March 1992 and Tollmere Select in June 1996, both earlier."
)


_SHIFT = Shift(Span(month(1988, 8), month(1988, 8)), 41)
_SHIFT_EXAMPLE = {
    "question": "What is the time 3 years and 5 months after August 1988?",
    "context": "",
    "form": DATE,
    "shift": "",
    "reasoning": "Three years after August 1988 is August 1991; five months later, January 1992.",
    "extraction": write_shift(_SHIFT),
    "program": (
        "```python\nnames = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split()\n"
        "year, at = divmod(1988 * 12 + 7 + 3 * 12 + 5, 12)\nprint(f'{names[at]}, {year}')\n```"
    ),
}


def worked_example(question: TimedQuestion, setting: Setting, form: str) -> Example:
    """The fixed example, with one or several answers like the question's own prompt; for a question
    of L1 one of its kind."""
    if question.level == "L1":
        return Example(_SHIFT_EXAMPLE, _SHIFT.answer)
    one = form.startswith(ONE)
    at = month(1997, 7) if one else month(1992, 3)
    query, reference = Query("in", Span(at, at)), "1997-07" if one else "1992-03"
    answers = ["Quarrow Rovers"] if one else [fact.value for fact in WORKED]
    write = fact_line if setting != "open-book" else lambda fact: prose(fact, 0)
    fields = {
        "question": _ONE_QUESTION if one else "Which team did Alda Venn play for in March 1992?",
        "context": "\n".join(map(write, WORKED)),
        "form": form,
        "reasoning": _ONE_REASONING if one else _REASONING,
        "extraction": write_extraction(WORKED, query, reference),
        "program": _program(divmod(at, 12)),
    }
    return Example(fields, answers[0] if one else json.dumps(answers))


def _program(at: tuple[int, int]) -> str:
    rows = "\n".join(
        f"    {((f.first or 0) // 12, (f.first or 0) % 12 + 1)}, "
        f"{((f.last or 0) // 12, (f.last or 0) % 12 + 1)}, {f.value!r}"
        for f in WORKED
    )
    rows = "\n".join(f"    ({line.strip()})," for line in rows.split("\n"))
    return (
        f"```python\nimport json\n\nfacts = [\n{rows}\n]\nat = {(at[0], at[1] + 1)}\n"
        "print(json.dumps([name for first, last, name in facts if first <= at <= last]))\n```"
    )
