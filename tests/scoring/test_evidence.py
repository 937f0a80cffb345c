"""How far look-ups came is seen in the trace, and with it what failed first."""

import pytest

from agent_env.analysis.provenance import TraceProvenance
from agent_env.records.schema import Message, PageRef, Proof, Sample, Score, ToolCall
from agent_env.scoring.evidence import Lookup, stands_in
from agent_env.tasks.conditions import parse_condition
from tests.ended import ended

URL = "https://encyclopedia.example/article/War"
PROOF = Proof(constraint=0, urls=(URL,), dates=("1982-04-02",), shares="year")
GOLD = ("1982-05-03",)


def episode(outputs, pages=(), said="", status="finished", citations=()):
    """An episode in which tools by name put something out and the model then spoke."""
    calls = tuple(ToolCall(id=name, name=name, arguments="{}") for name in outputs)
    results = (Message(role="tool", tool_call_id=n, content=text) for n, text in outputs.items())
    messages = (
        Message(role="user", content="a question of 2 April 1982"),
        Message(role="assistant", tool_calls=calls),
        *results,
        Message(role="assistant", content=said),
    )
    more = {"messages": messages, "pages": pages, "citations": citations, "status": status}
    return ended(said, "s", "web", **more)


def trail(made, answer, proof=PROOF):
    """The verdict or, where the answer is wrong, what failed first; and the look-up."""
    sample = Sample(id="s", task="t", gold=GOLD, evidence=(URL,), proofs=(proof,))
    right = {"exact_match": float(answer == GOLD)}
    score = Score(
        sample="s", condition="web", repeat=1, outcome="read", answer=answer, metrics=right
    )
    condition = parse_condition("web")
    found = TraceProvenance(sample, made, score, condition, "exact_match", None).record()
    return found.failure or found.verdict, found.lookups[0]


RETURNED, OPENED = PageRef(url=URL, how="returned"), PageRef(url=URL, how="opened")
WRONG = ("1990-01-01",)
PAGE = {"open_page": "The war began on 2 April 1982."}


def test_lookups_fail_by_retrieval_reading_or_reasoning():
    assert trail(episode(PAGE, (OPENED,)), GOLD)[0] == "read"
    assert trail(episode({"open_page": "Nothing here."}, (OPENED,)), GOLD)[0] == "memory or luck"
    assert trail(episode({}), GOLD)[0] == "memory or luck"
    nothing = dict.fromkeys(("returned", "opened", "cited", "shown", "used"), False)
    lookup = Lookup(constraint=0, **nothing)
    assert trail(episode({"web_search": "No results"}), WRONG) == ("not found", lookup)
    listed = episode({"web_search": "War, a page"}, (RETURNED,))
    assert trail(listed, WRONG) == ("not opened", lookup.model_copy(update={"returned": True}))
    assert trail(episode(PAGE, (OPENED,)), WRONG)[0] == "misread"
    assert trail(episode({"open_page": "Window 1 of 2"}, (OPENED,)), WRONG)[0] == "misread"
    assert trail(episode({"web_search": "2 April 1982"}), None)[0] == "dates left out"
    said = "It began in 1982. MY ANSWER: 1990-01-01"
    assert trail(episode(PAGE, (OPENED,), said), WRONG)[0] == "miscalculated"
    assert trail(episode(PAGE, (OPENED,)), ("1982-01-01",))[0] == "miscalculated"


def test_own_words_unseen_searches_and_written_dates():
    def with_call(name):
        made = episode(PAGE, (OPENED,))
        call = ToolCall(id="x", name=name, arguments='{"code": "year = 1982"}')
        more = Message(role="assistant", tool_calls=(call,))
        return made.model_copy(update={"messages": (*made.messages, more)})

    assert trail(with_call("python"), WRONG)[0] == "miscalculated"
    assert trail(with_call("web_search"), WRONG)[0] == "misread"
    assert trail(episode({"python": "2 April 1982"}), WRONG)[0] == "not searched"
    verdict, lookup = trail(episode({}, citations=(URL,)), WRONG)
    assert (verdict, lookup.cited) == ("search not seen", True)
    # On the live web they are not those that the sample names.
    found = PageRef(url="https://other.example/", how="returned")
    hosted = episode({}, (found,)).model_copy(update={"hosted_calls": 1})
    assert trail(hosted, WRONG)[0] == "search not seen"
    assert trail(episode({}).model_copy(update={"hosted_calls": 1}), WRONG)[0] == "not found"
    assert stands_in("1982-04", "in April 1982")
    assert stands_in("1982-05", "1982-05-07")
    assert not stands_in("1982", "page 19820")
    shown = {"open_page": "From 2 April 1982 to 14 June 1982."}
    both = ("1982-04-02", "1982-06-14")
    end = Proof(constraint=0, urls=(URL,), dates=both, used=both[1:], shares="span")
    none, unknown = (end.model_copy(update={"used": used}) for used in ((), None))
    for output, said, proof, failure in (
        (shown, "It ended on 14 June 1982.", end, "miscalculated"),
        (shown, "It began on 2 April 1982.", end, "misread"),
        (shown, "No answer", none, "miscalculated"),
        ({"open_page": "nothing"}, "x", none, "not searched"),
    ):
        assert trail(episode(output, said=said), ("x",), proof)[0] == failure
    for proof, is_used in ((end, False), (unknown, True)):
        assert trail(episode(shown, said="?"), GOLD, proof)[1].used is is_used


@pytest.mark.parametrize(
    ("shares", "dates", "agrees", "differs"),
    [
        ("month", ("1982-04-02",), "2001-04-30", "2001-05-02"),
        ("day", ("1982-04-02",), "2001-09-02", "2001-09-20"),
        ("years", ("1982-04-02", "1984-06-14"), "1983-01-01", "1985-01-01"),
        ("years", ("1908", "1948"), "1948-01-01", "1940-01-01"),
        ("span", ("1900-01-02", "1910-01-02"), "1900-01-03", "1910-01-02"),
        ("span", ("1900", "1910", "1920", "1921"), "1920-05-01", "1915-05-01"),
    ],
)  # fmt: skip
def test_an_answer_shows_whether_the_right_date_was_used(shares, dates, agrees, differs):
    proof = Proof(constraint=0, urls=(URL,), dates=dates, shares=shares)
    assert trail(episode({}), (agrees,), proof)[1].used
    assert not trail(episode({}), (agrees, differs), proof)[1].used
    assert not trail(episode({}), ("soon",), proof)[1].used


@pytest.mark.parametrize(
    "text", ["1982-04-02", "2 April 1982", "April 2, 1982", "2nd of April, 1982", "02 Apr. 1982"]
)
def test_a_date_is_seen_in_every_usual_notation(text):
    assert stands_in("1982-04-02", f"on {text}.")
    assert stands_in("1982", text)


@pytest.mark.parametrize(
    "text", ["12 April 1982", "April 21, 1982", "1982-04-021", "2 May 1982", ""]
)
def test_another_date_is_not_taken_for_it(text):
    assert not stands_in("1982-04-02", text)
