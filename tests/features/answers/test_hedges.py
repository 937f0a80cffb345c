"""An answer that is only weighed, asked, denied or taken back earns nothing, in any family; the
same answer in honest words earns what it always did.

Each form stands for a way to have the right answer in the reply without giving it. It is tried
bare and behind the family's own mark.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import pytest

from agent_env.families.qa.sample import QaSample
from agent_env.features.answers.hedges import hedge, takes_back
from agent_env.records.schema import Sample
from agent_env.tasks.family import by_digest
from agent_env.tasks.task import Task
from agent_env.wiring.registry import load_family
from tests import TESTS
from tests.ended import ended

HEDGES, HONEST, PROSE = (
    part.splitlines()[1:] for part in (TESTS / "data/forms/hedges.txt").read_text().split("== ")[1:]
)


DATES = ("1901-01-01", "1902-02-02", "1903-03-03")
UNKNOWN = ("Alpha Beta", "Gamma Delta", "Epsilon Zeta")
NUMBERS = ("911", "912", "913")


@dataclass(frozen=True)
class Asked:
    """A question, and what a reply to it is made of."""

    task: Task
    sample: Sample
    gold: str
    wrong: tuple[str, ...]
    mark: str

    def reward(self, form):
        a, b, c = (self.wrong * 3)[:3]
        words = {"gold": self.gold, "a": a, "b": b, "c": c, "mark": self.mark}
        text = form.replace("|", "\n").format(**words)
        episode = ended(text, self.sample.id, stop_reason="answered")
        metrics = self.task.score(self.sample, episode).metrics
        return metrics.get(self.task.metrics[0], 0.0)


def _asked(
    family, mark, wrong,
    fits = lambda sample: True, *options
):  # fmt: skip
    own = load_family(family)
    chosen = own.read_options(options)
    made = own.make_samples(60, 3, chosen)
    task = own.make_task("default", chosen, by_digest(made.tables))
    sample = next(each for each in made.samples if len(_golds(each)) == 1 and fits(each))
    gold = sample.label if family == "temp-answers" else sample.gold[0]
    return Asked(task, sample, gold, wrong(sample), mark)


def _golds(sample):
    return tuple(sample.gold)


def _own(scorer, gold, wrong, **fields):
    family = load_family("qa")
    task = family.make_task("default", family.read_options((f"scorer={scorer}",)), {})
    sample = QaSample(id="q", task="qa", question="?", gold=(gold,), **fields)
    return Asked(task, sample, gold, wrong, "MY ANSWER: ")


def _traveler(template):
    return lambda sample: sample.template == template and not sample.chances


def _of_time(kind):
    return lambda sample: sample.kind == kind and not sample.keys


NAMES = ("Carl Dahl", "Eva Fors", "Bo Ek")
ASKED = {
    "time-puzzles": lambda: _asked("time-puzzles", "MY ANSWER: ", lambda s: DATES),
    "tdbench": lambda: _asked("tdbench", "Answer: ", lambda s: s.others[:3],
                              lambda s: len(s.others) > 2),
    "tdbench, unknown names": lambda: _asked("tdbench", "Answer: ", lambda s: UNKNOWN),
    "tdbench current": lambda: _asked("tdbench", "Answer: ", lambda s: s.others[:3],
                                      lambda s: s.kind == "current", "kinds=current"),
    "tdbench nth": lambda: _asked("tdbench", "Answer: ", lambda s: s.others[:3],
                                  lambda s: s.kind == "nth", "kinds=nth"),
    "tdbench longest": lambda: _asked("tdbench", "Answer: ", lambda s: s.others[:3],
                                      lambda s: s.kind == "longest", "kinds=longest"),
    "tdbench duration": lambda: _asked("tdbench", "Answer: ", lambda s: NUMBERS,
                                       lambda s: s.answer_type == "number", "kinds=duration"),
    "tdbench hops": lambda: _asked("tdbench", "Answer: ", lambda s: s.others[:3],
                                   lambda s: s.answer_type == "name", "kinds=hops"),
    "tempreason": lambda: _asked("tempreason", "Answer: ", lambda s: (*s.negatives, *UNKNOWN),
                                 lambda s: s.level != "L1"),
    "timeqa": lambda: _asked("timeqa", "Answer: ", lambda s: (*s.negatives, *UNKNOWN)),
    "traveler who": lambda: _asked(
        "traveler", "MY ANSWER: ", lambda s: tuple(sorted({*s.subjects} - {*s.gold})),
        _traveler("who")),
    "traveler did": lambda: _asked(
        "traveler", "MY ANSWER: ", lambda s: ("no",) if s.gold == ("yes",) else ("yes",),
        _traveler("did")),
    "traveler how often": lambda: _asked("traveler", "MY ANSWER: ", lambda s: NUMBERS,
                                         _traveler("how-often")),
    "traveler when": lambda: _asked("traveler", "MY ANSWER: ", lambda s: DATES, _traveler("when")),
    "temp-answers number": lambda: _asked("temp-answers", "Final Answer: ", lambda s: NUMBERS,
                                          _of_time("number")),
    "temp-answers year": lambda: _asked("temp-answers", "Final Answer: ",
                                        lambda s: ("1901", "1902", "1903"), _of_time("year")),
    "temp-answers date": lambda: _asked(
        "temp-answers", "Final Answer: ",
        lambda s: ("January 1, 1901", "February 2, 1902", "March 3, 1903"), _of_time("date")),
    "qa exact": lambda: _own("exact", "Ada Berg", NAMES),
    "qa normalised": lambda: _own("normalised", "Ada Berg", NAMES),
    "qa set": lambda: _own("set", "Ada Berg", NAMES),
    "qa number": lambda: _own("number", "42", NUMBERS),
    "qa date": lambda: _own("date", "1999-05-18", DATES),
    "qa dates": lambda: _own("dates", "1999-05-18", DATES),
    "qa choice": lambda: _own("choice", "B", ("A", "C", "D"), choices=("Ada", "Carl", "Eva", "Bo")),
}  # fmt: skip
asked = cache(lambda name: ASKED[name]())
PROSE_READERS = ("tdbench", "tdbench current", "tdbench nth", "tdbench longest", "tdbench hops")


@pytest.mark.parametrize("name", ASKED)
def test_a_hedge_earns_nothing_and_its_honest_twin_one(name):
    question = asked(name)
    earned = {
        form: reward
        for text in HEDGES
        for form in ([text] if "{mark}" in text else [text, "{mark}" + text])
        if (reward := question.reward(form)) > 0
    }
    assert earned == {}
    forms = [form for form in HONEST if not (name == "qa exact" and form == "{mark}{gold}.")]
    lost = {form: reward for form in forms if (reward := question.reward(form)) != 1}
    assert lost == {}


@pytest.mark.parametrize("name", PROSE_READERS)
def test_honest_prose_earns_one(name):
    question = asked(name)
    forms = [each for text in PROSE for each in (text, "{mark}" + text)]
    assert {form: reward for form in forms if (reward := question.reward(form)) != 1} == {}


@pytest.mark.parametrize("name", [each for each in ASKED if not each.startswith("temp-answers")])
def test_reasoning_in_tags_is_no_part_of_the_answer(name):
    question = asked(name)
    assert question.reward("<think>Maybe {a}? Not sure. Answer: {b}</think>||{gold}") == 1
    assert question.reward("<think>{mark}{gold}</think>||{mark}{a}") == 0


@pytest.mark.parametrize("name", ["tempreason", "timeqa"])
def test_a_fence_or_a_box_around_a_name_is_no_part_of_it(name):
    question = asked(name)
    for form in (
        "```markdown|*{gold}*|```",
        "{mark}\\boxed{{{gold}}}",
        "{mark}$\\boxed{{\\text{{{gold}}}}}$",
        "{mark}|```|{gold}|```",
    ):
        assert question.reward(form) == 1, form


def test_a_statement_that_there_is_no_answer_hedges_like_any_other():
    question = asked("tdbench, unknown names")
    sample = question.sample
    nobody = sample.model_copy(
        update={"gold": (), "golds": (), "cardinality": "none", "others": (*sample.others, "Xu")}
    )
    none = replace(question, sample=nobody, gold="No answer", wrong=("Xu",))
    assert none.reward("{gold}.") == 1
    assert none.reward("{gold}, because no row matches.") == 1
    for form in (
        "{gold}, or {a}.",
        "{gold}?",
        "{gold}. No, wait: {a}.",
        "Maybe there is no answer.",
    ):
        assert none.reward(form) == 0, form


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Is it Ada? Yes, it is Ada.", ""),
        ("Ada. Maybe Ada came late.", ""),
        ("Ada. It is not Ada.", "denies its answer"),
        ("Ada F.C. is wrong", "denies its answer"),
        ("perhaps Ada", "hedges ('perhaps')"),
        ("Ada. I do not know.", "takes its answer back"),
        ("Ada. I do not know the day on which she left.", ""),
        ("Ada, no. 7 of the list", ""),
        ("Not only Ada", ""),
        ("Ada (not Bea)", ""),
        ("Ada (not the right one)", "denies its answer"),
        ("Ada is a decoy.", "denies its answer"),
        ("Ada is out of the question.", "denies its answer"),
        ("Ada ❌", "denies its answer"),
        ("Anyone but Ada.", "denies its answer"),
        ("Everyone but Bea left: Ada", ""),
        ("Ada？", "asks"),
        ("Ada - wrongly called Bea", ""),
    ],
)
def test_a_mention_in_its_sentence(text, why):
    name = "Ada F.C." if "F.C." in text else "Ada"
    places = [at for at in range(len(text)) if text.startswith(name, at)]
    assert hedge(text, [(at, at + len(name)) for at in places]) == why


@pytest.mark.parametrize(
    ("behind", "is_taken_back"),
    [
        ("", False),
        ("This is what the table says. No other date is possible.", False),
        ("The correct answer is therefore the one above.", False),
        ("\n**Explanation:** No, Ann is not possible: she left earlier.", False),
        ("\nI was wrong at first about Ann, but the above is right.", False),
        ("\nI'm not certain that you need the reasoning; here it is.", False),
        ("\nThat is not right to say of the others.", False),
        ("\nNo, it is not.", True),
        ("\nNo: not that one.", True),
        ("\nActually, it is Ann.", True),
        ("\nI am not sure about that.", True),
        ("\nI'm not sure whether this is right.", True),
        ("\nDisregard my previous answer.", True),
        ("\nNo, that was wrong.", True),
        ("\nWait, that is the wrong year.", True),
        ("I was wrong: it is another.", True),
    ],
)
def test_words_behind_an_answer(behind, is_taken_back):
    assert bool(takes_back(behind)) is is_taken_back
