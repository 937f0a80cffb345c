"""`study reproduce`: runs, response files and files of questions beside a paper's values."""

import json
import re
from pathlib import Path

import pytest

from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.families.time_puzzles.task import make_task
from agent_env.features.papers import pages
from agent_env.features.papers.responses import ReadSamples
from agent_env.features.papers.time_puzzles.author_outputs import read_outputs
from agent_env.features.reference.policy import Reference
from tests.commands import agent_env, serving
from tests.ended import ended
from tests.fake_server import serve

PUZZLE = {
    "identifier": "a-1",
    "constraints": [
        "The year is a leap year.",
        "The month is February.",
        "The day of the month is 10.",
    ],
    "explicit_constraints": [
        "The year is 1984.",
        "The month is February.",
        "The day of the month is 10.",
    ],
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
    file = folder / "puzzles.json"
    file.write_text(json.dumps([PUZZLE, other]))
    base = outputs(folder, "no_tool_use", "MY ANSWER: 1984-02-10", None)
    explicit = outputs(
        folder, "no_tool_use_with_explicit_constraints",
        "MY ANSWER: 1984-02-10", "MY ANSWER: 1984-02-11",
    )  # fmt: skip
    return reproduce(
        folder, "--model", "reference", "--dataset", str(file), "--only", "table1", "--json",
        "--responses", str(base), "--responses", str(explicit), "--readings", "all",
    )  # fmt: skip


def reproduce(folder, *arguments):
    return agent_env("study", "reproduce", "time-puzzles", "--out", "out", *arguments, cwd=folder)


def rows(done, model):
    """Of Table 1, by reading of the gold and quantity."""
    assert done.returncode == 0, done.stderr
    table = json.loads(done.stdout)["experiments"]["table1"]["table1"]["rows"]
    return {(row["gold"], row["quantity"]): row for row in table if row["row"] == model}


def value(row):
    return float(row["ours (95 % CI)"]["value"])


def outputs(folder, condition, *responses):
    file = folder / condition / f"{MODEL}.json"
    file.parent.mkdir()
    keys = ("constraints", "solutions", "solution_count")
    own = [
        {"identifier": f"a-{k}", "response": text, "output_tokens": 10 * k}
        | {key: PUZZLE[key] for key in keys}
        for k, text in enumerate(responses, start=1)
    ]
    file.write_text(json.dumps(own))
    return file


def test_values_stand_beside_the_authors_own_by_each_reading(done):
    own = rows(done, "reference")
    published = own["published", "EM explicit"]
    assert (value(published), value(own["corrected", "EM explicit"])) == (50.0, 100.0)
    assert published["n"] == 2
    assert (published["verdict"], published["its rows"]) == ("no row of the paper", "12.3 to 80.7")
    assert "no figures and no page" in done.stderr
    own = rows(done, MODEL)
    implicit = own["published", "EM implicit"]
    assert (implicit["paper"], value(implicit)) == (49.3, 50.0)
    assert implicit["verdict"] == (
        "not comparable: 2 questions, the paper's are 600 puzzles, 100 for each number of "
        "solutions from 1 to 6"
    )
    assert value(own["published", "EM explicit"]) == 100.0
    assert value(own["published", "tokens implicit"]) == 15.0
    changed = {gold: value(row) for (gold, name), row in own.items() if name == "EM explicit"}
    assert changed == {"published": 100.0, "corrected": 50.0, "file_rule": 50.0}
    assert ("corrected", "tokens implicit") not in own
    by_model = rows(done, "reference")
    assert value(by_model["any", "EM explicit"]) == 100.0
    notes = json.loads(done.stdout)["experiments"]["table1"]["table1"]["notes"]
    assert any("other readings: corrected, file_rule, any" in note for note in notes)


def test_of_several_golds_each_metric_has_its_best_score():
    task = make_task()
    one = TimePuzzle(
        id="a", gold=("2001-01-01",), constraints=("c",), explicit_constraints=("c",),
        solution_count=1, fact_count=1,
    )  # fmt: skip
    other = one.model_copy(update={"gold": ("2001-01-02",), "explicit_gold": ()})
    read = ReadSamples({"a": (one, other)})
    assert read.samples == (one,)
    answers = {
        ("base", "MY ANSWER: 2001-01-02"): 1.0,
        ("base", "MY ANSWER: 2001-01-03"): 0.0,
        ("explicit", "MY ANSWER: 2001-01-02"): 0.0,
        ("explicit", "MY ANSWER: None"): 1.0,
    }
    for (condition, answer), expected in answers.items():
        episode = ended(answer, condition=condition, stop_reason="answered")
        assert read.score(task, episode).metrics["exact_match"] == expected


def test_a_model_that_always_says_none_scores_0_in_table_1(tmp_path):
    """The authors' file also has puzzles without a solution, which the paper leaves out."""
    unsolvable = {
        **PUZZLE, "identifier": "a-2", "solutions": [], "solution_count": 0,
        "constraints": ["The year is a leap year.", "The month is February.", "It is the 30th."],
    }  # fmt: skip
    puzzles = tmp_path / "puzzles.json"
    puzzles.write_text(json.dumps([PUZZLE, unsolvable]))
    answers = [
        {"identifier": puzzle["identifier"], "response": "MY ANSWER: None"}
        | {key: puzzle[key] for key in ("constraints", "solutions", "solution_count")}
        for puzzle in (PUZZLE, unsolvable)
    ]
    for condition in ("no_tool_use", "no_tool_use_with_explicit_constraints"):
        file = tmp_path / condition / f"{MODEL}.json"
        file.parent.mkdir()
        file.write_text(json.dumps(answers))
    files = [f"--responses={path}" for path in sorted(tmp_path.glob(f"no_tool*/{MODEL}.json"))]
    of_file = ("--dataset", str(puzzles), "--model", "reference", "--only", "table1", "--json")
    done = reproduce(tmp_path, *files, *of_file)
    own = rows(done, MODEL)
    implicit = next(row for (gold, name), row in own.items() if name == "EM implicit")
    assert (value(implicit), implicit["n"]) == (0.0, 1)
    ours = next(row for (_, name), row in rows(done, "reference").items() if name == "EM explicit")
    assert ours["n"] == 1


def test_ours_under_the_authors_rules_stands_beside_ours(tmp_path):
    texts = ("MY ANSWER: 1984-02-10", "The answer: 10 February 1984")
    files = [
        outputs(tmp_path, condition, *texts)
        for condition in ("no_tool_use", "no_tool_use_with_explicit_constraints")
    ]
    given = [f"--responses={file}" for file in files]
    own = rows(reproduce(tmp_path, *given, "--only", "table1", "--json"), MODEL)
    implicit = own[None, "EM implicit"]
    theirs = implicit["ours under their rules"]["value"]
    assert (value(implicit), theirs) == (100.0, 50.0)
    assert implicit["difference"] == pytest.approx(50.0 - 49.3)


def test_a_missing_file_costs_its_tables_and_not_the_command(tmp_path):
    line = {
        "question": "Which team did Ada Lorn play for in Mar, 1992?", "answer": ["Vell Bears"],
        "context": "", "fact_context": "Ada Lorn plays for Vell Bears from Jan, 1990 to Jan, 1995.",
    }  # fmt: skip
    (tmp_path / "l2.json").write_text(json.dumps(line) + "\n")
    asked = ("--only", "table7", "--only", "table3", "--json", "--out", "out")
    done = agent_env(
        "study", "reproduce", "tempreason", "--dataset", "l2=l2.json",
        "--dataset", "timeqa=gone.json",
        *asked, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "--dataset timeqa: --dataset gone.json: there is no such file" in done.stderr
    told = json.loads(done.stdout)
    assert "there is no such file" in told["not_reproduced"]["table3"]
    assert told["experiments"]["table7"]["table7"]["rows"] != []
    (tmp_path / "timeqa.json").write_text(
        json.dumps({"idx": "a", "question": "Who led Marn in 1990?", "targets": ["Bo Rask"],
                    "context": "Bo Rask led Marn from 1989 to 1992."}) + "\n"
    )  # fmt: skip
    later = agent_env(
        "study", "reproduce", "tempreason", "--dataset", "l2=l2.json",
        "--dataset", "timeqa=timeqa.json",
        "--option", "timeqa:setting=open-book", *asked, cwd=tmp_path,
    )  # fmt: skip
    assert "has options" in later.stderr, "another option is another plan; another file is not"


def test_a_script_that_cannot_read_the_questions_is_said_to_be_that(tmp_path):
    (tmp_path / "timeqa.json").write_text(
        json.dumps({"idx": "a_easy", "question": "Bo Rask was the head of what, 1989 to 1992?",
                    "targets": ["Marn"], "context": "Bo Rask led Marn from 1989 to 1992."}) + "\n"
    )  # fmt: skip
    done = agent_env(
        "study", "reproduce", "tempreason", "--dataset", "timeqa=timeqa.json", "--option",
        "setting=open-book", "--only", "table3", "--json", "--out", "out", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    table = json.loads(done.stdout)["experiments"]["table3"]["table3"]["rows"]
    script = "reference is a script, which cannot read these questions"
    verdicts = {row["verdict"] for row in table if row["model"] == "reference"}
    assert verdicts == {f"not comparable: {script}"}
    published = Path(__file__).parents[2] / "data" / "published" / "tdbench"
    done = agent_env(
        "study", "reproduce", "tdbench", "--dataset", f"alignment={published}", "--only", "table4",
        "--json", "--out", "tdbench", cwd=tmp_path,
    )  # fmt: skip
    table = json.loads(done.stdout)["experiments"]["table4"]["table4"]["rows"]
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
    file = read_outputs(outputs(tmp_path, folder, "MY ANSWER: 1984-02-10"))
    assert [row.setup for row in file.rows] == setups
    assert {row.condition for row in file.rows} == {condition}


def test_answers_with_cited_pages_have_a_row_of_their_own(tmp_path):
    right, wrong = "MY ANSWER: 1984-02-10", "MY ANSWER: None"
    pages = outputs(tmp_path, "with_pseudo_gpt_web_search_contextgpt-5-2025-08-07", right, right)
    both = outputs(
        tmp_path, "with_pseudo_gpt_web_search_context_and_code_interpreter", right, wrong
    )
    done = reproduce(
        tmp_path, "--responses", str(pages), "--responses", str(both), "--json",
        "--only", "figure2", "--only", "figure3",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    tables = json.loads(done.stdout)["experiments"]
    (curve,) = (r for r in tables["figure2"]["figure2"]["rows"] if r["model"] == MODEL)
    assert (curve["row"], value(curve)) == (f"implicit +cited pages of {MODEL}", 100.0)
    bars = {r["quantity"]: value(r) for r in tables["figure3"]["figure3"]["rows"]}
    assert bars["EM %, implicit +cited pages"] == 100.0
    assert bars["EM %, implicit +cited pages+CI"] == 50.0


def test_the_same_command_continues_and_another_plan_is_refused(tmp_path):
    asked = ("--limit", "1", "--only", "figure4", "--json")
    stopped = reproduce(tmp_path, *asked, "--run-tokens", "10")
    assert stopped.returncode == 1
    assert "of its 10 tokens" in stopped.stderr
    assert "the same command continues" in stopped.stderr
    assert reproduce(tmp_path, *asked, "--run-tokens", "100000").returncode == 0
    traces = sorted((tmp_path / "out").rglob("*.1.jsonl"))
    before = [trace.stat().st_mtime_ns for trace in traces]
    assert len(traces) == 2
    assert reproduce(tmp_path, *asked).returncode == 0
    assert [trace.stat().st_mtime_ns for trace in traces] == before
    other = reproduce(tmp_path, "--limit", "2", *asked[2:])
    assert other.returncode == 2
    assert "has limit 1, not 2; name another --out" in other.stderr


def test_tokens_money_and_time_are_forecast_before_a_question_is_asked(tmp_path):
    with serving(serve(Reference())) as url:
        model = ("--model", "compatible/x", "--base-url", url)
        asked = ("--limit", "1", "--only", "figure4", *model)
        checked = reproduce(tmp_path, *asked, "--check")
        assert not (tmp_path / "out/runs").exists()
        forecast = (
            r"2 episodes of 1 runs: [\d,]+ tokens \(at most 1,000,000\), cost unknown, time unknown"
        )
        assert re.match(forecast, checked.stdout), checked.stdout
        assert reproduce(tmp_path, *asked).stderr.startswith(checked.stdout[:40])
        again = reproduce(tmp_path, *asked, "--check")
    assert again.stdout == "no new run costs anything\n"


def test_what_cannot_be_run_says_why_and_keeps_nothing_else(tmp_path):
    file = tmp_path / "elsewhere" / "m.json"
    file.parent.mkdir()
    file.write_text("[]")
    unknown = reproduce(tmp_path, "--responses", str(file))
    assert unknown.returncode == 2
    assert "its folder 'elsewhere' names no condition; known: no_tool_use" in unknown.stderr
    no_such = outputs(tmp_path, "with_web_search_with_explicit_constraints", None)
    refused = reproduce(tmp_path, "--responses", str(no_such))
    assert refused.returncode == 2
    assert "no experiment of the paper has the condition 'with_web_search_with" in refused.stderr
    listed = agent_env("study", "reproduce", "time-puzzles", "--list", "--wide").stdout
    assert "Table 3: exact match against F1 and Jaccard" in listed
