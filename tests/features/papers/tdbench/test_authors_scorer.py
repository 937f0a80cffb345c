"""The authors' rules, answer by answer, where they differ from ours."""

import pytest

from agent_env.families.tdbench.sample import GoldRow, Hop
from agent_env.families.tdbench.score import measure as our_measure
from agent_env.features.papers.tdbench.authors_scorer import forms, measure
from tests.families.tdbench.leaders import TABLE, current, hops, question

GROUP = ((0, 1, 2, 3),)


def answer(sample, text):
    own = sample.model_copy(update={"relevant": GROUP})
    return float(measure(own, text, TABLE)["metrics"]["answer"])


@pytest.mark.parametrize(
    ("text", "ours", "theirs"),
    [
        ("Carl Dahl, from 1999-05-18 to 2006-05-15", 1, 1),
        ("Carl Dahl, who was succeeded by Eva Fors", 1, 0),
        ("It was not Carl Dahl", 0, 1),
        ("Carl Dahl; I am unsure of the dates", 1, 0),
        ("Carl Dahl, nonetheless", 1, 0),
    ],
)
def test_a_name_counts_wherever_it_stands(text, ours, theirs):
    found = our_measure(question(1), text, TABLE)["metrics"]["answer"]
    assert (found, answer(question(1), text)) == (ours, theirs)


def test_names_values_and_what_holds_now():
    names = [f"Person {letter}" for letter in "ABCDEF"]
    golds = tuple(GoldRow(answer=n, start="2000-01", end=None, row=k) for k, n in enumerate(names))
    given = {"golds": golds, "gold": tuple(names), "others": (), "materials": ()}
    many = question(0, 1).model_copy(update=given)
    some = [measure(many, ", ".join(names[:n]))["metrics"]["answer"] for n in (4, 5, 6)]
    assert some == [0, 1, 1]
    assert our_measure(many, ", ".join(names[:5]))["metrics"]["answer"] == 0
    during = question(1).model_copy(update={"relation": "during", "question": "… between …?"})
    assert answer(during, "Carl Dahl, before Eva Fors") == 1
    assert answer(question(1), "Carl Dahl, before Eva Fors") == 0
    none = [answer(question(), text) for text in ("No one did.", "None", "Nobody", "")]
    assert none == [1, 1, 0, 0]
    whole = "gun maria holm"
    assert forms("Gun Maria Holm") == (whole, whole, "gun holm", "gun maria", "gun")
    assert forms("Émile Łoub")[1] == "emile loub"
    assert forms("Ann Ray, Bo Rask")[2:] == ("ann ray", "bo rask")
    assert "illegal" in forms("Ilegal")
    assert "hirohito" in forms("Shōwa")
    own = current().model_copy(update={"domain": "dyknow_leaders"})
    texts = ("Gun Holm, since January 2015", "Gun Holm, since 2015", "Gun Holm, since May 2015",
             "Gun Holm, since 2014", "Eva Fors, since 2015")  # fmt: skip
    found = [measure(own, text)["metrics"] for text in texts]
    assert [m["answer"] for m in found] == [1, 1, 1, 1, 0]
    assert [m["answer_time"] for m in found] == [1, 1, 0, 0, 0]
    by_year = own.model_copy(update={"domain": "legal"})
    assert measure(by_year, texts[2])["metrics"]["answer_time"] == 1


def test_a_join_is_wrong_only_where_another_month_of_the_games_is_named():
    games = GoldRow(answer="Carl Dahl", start="2000-09", end="2000-10", row=0)
    steps = (Hop(asks="host", gold=("Aland", "2000-09")), Hop(asks="n", gold=("C",)))
    own = hops().model_copy(update={"golds": (games,), "gold": ("Carl Dahl",), "hops": steps})
    texts = ("Carl Dahl of Aland, October 2000", "Carl Dahl, March 2000", "Carl Dahl, March 1999",
             "Carl Dahl or Eva Fors")  # fmt: skip
    found = [measure(own, text)["metrics"] for text in texts]
    assert [m["answer_time"] for m in found] == [1, 0, 1, 1]
    assert [m["hop_1"] for m in found] == [1, 0, 0, 0]
