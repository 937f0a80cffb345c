"""Prompts: a system message with the rules, examples as turns or in one message, a prefill."""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent_env.families.temp_answers.sample import TimeQuestion
from agent_env.families.temp_answers.tables import TODAY
from agent_env.sdk.records import Condition, MaterialTable, Message

if TYPE_CHECKING:
    from agent_env.families.temp_answers.generator import AnswerOptions

TABLE_RULES = f"""\
You get a table about one person and a question about it. Work out the answer step by step. Then \
finish with one last line that begins with Final Answer: and holds nothing else but the answer in \
the form asked for. In the table, lines are rows, a tab separates an entry from its date, and an \
empty line separates sections. The current date is {TODAY}. Full years and months are completed \
ones. Where the table gives a year only, take the difference of the years."""
OBJECT_RULES = """\
Answer with one JSON object and nothing else. Its first key is "explanation" and holds your way to \
the answer, step by step, as one string; {keys} Write it like this: JSON = {example}"""
FACT_RULES = "These are facts. They are all there is to know; nothing else happened:\n{facts}"


def is_prefilled(question: TimeQuestion, condition: Condition, options: AnswerOptions) -> bool:
    """Whether the prompt contains the start of the answer's object; never with tools."""
    return options.prefill and bool(question.keys) and not condition.tools


def is_continued(question: TimeQuestion, text: str | None) -> bool:
    """Whether the answer continues the start of its object, which the prompt held."""
    return bool(question.keys) and text is not None and "{" not in text.split('"', 1)[0]


def messages(
    question: TimeQuestion,
    table: MaterialTable | None,
    examples: Sequence[tuple[TimeQuestion, MaterialTable | None]],
    turns: str,
    prefilled: bool,
) -> tuple[Message, ...]:
    """All messages; `turns` is `chat` or `one`, `examples` are answered questions."""
    rules = _rules(question, table)
    shots = [(_ask(shot, own), example_answer(shot)) for shot, own in examples]
    prompt = _ask(question, table)
    if turns == "one":
        worked_examples = "".join(f"{ask}\n\n{answer}\n\n----\n\n" for ask, answer in shots)
        turns_so_far = [Message(role="user", content=f"{rules}\n\n{worked_examples}{prompt}")]
    else:
        turns_so_far = [Message(role="system", content=rules)]
        for ask, answer in shots:
            turns_so_far += [
                Message(role="user", content=ask),
                Message(role="assistant", content=answer),
            ]
        turns_so_far.append(Message(role="user", content=prompt))
    if prefilled:
        turns_so_far.append(Message(role="assistant", content='JSON = {"explanation":'))
    return tuple(turns_so_far)


PLACEHOLDERS = {"question": True, **dict.fromkeys(("form", "table", "facts", "rules"), False)}
"""Of a user's own prompt, and whether each is required."""


def prompt_fields(question: TimeQuestion, table: MaterialTable | None) -> dict[str, str]:
    """The placeholders' texts; `table` and `facts` are empty where the question has none."""
    has_table = table is not None and not question.keys
    return {
        "question": question.question,
        "form": question.form,
        "table": render_table(table) if table is not None and has_table else "",
        "facts": render_facts(table) if table is not None and not has_table else "",
        "rules": _answer_rules(question),
    }


def _rules(question: TimeQuestion, table: MaterialTable | None) -> str:
    rules = _answer_rules(question)
    if not question.keys or table is None:
        return rules
    return f"{FACT_RULES.format(facts=render_facts(table))}\n\n{rules}"


def _answer_rules(question: TimeQuestion) -> str:
    if not question.keys:
        return TABLE_RULES
    quoted = ", ".join(f'"{key}"' for key in question.keys)
    about = f"the other {'key is' if len(question.keys) == 1 else 'keys are'} {quoted}."
    places = ", ".join(f'"{key}": <{key}>' for key in question.keys)
    example = '{"explanation": "<your steps>", ' + places + "}"
    return OBJECT_RULES.format(keys=about, example=example)


def _ask(question: TimeQuestion, table: MaterialTable | None) -> str:
    form = f"Write the answer as {question.form}."
    if question.keys or table is None:
        return f"{question.question} {form}"
    return f"Table:\n{render_table(table)}\n\nQ: {question.question} {form}\nA:"


def example_answer(question: TimeQuestion) -> str:
    """A worked example's answer in the requested form; its steps are not spelled out."""
    if not question.keys:
        return f"I take the dates from the table and count.\nFinal Answer: {question.gold[0]}"
    content = {"explanation": "I take the dates and count."} | ast.literal_eval(question.label)
    return f"JSON = {json.dumps(content)}"


def render_table(table: MaterialTable) -> str:
    """The person's name, then sections of `entry TAB date`."""
    lines, last = [str(table.rows[0][1])], None
    for section, entry, when in table.rows[1:]:
        if section != last:
            lines += ["", str(section)]
            last = section
        lines.append(f"{entry}\t{when}")
    return "\n".join(lines)


def render_facts(table: MaterialTable) -> str:
    return "\n".join(
        f"{who} was the {what} of {whom} from {start} to {end}."
        for who, what, whom, start, end in table.rows
    )
