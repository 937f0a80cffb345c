"""`study reproduce`: runs, response files and files of questions beside a paper's values."""

import json
import re
from pathlib import Path

import pytest

from agent_env.families.time_puzzles.task import make_task
from agent_env.features.papers import pages
from agent_env.features.papers.responses import ReadSamples
from agent_env.features.papers.time_puzzles.author_outputs import read_outputs
from agent_env.features.reference.policy import Reference
from agent_env.testing import puzzle
from tests.commands import agent_env, serving
from tests.ended import ended
from tests.fake_server import serve
from tests.features.papers.reproducing import reproduce, rows, write_lines

REST = ["The month is February.", "The day of the month is 10."]
PUZZLE = {
    "identifier": "a-1",
    "constraints": ["The year is a leap year.", *REST],
    "explicit_constraints": ["The year is 1984.", *REST],
    "constraints_meta": [
        {"type": "leap_year", "value": True},
        {"type": "month", "value": 2},
        {"type": "day_of_month_specific", "day": 10},
    ],
    "solutions": ["1984-02-10"],
    "solution_count": 1,
    "year_range": [1982, 1986],
    "seed_date": "1984-02-10",
    "noise_date": None,
}
"""By hand, in the authors' format."""
MODEL = "gpt-5-2025-08-07"
RIGHT, NONE = "MY ANSWER: 1984-02-10", "MY ANSWER: None"
BOTH = ("no_tool_use", "no_tool_use_with_explicit_constraints")
"""Folders of answers to the implicit and to the explicit puzzles."""
RAN = {"idx": "a", "question": "Who led Marn in 1990?", "targets": ["Bo Rask"],
       "context": "Bo Rask led Marn from 1989 to 1992."}  # fmt: skip
"""A question of TimeQA."""


@pytest.fixture(autouse=True, scope="module")
def without_figures():
    """As where the extra is not installed: drawing takes most of a small reproduction's time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "find_spec", lambda name: None)
        yield


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Two puzzles, the second with a wrong gold, asked of `reference`; and the responses of a
    model in the authors' format."""
    folder = tmp_path_factory.mktemp("reproduce")
    other = {**PUZZLE, "identifier": "a-2", "solutions": ["1984-02-11"]}
    (folder / "puzzles.json").write_text(json.dumps([PUZZLE, other]))
    base = outputs(folder, BOTH[0], RIGHT, None)
    explicit = outputs(folder, BOTH[1], RIGHT, "MY ANSWER: 1984-02-11")
    line = "time-puzzles --model reference --dataset puzzles.json --only table1 --readings all"
    return reproduce(folder, f"{line} --responses {{}} --responses {{}} --json", base, explicit)


def of_table_1(done, model):
    """The model's rows, by reading of the gold and quantity."""
    return {(r["gold"], r["quantity"]): r for r in rows(done, "table1") if r["row"] == model}


def value(row):
    return float(row["ours (95 % CI)"]["value"])


def outputs(folder, condition, *responses, other=None):
    """The authors' file of a model's responses to PUZZLE and another; without `other` it is the
    same one again, and the file has the tokens."""
    file = folder / condition / f"{MODEL}.json"
    file.parent.mkdir()
    keys = ("identifier", "constraints", "solutions", "solution_count")
    puzzles = (PUZZLE, other or {**PUZZLE, "identifier": "a-2"})
    own = [
        {"response": text}
        | {key: puzzle[key] for key in keys}
        | ({} if other else {"output_tokens": 10 * k})
        for k, (text, puzzle) in enumerate(zip(responses, puzzles, strict=False), start=1)
    ]
    file.write_text(json.dumps(own))
    return file


def test_values_stand_beside_the_authors_own_by_each_reading(done):
    own = of_table_1(done, "reference")
    published = own["published", "EM explicit"]
    readings = [value(own[name, "EM explicit"]) for name in ("published", "corrected", "any")]
    assert readings == [50.0, 100.0, 100.0]
    assert (published["n"], published["verdict"]) == (2, "no row of the paper")
    assert published["its rows"] == "12.3 to 80.7"
    assert "no figures and no page" in done.stderr
    own = of_table_1(done, MODEL)
    implicit = own["published", "EM implicit"]
    assert (implicit["paper"], value(implicit)) == (49.3, 50.0)
    assert implicit["verdict"] == (
        "not comparable: 2 questions, the paper's are 600 puzzles, 100 for each number of "
        "solutions from 1 to 6"
    )
    assert value(own["published", "tokens implicit"]) == 15.0
    changed = {gold: value(row) for (gold, name), row in own.items() if name == "EM explicit"}
    assert changed == {"published": 100.0, "corrected": 50.0, "file_rule": 50.0}
    assert ("corrected", "tokens implicit") not in own
    notes = json.loads(done.stdout)["experiments"]["table1"]["table1"]["notes"]
    assert any("other readings: corrected, file_rule, any" in note for note in notes)


@pytest.mark.parametrize(
    ("condition", "answer", "best"),
    [
        ("base", "MY ANSWER: 2001-01-02", 1.0),
        ("base", "MY ANSWER: 2001-01-03", 0.0),
        ("explicit", "MY ANSWER: 2001-01-02", 0.0),
        ("explicit", "MY ANSWER: None", 1.0),
    ],
)
def test_of_several_golds_each_metric_has_its_best_score(condition, answer, best):
    one = puzzle("a", ["2001-01-01"])
    other = one.model_copy(update={"gold": ("2001-01-02",), "explicit_gold": ()})
    read = ReadSamples({"a": (one, other)})
    assert read.samples == (one,)
    episode = ended(answer, condition=condition, stop_reason="answered")
    assert read.score(make_task(), episode).metrics["exact_match"] == best


def test_a_model_that_always_says_none_scores_0_in_table_1(tmp_path):
    """The authors' file also has puzzles without a solution, which the paper leaves out."""
    texts = ["The year is a leap year.", "The month is February.", "It is the 30th."]
    none = {"identifier": "a-2", "solutions": [], "solution_count": 0, "constraints": texts}
    (tmp_path / "puzzles.json").write_text(json.dumps([PUZZLE, PUZZLE | none]))
    files = [outputs(tmp_path, name, NONE, NONE, other=PUZZLE | none) for name in BOTH]
    line = "time-puzzles --dataset puzzles.json --model reference --only table1 --json"
    done = reproduce(tmp_path, f"{line} --responses {{}} --responses {{}}", *files)
    theirs, ours = (of_table_1(done, model).items() for model in (MODEL, "reference"))
    implicit = next(row for (_, name), row in theirs if name == "EM implicit")
    assert (value(implicit), implicit["n"]) == (0.0, 1)
    assert next(row for (_, name), row in ours if name == "EM explicit")["n"] == 1


def test_ours_under_the_authors_rules_stands_beside_ours(tmp_path):
    files = [outputs(tmp_path, name, RIGHT, "The answer: 10 February 1984") for name in BOTH]
    line = "time-puzzles --responses {} --responses {} --only table1 --json"
    implicit = of_table_1(reproduce(tmp_path, line, *files), MODEL)[None, "EM implicit"]
    assert (value(implicit), implicit["ours under their rules"]["value"]) == (100.0, 50.0)
    assert implicit["difference"] == pytest.approx(50.0 - 49.3)


def test_a_missing_file_costs_its_tables_and_not_the_command(tmp_path):
    question = "Which team did Ada Lorn play for in Mar, 1992?"
    facts = "Ada Lorn plays for Vell Bears from Jan, 1990 to Jan, 1995."
    line = {"question": question, "answer": ["Vell Bears"], "context": "", "fact_context": facts}
    write_lines(tmp_path / "l2.json", line)
    asked = "tempreason --dataset l2=l2.json --only table7 --only table3 --json"
    done = reproduce(tmp_path, f"{asked} --dataset timeqa=gone.json")
    assert rows(done, "table7") != []
    assert "--dataset timeqa: --dataset gone.json: there is no such file" in done.stderr
    assert "there is no such file" in json.loads(done.stdout)["not_reproduced"]["table3"]
    write_lines(tmp_path / "timeqa.json", RAN)
    given = "--dataset timeqa=timeqa.json --option timeqa:setting=open-book"
    later = reproduce(tmp_path, f"{asked} {given}")
    assert "has options" in later.stderr, "another option is another plan; another file is not"


def test_a_script_that_cannot_read_the_questions_is_said_to_be_that(tmp_path):
    asked = {"question": "Bo Rask was the head of what, 1989 to 1992?", "targets": ["Marn"]}
    write_lines(tmp_path / "timeqa.json", {**RAN, "idx": "a_easy", **asked})
    given = "--dataset timeqa=timeqa.json --option setting=open-book"
    done = reproduce(tmp_path, f"tempreason {given} --only table3 --json")
    script = "reference is a script, which cannot read these questions"
    verdicts = {r["verdict"] for r in rows(done, "table3") if r["model"] == "reference"}
    assert verdicts == {f"not comparable: {script}"}
    (tmp_path / "tdbench").mkdir()
    published = Path(__file__).parents[2] / "data" / "published" / "tdbench"
    line = "tdbench --dataset alignment={} --only table4 --json"
    table = rows(reproduce(tmp_path / "tdbench", line, published), "table4")
    assert {row["verdict"] for row in table if row["row"] == "reference"} == {script}


@pytest.mark.parametrize(
    ("folder", "condition", "setups"),
    [
        ("no_tool_use", "base", ["no-tools", "web", "single-solution"]),
        ("with_pseudo_gpt_web_search_context", "cited", ["web", "single-solution"]),
        ("with_pseudo_gpt_web_search_contextgpt-5-2025-08-07", "cited:gpt-5-2025-08-07",
         ["web", "single-solution"]),
        ("with_pseudo_gpt_web_search_context_and_code_interpreter", "cited+python",
         ["single-solution"]),
    ],
)  # fmt: skip
def test_the_folder_of_an_output_file_names_its_condition_and_experiments(
    tmp_path, folder, condition, setups
):
    file = read_outputs(outputs(tmp_path, folder, RIGHT))
    assert [row.setup for row in file.rows] == setups
    assert {row.condition for row in file.rows} == {condition}


def test_answers_with_cited_pages_have_a_row_of_their_own(tmp_path):
    cited = "with_pseudo_gpt_web_search_context"
    pages = outputs(tmp_path, f"{cited}gpt-5-2025-08-07", RIGHT, RIGHT)
    both = outputs(tmp_path, f"{cited}_and_code_interpreter", RIGHT, NONE)
    line = "time-puzzles --responses {} --responses {} --json --only figure2 --only figure3"
    done = reproduce(tmp_path, line, pages, both)
    (curve,) = (row for row in rows(done, "figure2") if row["model"] == MODEL)
    assert (curve["row"], value(curve)) == (f"implicit +cited pages of {MODEL}", 100.0)
    bars = {row["quantity"]: value(row) for row in rows(done, "figure3")}
    assert bars["EM %, implicit +cited pages"] == 100.0
    assert bars["EM %, implicit +cited pages+CI"] == 50.0


def test_the_same_command_continues_and_another_plan_is_refused(tmp_path):
    asked = "time-puzzles --only figure4 --json"
    stopped = reproduce(tmp_path, f"{asked} --limit 1 --run-tokens 10")
    assert stopped.returncode == 1
    assert "of its 10 tokens" in stopped.stderr
    assert "the same command continues" in stopped.stderr
    assert reproduce(tmp_path, f"{asked} --limit 1 --run-tokens 100000").returncode == 0
    traces = sorted((tmp_path / "out").rglob("*.1.jsonl"))
    before = [trace.stat().st_mtime_ns for trace in traces]
    assert len(traces) == 2
    assert reproduce(tmp_path, f"{asked} --limit 1").returncode == 0
    assert [trace.stat().st_mtime_ns for trace in traces] == before
    other = reproduce(tmp_path, f"{asked} --limit 2")
    assert other.returncode == 2
    assert "has limit 1, not 2; name another --out" in other.stderr


def test_tokens_money_and_time_are_forecast_before_a_question_is_asked(tmp_path):
    asked = "time-puzzles --limit 1 --only figure4 --model compatible/x --base-url {}"
    with serving(serve(Reference())) as url:
        checked = reproduce(tmp_path, f"{asked} --check", url)
        assert not (tmp_path / "out/runs").exists()
        forecast = (
            r"2 episodes of 1 runs: [\d,]+ tokens \(at most 1,000,000\), cost unknown, time unknown"
        )
        assert re.match(forecast, checked.stdout), checked.stdout
        assert reproduce(tmp_path, asked, url).stderr.startswith(checked.stdout[:40])
        again = reproduce(tmp_path, f"{asked} --check", url)
    assert again.stdout == "no new run costs anything\n"


def test_what_cannot_be_run_says_why_and_keeps_nothing_else(tmp_path):
    for folder, reason in (
        ("elsewhere", "its folder 'elsewhere' names no condition; known: no_tool_use"),
        ("with_web_search_with_explicit_constraints",
         "no experiment of the paper has the condition 'with_web_search_with"),
    ):  # fmt: skip
        done = reproduce(tmp_path, "time-puzzles --responses {}", outputs(tmp_path, folder, None))
        assert (done.returncode, reason in done.stderr) == (2, True), done.stderr
    listed = agent_env("study", "reproduce", "time-puzzles", "--list", "--wide").stdout
    assert "Table 3: exact match against F1 and Jaccard" in listed
