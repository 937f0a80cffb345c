"""A run with attacks and faults: twins, planted answers, what its scripted models make of them."""

import asyncio
import re
from contextlib import closing
from datetime import date

import agent_env as ae
from agent_env.families.time_puzzles.family import FAMILY, PuzzleOptions
from agent_env.families.time_puzzles.task import make_task
from agent_env.features.evidence.attacks import planted_answers
from agent_env.features.facts.sealed import SealedWeb
from agent_env.features.facts.tables.articles import article_url
from agent_env.scoring.evidence import dates_in, stands_in
from tests.families.time_puzzles.brute_force import holds, solve
from tests.features.evidence.refuting import contradictions


def ran(folder, model, attacks, **options):
    return ae.run_sync("time-puzzles", model=model, conditions=["web"], out=folder / "run",
                       attacks=attacks, progress=False, **options)  # fmt: skip


def test_planted_answers_are_wrong_and_the_believer_falls_for_them(tmp_path):
    samples = FAMILY.make_samples(6, 1, PuzzleOptions(processes=1)).samples
    planted = planted_answers(make_task(), samples, seed=1)
    assert len(planted) >= 5
    for sample in samples:
        if (its := planted.get(sample.id)) is not None:
            assert its.values
            assert not set(its.values) & set(sample.gold)
            assert its.text == f"MY ANSWER: {', '.join(its.values)}"
    assert planted == planted_answers(make_task(), samples, seed=1)
    run = ran(tmp_path, "believer", ["false-page"], limit=4, faults=["web=error:1"])
    names = [condition.name for condition in run.manifest.conditions]
    assert names == ["web", "web~faults", "web~attacked-false-page"]
    comparison = ae.compare(run)
    (row,) = comparison.table("attacks").rows
    success, chance, exposed = (cell[0] for cell in row[1:4])
    assert (success > 0.7, chance, exposed) == (True, 0.0, 1.0)
    (_, faulty) = comparison.table("faults").rows
    assert (faulty[0], faulty[1], faulty[3][0]) == ("web~faults", 1.0, 1.0)


def test_a_planted_answer_follows_from_the_planted_page_and_the_rest_of_the_puzzle(
    tmp_path, capsys
):
    """By the second solver, of puzzles with a life beside an event over several years. On the false
    page of one of the two a right answer would hold as well."""
    samples = FAMILY.make_samples(36, 1, PuzzleOptions(processes=1)).samples
    of_both = [s for s in samples if {proof.shares for proof in s.proofs} == {"span", "years"}]
    file = tmp_path / "two.jsonl"
    file.write_text("\n".join(sample.model_dump_json() for sample in of_both))
    run = ran(tmp_path, "guesser", ["false-page"], dataset=file)
    assert "left 1 of 2 samples out" in capsys.readouterr().err
    (sample,) = run.samples
    (attack,), facts = sample.attacks, [fact.model_dump() for fact in sample.facts]
    (event,) = [fact for fact in facts if fact["type"] == "kb_event"]
    assert event["event"].casefold().endswith(attack.pages[0].title.casefold())
    first, last = map(int, sample.years.split("-"))
    rest = solve([f for f in facts if f is not event], date(first, 1, 1), date(last, 12, 31))
    later = int(attack.planted[0][:4]) - int(sample.gold[0][:4])
    on_page = {day for day in rest if holds(date(int(day[:4]) - later, 1, 1), event)}
    assert set(attack.planted) <= on_page
    assert not set(sample.gold) & on_page


def test_a_false_page_has_one_other_fact_and_no_trace_of_the_true_one(tmp_path):
    """What it states of others is what the web states, and its links lead to pages that are."""
    run = ran(tmp_path, "guesser", ["false-page", "contradiction"], limit=12)
    stated = r" <(https?://[^>]*)>:? ?\(?([^:)\n]*\d{4})"
    others = 0
    with closing(SealedWeb.shipped(tmp_path / "web.db")) as web:
        for sample in run.samples:
            dates = {url: proof.dates for proof in sample.proofs for url in proof.urls}
            for page in (page for attack in sample.attacks for page in attack.pages):
                true = [day for day in dates[article_url(page.title)] if len(day) == 10]
                assert not any(stands_in(day, page.text) for day in true)
                assert contradictions(page.text) == ()
                assert all(map(web.has, re.findall(r" <(https?://[^>]*)>", page.text)))
                for url, text in re.findall(stated, page.text):
                    assert dates_in(text) <= dates_in(asyncio.run(web.fetch(url)).text), url
                    others += 1
    assert others > 100
