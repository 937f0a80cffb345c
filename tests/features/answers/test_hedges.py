"""An answer that is only weighed, asked, denied or taken back earns nothing, in any family; the
same answer in honest words earns what it always did. Each form stands for a way to have the
right answer in the reply without giving it. It is tried bare and behind the family's own mark."""

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
from tests.tables import rows_of

FORMS, ANSWERS = (TESTS / "data/forms" / name for name in ("hedges.txt", "answers.txt"))
HEDGES, HONEST, PROSE = (part.splitlines()[1:] for part in FORMS.read_text().split("== ")[1:])
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
        return self.task.score(self.sample, episode).metrics.get(self.task.metrics[0], 0.0)


def _asked(
    family, mark, wrong,
    fits = lambda sample: True, *options
):  # fmt: skip
    own = load_family(family)
    chosen = own.read_options(options)
    made = own.make_samples(60, 3, chosen)
    task = own.make_task("default", chosen, by_digest(made.tables))
    sample = next(each for each in made.samples if len(each.gold) == 1 and fits(each))
    gold = sample.label if family == "temp-answers" else sample.gold[0]
    return Asked(task, sample, gold, wrong(sample), mark)


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
    boxes = "{mark}\\boxed{{{gold}}}", "{mark}$\\boxed{{\\text{{{gold}}}}}$"
    for form in ("```markdown|*{gold}*|```", *boxes, "{mark}|```|{gold}|```"):
        assert asked(name).reward(form) == 1, form


def test_a_statement_that_there_is_no_answer_hedges_like_any_other():
    question = asked("tdbench, unknown names")
    sample = question.sample
    nobody = {"gold": (), "golds": (), "cardinality": "none", "others": (*sample.others, "Xu")}
    sample = sample.model_copy(update=nobody)
    none = replace(question, sample=sample, gold="No answer", wrong=("Xu",))
    assert none.reward("{gold}.") == none.reward("{gold}, because no row matches.") == 1
    hedged = "{gold}, or {a}.", "{gold}?", "{gold}. No, wait: {a}.", "Maybe there is no answer."
    assert {form: none.reward(form) for form in hedged} == dict.fromkeys(hedged, 0)


@pytest.mark.parametrize(("text", "why"), rows_of(ANSWERS, "mentions"))
def test_a_mention_in_its_sentence(text, why):
    name = "Ada F.C." if "F.C." in text else "Ada"
    places = [at for at in range(len(text)) if text.startswith(name, at)]
    assert (hedge(text, [(at, at + len(name)) for at in places]) or "nothing") == why


@pytest.mark.parametrize(("behind", "what"), rows_of(ANSWERS, "words behind"))
def test_words_behind_an_answer(behind, what):
    assert ("taken back" if takes_back(behind) else "stays") == what
