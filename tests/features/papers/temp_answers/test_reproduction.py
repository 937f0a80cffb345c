"""The paper's tables, measured on response files written by hand in the published layout."""

import pytest

from agent_env.features.papers.paper import Evidence
from agent_env.features.papers.temp_answers.paper_measures import TABLES, model_name
from agent_env.features.papers.temp_answers.reproduction import PAPER
from tests.features.papers.temp_answers.test_cli import HEAD, write

TOT = ("question", "label", "question_type", "question_wo_instruct", "instruction",
       "answer_format", "answer_temporal_unit", "split", "response")  # fmt: skip


def head(n, label, said):
    return (f"Question {n}?", label, "person", str(n), "<num_years>", "years", "head", "", said)


def graph(n, label, said, kind="RelationDuration", split="semantic"):
    return (f"Question {n}? As JSON.", f"{{'answer': {label}}}", kind,
            f"Question {n}?", "As JSON.", "<answer>", "years", split, said)  # fmt: skip


@pytest.fixture(scope="module")
def evidence(tmp_path_factory):
    folder = tmp_path_factory.mktemp("responses")
    line = "Final Answer: "
    lines = [head(1, "20", f"{line}20 years and 3 months"), head(2, "30", f"{line}31"),
             head(3, "40", f"{line}41"), head(4, "50", "It is 50."),
             head(5, "60", f"{line}1,060"), head(6, "70", f"{line}70")]  # fmt: skip
    objects = [graph(1, 4, ' "4", "answer": 4}'), graph(2, 6, ' "6", "answer": 6,}'),
               graph(3, 9, ' "2 + 2 = 5", "answer": 8}')]  # fmt: skip
    name = "{}_Phi-4-mini-instruct_zero-shot_{}.csv".format
    of_tables = write(folder / name("ttqa_head", "add_generation_prompt"), [HEAD, *lines])
    of_graphs = write(folder / name("tot_semantic", "continue_final_message"), [TOT, *objects])
    return Evidence({}, {}, {}, (of_tables, of_graphs))


def values(evidence, name, mode):
    (experiment,) = (each for each in PAPER.experiments if each.name == name)
    known = {quantity.name for quantity in experiment.quantities}
    of_mode = (f"responses, mode {mode}", "responses")
    found = [m for m in experiment.measure(evidence) if m.model in of_mode]
    assert {m.quantity for m in found} <= known
    return {(m.row, m.quantity): m.estimate.value for m in found}


def test_tables_stand_in_the_papers_rows(evidence):
    paper, v2 = (values(evidence, "table11", mode) for mode in ("paper", "v2"))
    row = "head Phi-4-mini zero shot"
    assert row in TABLES["table11"]
    assert paper[row, "EM"] == v2[row, "EM"] == pytest.approx(100 / 3)  # 20 and 70
    assert {"head baseline, mean", "head baseline, median"} <= {name for name, _ in paper}
    assert paper["head baseline, median", "EM"] == 0.0
    own = "semantic Phi-4-mini zero shot"
    assert values(evidence, "table12", "paper")[own, "EM"] == pytest.approx(100 / 3)
    assert values(evidence, "table12", "v2")[own, "EM"] == pytest.approx(200 / 3)
    assert own in TABLES["table12"]
    errors = values(evidence, "table3", "v2")
    assert errors["TTQA |e| = 1", "share"] == pytest.approx(200 / 3)
    assert errors["TTQA |e| = 2", "share"] == 0.0
    assert values(evidence, "table4", "v2")["RelationDuration", "|e| = 1"] == 100.0
    assert values(evidence, "table5", "v2")["# years", "all data"] == 100.0
    assert values(evidence, "table6", "v2")["ToT neg.", "sMAPE"] == pytest.approx(100 / 17)
    assert values(evidence, "table2", "v2") == {
        ("TTQA years", "questions"): 6.0, ("ToT years", "questions"): 3.0,
    }  # fmt: skip
    for table, quantity, share in (
        ("table8", "continue final message", 100 / 3),
        ("table9", "with chat template", 500 / 6),
    ):
        assert values(evidence, table, "paper") == {("Phi-4-mini", quantity): pytest.approx(share)}
    counts = values(evidence, "table13", "paper")
    assert [counts["Phi-4-mini zero shot", name] for name in ("EM", "sMAPE", "MASE")] == [6, 6, 5]
    assert values(evidence, "figure11", "v2")["Phi-4-mini", "wrong answers"] == 0.0


@pytest.mark.parametrize(
    ("name", "row"),
    [("meta-llama/Llama-3.1-8B-Instruct", "Llama-3.1-8B"), ("phi-4", "Phi-4"), ("x/Y-9B", "Y-9B"),
     ("Qwen/Qwen2.5-14B-Instruct base", "Qwen2.5-14B")],
)  # fmt: skip
def test_names_of_models_are_those_of_the_paper(name, row):
    assert model_name(name) == row


def test_a_part_of_pooled_data_is_said_in_the_row(tmp_path):
    """The authors publish the responses to ToT's arithmetic split alone."""
    rows = [graph(n, 4, ' "4", "answer": 4}', "Trick", "arithmetic") for n in range(1016)]
    name = "tot_arithmetic_Phi-4_zero-shot_continue_final_message.csv"
    own = Evidence({}, {}, {}, (write(tmp_path / name, [TOT, *rows]),))
    reasons = {
        (experiment.name, each.row, each.quantity): each.incomparable
        for experiment in PAPER.experiments
        if experiment.name in ("table12", "table14", "figure11")
        for each in experiment.measure(own)
        if each.model.endswith(("paper", "responses"))
    }
    row = "Phi-4 zero shot"
    pooled = "without the semantic split, which the paper pools with the others"
    alone = "1 arithmetic files, the paper's are 12"
    assert reasons["table12", f"arithmetic {row}", "EM"] == ""
    assert reasons["table12", f"arithmetic {row}", "MASE"] == alone
    assert reasons["table14", row, "EM"] == pooled
