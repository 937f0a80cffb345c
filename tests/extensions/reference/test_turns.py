"""The scripted policies read the pages that come with a question, and name what they rely on."""

import asyncio

from agent_env.extensions.reference.policy import Reference, ReferenceStatic
from agent_env.extensions.reference.turns import split_pages
from agent_env.records.schema import Message

MARK = "=== 0123456789ab"
WAR = "Falklands War\nhttps://a.example/war\n\nThe Falklands War.\nFirst day: 2 April 1982"
COPY = "Falklands War\nhttps://b.example/war\n\nAn outdated copy.\nFirst day: 2 April 1979"
QUESTION = """Find the dates.

Constraints:
- The year is the same as that of the first day of the Falklands War.
- The month is April.
- The day of the month is 2.

Go."""


def given(*pages):
    blocks = "".join(
        f"{MARK} page {n}\n{page}\n{MARK} end of page {n}\n" for n, page in enumerate(pages, 1)
    )
    first, last = (
        "pages found on the web\nRead them.\n\n",
        "end of the pages; the question follows\n",
    )
    return f"{MARK} {first}{blocks}{MARK} {last}\n{QUESTION}"


def said(content, model):
    message = Message(role="user", content=content)
    return asyncio.run(model.generate([message], [])).message.content.splitlines()


def test_pages_and_question_are_told_apart():
    pages, question = split_pages(given(WAR, COPY))
    assert pages == {"https://a.example/war": WAR, "https://b.example/war": COPY}
    assert question == QUESTION
    assert split_pages(QUESTION) == ({}, QUESTION)


def test_a_given_page_answers_and_is_named_as_the_source():
    for model in (Reference(), ReferenceStatic()):
        assert said(given(COPY, WAR), model) == [
            "Sources: https://a.example/war",
            "MY ANSWER: 1982-04-02",
        ]


def test_a_page_that_does_not_fit_is_not_relied_on():
    first, *rest = said(given(COPY), Reference())
    assert first == "I could not find out about the Falklands War."
    assert not [line for line in rest if line.startswith("Sources")]
