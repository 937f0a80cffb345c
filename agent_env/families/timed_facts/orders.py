"""How a question with a context is put under each strategy: in which order, and what is wished.

Question (Q), context (C), reasoning (R) and answer (A) stand in the orders of the paper (section
4.2). `form` among a family's fields says how its answers are written. The words are
ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from agent_env.families.timed_facts.strategies import ONE_SHOT, run_strategy
from agent_env.records.schema import Condition, Message, Sample
from agent_env.tasks.task import Task

FORM = "Give the answer as the context writes it, and no other words."

_EXTRACT = """\
Do not answer the question. Take out of the context what is needed to answer it: every fact about \
the one whom the question is about, none left out, each with its first and its last month, and \
what is asked of them. Write one JSON object in this form and nothing else:

{"facts": [{"object": "…", "start": "1992-01", "end": "1998-01"}], "relation": "in", \
"reference": "1995-01"}

- object: the name as the context writes it. Two facts with the same months are two entries.
- start, end: YYYY-MM, or YYYY where only the year is told; null where that end is open.
- relation: in (held at that time), between (held at some time of two months), throughout (held \
all the time from one month to another), before or after (what came next to it).
- reference: the name, or the month, or two months as "1992-01 to 1993-05", that the question \
goes by."""

_PROGRAM = """\
Write one Python program that answers the question, in one ```python block. It holds the facts of \
the context as a list of records (first month, last month, name), so that two facts with the same \
months are both kept, compares years and months, and counts both the first and the last month. It \
prints one line: the answers as a JSON list of names, [] if there is none. It is run as it stands, \
and what it prints is your answer."""


@dataclass(frozen=True, slots=True)
class Order:
    """One way of asking."""

    begins_with: str
    """`question` or `context`."""
    wish: str
    """What is said at the end, with {form}."""
    worked: str
    """The answer of a worked example, with its fields as {placeholders}."""


_REASON_FIRST = (
    "{form}\nFirst write `Reasoning:` and your reasoning, step by step; then one last line: "
    "`Answer:` and the answer."
)
_ANSWER_FIRST = (
    "{form}\nFirst write one line: `Answer:` and the answer; then `Reasoning:` and your "
    "reasoning, step by step."
)
_RA, _AR = "Reasoning: {reasoning}\nAnswer: {answer}", "Answer: {answer}\nReasoning: {reasoning}"

ORDERS = {
    "standard": Order(
        "context", "{form}\nWrite one line: `Answer:` and the answer.", "Answer: {answer}"
    ),
    "cot-qcra": Order("question", _REASON_FIRST, _RA),
    "cot-cqra": Order("context", _REASON_FIRST, _RA),
    "cot-qcar": Order("question", _ANSWER_FIRST, _AR),
    "cot-cqar": Order("context", _ANSWER_FIRST, _AR),
    "extract-run": Order("question", _EXTRACT, "{extraction}"),
    "extract-simulate": Order(
        "question",
        _EXTRACT.replace("Do not answer the question. Take", "First take").replace(
            " and nothing else", ""
        )
        + "\n\nThen work out in your head what a program would give that compares these months, "
        "both ends counted; nothing is run. {form}\nThe last line: `Answer:` and the answer.",
        "{extraction}\n\nAnswer: {answer}",
    ),
    "code-run": Order("question", _PROGRAM, "{program}"),
}
"""By strategy; with -1shot behind the name, one worked example comes first."""

STRATEGY_NAMES = tuple(f"{name}{shot}" for name in ORDERS for shot in ("", ONE_SHOT))


def with_orders(task: Task) -> Task:
    """The task with these strategies; its fields must have `question` and `context`."""
    plain, fields = task.prompt, task.fields
    assert fields is not None

    def prompt(sample: Sample, condition: Condition) -> tuple[Message, ...]:
        if condition.strategy not in STRATEGY_NAMES:
            return plain(sample, condition)
        order = ORDERS[condition.strategy.removesuffix(ONE_SHOT)]
        own = Message(role="user", content=put(order, fields(sample, condition)))
        if not condition.strategy.endswith(ONE_SHOT):
            return (own,)
        return (*_worked(task, order, sample, condition), own)

    return replace(task, prompt=prompt, strategies=dict.fromkeys(STRATEGY_NAMES, run_strategy))


def put(order: Order, fields: Mapping[str, str]) -> str:
    """The message: question and context in order, then the wish."""
    question = f"Question: {fields['question']}"
    context = f"Context:\n{fields['context']}" if fields["context"] else ""
    parts = [question, context] if order.begins_with == "question" else [context, question]
    wish = order.wish.replace("{form}", fields.get("form", FORM))
    return "\n\n".join(part for part in (*parts, wish) if part)


def _worked(
    task: Task, order: Order, sample: Sample, condition: Condition
) -> tuple[Message, Message]:
    """The first worked example of the family, put and answered in the same order."""
    assert task.examples is not None  # checked before the run
    example = task.examples(sample, condition)[0]
    answer = order.worked
    for name, text in {**example.fields, "answer": example.answer}.items():
        answer = answer.replace(f"{{{name}}}", text)
    asked = Message(role="user", content=put(order, example.fields))
    return asked, Message(role="assistant", content=answer)
