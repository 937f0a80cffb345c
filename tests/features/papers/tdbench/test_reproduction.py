"""The paper's experiments over a few answers, worked out by hand, and the authors' folder."""

import json

import pytest

from agent_env.errors import DatasetError
from agent_env.families.tdbench.family import make_task
from agent_env.families.tdbench.sample import TdbenchOptions
from agent_env.features.papers.paper import Evidence
from agent_env.features.papers.responses import ReadSamples, ResponseRow, response_runs
from agent_env.features.papers.tdbench import reproduction
from agent_env.features.papers.tdbench.authors_scorer import paper_domain
from tests.families.tdbench.leaders import TABLE, current, hops, question
from tests.features.papers.tdbench.test_published import MISSPELT, write

GROUP = ((0, 1, 2, 3),)
RIGHT = "Carl Dahl, from 1999-05-18 to 2006-05-15"


def measured(name, setup, pairs):
    """The measurements of an experiment where model m gave these answers."""
    samples, rows = {}, []
    for n, (sample, text) in enumerate(pairs):
        own = sample.model_copy(update={"id": f"s{n}", "query": f"q{n}", "relevant": GROUP})
        samples[own.id] = (own,)
        rows.append(ResponseRow(setup, "m", "base", own.id, text))
    task = make_task("default", TdbenchOptions(), {TABLE.digest: TABLE})
    runs = response_runs(setup, rows, ReadSamples(samples), task, print)
    evidence = Evidence({setup: runs}, {setup: task}, {}, ())
    (experiment,) = (each for each in reproduction.PAPER.experiments if each.name == name)
    return {(m.row, m.quantity): m for m in experiment.measure(evidence)}


def test_tables_figures_and_values_are_the_papers():
    answers = [(question(1), RIGHT), (question(1), "Carl Dahl"), (question(), "No answer")]
    found = measured("table5", "reasoning-open", answers)
    figures = {key: each.estimate.value for key, each in found.items()}
    expected = {
        ("m", "unique A"): 100, ("m", "unique T"): 50, ("m", "none A"): 100,
        ("shortcut constant", "none A"): 100, ("shortcut ignore-time", "unique A"): 0,
        ("shortcut oracle", "unique AT"): 100,
    }  # fmt: skip
    assert {key: figures[key] for key in expected} == expected
    assert ("m", "multiple A") not in figures
    assert found["m", "unique A"].estimate.samples == 2
    law = current().model_copy(update={"domain": "same_sex_law"})
    answers = [(current(), "Gun Holm, since January 2015"), (law, "Gun Holm, since 2003")]
    found = measured("table4", "alignment", answers)
    figures = {key: each.estimate.value for key, each in found.items() if key[0] == "m"}
    assert figures == {
        ("m", "Wikipedia A"): 100, ("m", "Wikipedia AT"): 100, ("m", "Wikipedia Δ"): 0,
        ("m", "Law A"): 100, ("m", "Law AT"): 0, ("m", "Law Δ"): 100,
    }  # fmt: skip
    domains = [paper_domain(name) for name in ("netflix_df", "carbon_tax", "culture", "athlete")]
    assert domains == ["Netflix", "Carbon tax", "Heritage", "Wikipedia"]
    club = question(0).model_copy(update={"domain": "clubs", "book": "closed"})
    own = question(1).model_copy(update={"book": "closed"})
    answers = [(own, RIGHT), (club, "Ada Berg, from 1992-05-28 to 1999-05-18")]
    for figure, spans in (("figure3", ["1995-1999"]), ("figure5", ["1990-1994", "1995-1999"])):
        found = measured(figure, "reasoning-default", answers)
        assert [name for row, name in found if row == "m"] == spans
    tables = {each.name: each.published for each in reproduction.PAPER.experiments}
    hops, prompts = tables["table27"], tables["table7"]
    assert all(row[0] == hops[name][1] for name, row in prompts.items())
    assert all(row == hops[name][3:] for name, row in tables["table6"].items())
    for experiment in reproduction.PAPER.experiments:
        for values in experiment.published.values():
            assert len(values) == len(experiment.quantities)
        assert (experiment.measure is None) == bool(experiment.not_reproduced)
    assert set(reproduction.PAPER.models.values()) == set(prompts)
    table = tables["table4"]
    models = [values for row, values in table.items() if row != "Average"]
    for place, average in enumerate(table["Average"]):
        own = [value for values in models if (value := values[place]) is not None]
        assert sum(own) / len(own) == pytest.approx(average, abs=0.11)


def test_columns_by_hops_prompt_relation_and_intervals_over_queries():
    texts = (
        f"The Winter Games of 2002 were in Aland in February 2002. ANSWER: {RIGHT}",
        "The Winter Games of 2002 were in Bland. ANSWER: Ivo Juul",
        "ANSWER: Ivo Juul",
    )
    three = hops()
    found = measured("table27", "hops-default", [(three, text) for text in texts])
    assert found["m", "3-hop A"].estimate.value == pytest.approx(100 / 3)
    assert [found["m", f"3-hop H{n}"].estimate.value for n in (1, 2)] == [50, 0]
    found = measured("table22", "reasoning-time-cot", [(question(1), "Carl Dahl")])
    assert found["m", "unique Time-CoT"].estimate.value == 0
    two = three.model_copy(update={"hops": three.hops[1:]})
    found = measured("table7", "hops-default", [(three, RIGHT), (two, f"ANSWER: {RIGHT}")])
    assert found["m", "original"].estimate.samples == 1
    half = question(1, relation="started-by", roles=("start",))
    full = question(1, relation="started-by", roles=("start", "end"))
    found = measured("figure2", "reasoning-open", [(half, RIGHT), (full, "Ada Berg")])
    assert found["m", "started-by"].estimate.value == 50
    answers = [(question(1), RIGHT)] * 3 + [(question(), "Ada Berg")] * 57
    found = measured("table5", "reasoning-open", answers)
    unique, none = (found["m", f"{size} A"].estimate for size in ("unique", "none"))
    assert (unique.value, unique.samples, none.value, none.samples) == (100, 3, 0, 57)
    assert (unique.low, unique.high) == (pytest.approx(43.85, abs=0.01), 100)


def test_the_authors_folder_has_published_and_corrected_gold(tmp_path):
    write(tmp_path)
    (tmp_path / "culture.json").write_text(json.dumps(MISSPELT))
    samples = reproduction.read_part(reproduction.FILTERS["reasoning"], tmp_path).samples
    assert [sample.gold for sample in samples] == [("Inscribd",), ("Proclaimed",)]
    (changed,) = reproduction.corrected_gold(samples)["corrected"]
    assert (changed.id, changed.gold) == (samples[0].id, ("Inscribed",))
    assert [row.start for row in changed.golds] == ["2008-11"]
    files, name = {"reasoning": tmp_path, "multi-hop": tmp_path}, tmp_path.name
    counts = reproduction.PAPER.experiments[0].measure(Evidence({}, {}, files, ()))
    assert [(m.row, m.estimate.value, m.remark) for m in counts] == [
        (name, 50, "1 of 2"),
        (f"{name}: culture.json (basic)", 50, "1 of 2; days, open ends NULL"),
    ]
    with pytest.raises(DatasetError, match="holds no question of this set"):
        reproduction.read_part(reproduction.FILTERS["multi-hop"], tmp_path)
