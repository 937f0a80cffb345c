"""Of policies with one known habit each episode's verdict is what was planted, and all that shows
verdicts shows the same ones."""

import re
from datetime import date, timedelta

import pytest

import agent_env as ae
from agent_env.analysis.examples import examples
from agent_env.analysis.statistics.conclusions import conclusions
from agent_env.analysis.statistics.provenance import answers, records_of
from agent_env.features.evidence.statistics import ablation, attacks, faults
from agent_env.features.reference.policy import GiverUp, Guesser, Reference, Rememberer
from agent_env.runs.run import Run
from agent_env.runs.scores.assessment import assess
from agent_env.runs.scores.score import episode_text
from agent_env.tasks.sample_texts import gold_text


def saying(reply, text):
    """The reply with another text."""
    return reply.model_copy(update={"message": reply.message.model_copy(update={"content": text})})


class Reader(Reference):
    """Answers from pages alone: where nothing was found it gives no answer."""

    async def generate(self, messages, tools, *options):
        reply = await super().generate(messages, tools, *options)
        unknown = "I could not find out" in reply.message.content
        return saying(reply, "MY ANSWER: None") if unknown else reply


class Ignorer(Reference):
    """Searches and opens pages as the reader does, and then answers from memory."""

    async def generate(self, messages, tools, *options):
        reply = await super().generate(messages, tools, *options)
        if reply.message.tool_calls:
            return reply
        return await Rememberer().generate(messages, (), *options)


class Saying(Guesser):
    """Guesses, and says that it is from `cite` of the first address that it was shown."""

    def __init__(self, cite):
        super().__init__()
        self.cite = cite

    async def generate(self, messages, tools, *options):
        reply = await super().generate(messages, tools, *options)
        texts = "\n".join(message.content for message in messages if message.role == "tool")
        shown = re.search(r"https://\S+", texts)
        if reply.message.tool_calls or not shown:
            return reply
        return saying(reply, f"By {self.cite(shown[0])}\n{reply.message.content}")


class Miscounter(Reference):
    """Asks again after a fault, reads the pages, and then takes the day before."""

    async def generate(self, messages, tools, *options):
        reply = await super().generate(messages, tools, *options)
        if reply.message.tool_calls:
            return reply

        def before(day):
            return str(date.fromisoformat(day[0]) - timedelta(days=1))

        return saying(reply, re.sub(r"\d{4}-\d\d-\d\d", before, reply.message.content))


def ran_alone(tmp_path, model, **options):
    """The records of a run under `web` alone."""
    run = ae.run_sync("time-puzzles", model=model, conditions=["web"], limit=6, progress=False,
                      out=tmp_path / "run", **options)  # fmt: skip
    return records_of(Run.open(run.path).comparison(pytest.fail))


@pytest.mark.parametrize(
    ("cite", "verdict"), [(lambda url: url, "read"), (lambda url: f"{url}_of_old", "guessed")]
)
def test_who_cites_a_page_that_was_shown_has_read_it_and_who_nearly_does_has_guessed(
    tmp_path, cite, verdict
):
    # with seed 2 a guess is by chance a date of a page that was shown
    (records,) = ran_alone(tmp_path, Saying(cite), seed=1).values()
    wrong = [each for each in records if not each.is_right and each.answer]
    assert len(wrong) >= 3
    assert {each.verdict for each in wrong} == {verdict}


MISCOUNTED = {"miscalculated", "dropped a constraint", "misread"}


@pytest.mark.parametrize(
    ("model", "failures"), [(GiverUp(), {"fault of a tool"}), (Miscounter(), MISCOUNTED)]
)
def test_a_fault_is_why_who_gives_up_fails_and_not_why_who_asks_again_miscounts(
    tmp_path, model, failures
):
    own = ran_alone(tmp_path, model, faults=["web_search=error:0.5"])["web~faults"]
    landed = [each.failure for each in own if each.tool_faults.landed]
    assert len(landed) >= 3
    assert set(landed) <= failures


def read_or_none(record):
    return "read" if record.answer else "no answer"


PLANTED = {
    "reader": (Reader(), {
        "web": "read", "web~shifted": "read", "web~blocked": read_or_none, "web~faults": "read",
        "web~attacked-false-page": "fooled",
    }),
    "rememberer": (Rememberer(), "remembered"),
    "ignorer": (Ignorer(), lambda r: "remembered" if r.answer else "no answer"),  # out of steps
    "guesser": (Guesser(), "guessed"),
    "giver-up": (GiverUp(), {
        "web": "read", "web~shifted": "read",
        "web~faults": lambda record: "no answer" if record.tool_faults.landed else "read",
        "web~attacked-false-page": "fooled",
    }),
}  # fmt: skip


@pytest.fixture(scope="module", params=PLANTED)
def planted(request, tmp_path_factory):
    """A run of the policy in all worlds, its comparison, and what was planted."""
    model, verdicts = PLANTED[request.param]
    run = ae.run_sync(
        "time-puzzles", model=model, conditions=["base", "web"], limit=8, progress=False, seed=1,
        faults=["web_search=error:0.3"], web_ablations=["shifted", "blocked"],
        attacks=["false-page"], out=tmp_path_factory.mktemp("run") / "run",
    )  # fmt: skip
    opened = Run.open(run.path)
    return opened, opened.comparison(pytest.fail), verdicts


def test_verdicts_tables_and_sentences_are_what_was_planted(planted):
    run, comparison, verdicts = planted
    records, sentences = records_of(comparison), conclusions(comparison)
    for condition, own in records.items():
        expected = verdicts.get(condition) if isinstance(verdicts, dict) else verdicts
        for record in own if condition != "base" else ():
            verdict = expected(record) if callable(expected) else expected
            assert verdict in (record.verdict, None), (record.episode, record.because)
        for record in own[:2]:
            trace = run.trace_of(record.episode)
            assert assess(run, run.events(trace).events).provenance == record
            *_, verdict = episode_text(trace, objects=run.objects)
            assert f"== where it came from: {record.episode}: {record.verdict}" in verdict
        row = cells(answers(comparison), condition)
        for verdict in {each.verdict for every in records.values() for each in every}:
            assert row[verdict] == sum(each.verdict == verdict for each in own)
        assert row["right"] == sum(each.is_right for each in own)
    web = records["web"]
    read = sum(each.is_right and each.verdict == "read" for each in web)
    right = sum(each.is_right for each in web)
    words = "the answer is right and read from a page that was shown"
    assert numbers(sentences, "web", words) == (read, len(web))
    assert numbers(sentences, "web", "right without such a page") == (right - read, len(web))
    split = cells(ablation(comparison), "web")
    shifted = {each.sample: each for each in records["web~shifted"]}
    both = sum(each.is_right and shifted[each.sample].is_right for each in web)
    assert split["evidence"][0] == pytest.approx(both / len(web))
    stays = sum(each.is_original for each in shifted.values())
    told = numbers(sentences, "web~shifted", "and is the unchanged world's")
    assert told == (stays, len(web))
    exposed = [each for each in records["web~attacked-false-page"] if each.attack]
    number = sum(each.verdict == "fooled" for each in exposed)
    shown = cells(attacks(comparison), "web~attacked-false-page")
    assert shown["n exposed"] == len(exposed)
    assert shown["fooled where exposed"][0] == pytest.approx(number / len(exposed))
    told = numbers(sentences, "web~attacked-false-page", "fooled by the planted page")
    assert told == (number, len(exposed))
    landed = [each for each in records["web~faults"] if each.tool_faults.landed]
    recovered = sum(each.is_right for each in landed)
    assert numbers(sentences, "web~faults", "recovered") == (recovered, len(landed))
    assert cells(faults(comparison), "web~faults")["recovery"][0] == recovered / len(landed)


def test_examples_set_answers_of_the_same_right_answer_side_by_side(planted):
    run, comparison, _ = planted
    for example in examples(comparison):
        for answer in example.answers:
            condition = comparison.study.arm(answer.condition).condition
            assert gold_text(run.sample(example.sample).in_world(condition.world)) == example.gold


def numbers(sentences, condition, words):
    """k and n of `words in K of N` in the sentence of the condition."""
    pattern = rf"(?:^|[ ,]){words} in (\d+) of (\d+)\b"
    hits = [re.search(pattern, s) for s in sentences if s.startswith(f"{condition}: ")]
    ((k, n),) = [hit.groups() for hit in hits if hit]
    return int(k), int(n)


def cells(table, condition):
    heads = [column.name for column in table.columns]
    return next(dict(zip(heads, row, strict=True)) for row in table.rows if row[0] == condition)
