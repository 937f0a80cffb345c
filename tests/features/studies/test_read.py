"""study.toml is read with all its mistakes at once, each at its line."""

from pathlib import Path

import pytest

from agent_env.errors import ConfigError, DatasetError, DatasetErrors
from agent_env.features.studies.folder import StudyFolder
from agent_env.features.studies.read import plan_of, read_text
from agent_env.runs.options.toml_lines import TomlLines, toml_text
from agent_env.wiring.trust import own_call

GOOD = """\
conditions = ["base", "explicit"]
contrasts = ["explicit:base"]

[tasks.puzzles]
task = "time-puzzles"
limit = 2
options = { facts = [5, 6] }

[models.a]
model = "reference"
"""


def read_plan(file):
    return plan_of(file, read_text(file), own_call())


def mistakes(folder, text):
    file = folder / "study.toml"
    file.write_text(text)
    with pytest.raises(DatasetErrors) as caught:
        read_plan(file)
    return [line.removeprefix(f"{file}:") for line in caught.value.lines]


def test_all_mistakes_are_told_at_once_by_line(tmp_path, monkeypatch):
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    text = """\
repeats = 0
conditions = [
  "base", "web",
]
contrasts = ["web:base", "python:base"]
repeat = 2

[budget]
token = 5
cost_usd = 1.0

[tasks.puzzles]
task = "time-puzzles"
options = { fact = "5" }

[models.a]
model = "reference"

[models.b]
model = "reference"

[models.c]
model = "openai/x"
api_key_env = "NO_SUCH_KEY"

[models.d]
seed = 3
"""
    assert mistakes(tmp_path, text) == [
        "1: repeats: 0: must be greater than or equal to 1",
        "5: contrasts: 'python:base': no condition 'python'; known conditions: base, web",
        "6: unknown field 'repeat'; did you mean 'repeats'?",
        "9: unknown key 'budget.token'; known: tokens, cost_usd, time_s",
        "10: budget.cost_usd needs the prices of every model, and a has none; write prices in "
        "[models.a]",
        "14: tasks.puzzles: time-puzzles has no option 'fact'; known: facts, solutions, years, "
        "calendars, facts_table, difficulty, kinds, after, obscurity, unchecked, present, "
        "processes",
        "19: models.b is the same as models.a (line 16); use repeats to ask more than once",
        "24: models.c: --api-key-env NO_SUCH_KEY: the variable is not set",
        "26: models.d.model is missing",
        "27: models.d.seed belongs to a task or to the top, so that all models are asked the same",
    ]


def test_an_option_may_bear_the_name_of_its_flag(tmp_path):
    text = GOOD.replace("conditions =", "condition =").replace(
        "limit", 'answer_format = "schema"\nlimit'
    )
    (tmp_path / "study.toml").write_text(text)
    plan = read_plan(tmp_path / "study.toml")
    options = plan.run_options("puzzles", "a", tmp_path, None, own_call())
    assert (options.conditions, options.answer_formats) == (("base", "explicit"), ("schema",))
    wrong = text.replace('"schema"', "3")
    assert mistakes(tmp_path, wrong) == [
        "6: tasks.puzzles.answer_formats: 3: must be a valid string"
    ]


def test_the_difficulty_of_the_top_is_that_of_the_tasks_that_have_levels(tmp_path):
    text = f'difficulty = "easy"\n{GOOD}[tasks.own]\ntask = "qa"\nlimit = 2\n'
    (tmp_path / "study.toml").write_text(text)
    plan = StudyFolder(tmp_path).plan
    options = [plan.run_options(n, "a", tmp_path, None, own_call()) for n in ("puzzles", "own")]
    assert [each.difficulty for each in options] == ["easy", None]
    of_its_own = text.replace("limit = 2\n", 'limit = 2\ndifficulty = "easy"\n')
    assert any("qa has no levels of difficulty" in each for each in mistakes(tmp_path, of_its_own))
    text = f'difficulty = "easy"\n{GOOD}[tasks.own]\ntask = "qa"\n'
    (tmp_path / "study.toml").write_text(text)
    notes = []
    StudyFolder(tmp_path).allow(notes.append)
    assert notes == ["own: no levels of difficulty, so that of the top does not apply"]


@pytest.mark.parametrize(
    ("old", "new", "mistake"),
    [
        ('"base",', '"bass",', "1: tasks.puzzles: unknown condition 'bass': "),
        ('"reference"\n', '"reference"\nprices = { date = "x" }\n', "11: models.a.prices.date: "),
    ],
)
def test_a_mistake_names_its_line(tmp_path, old, new, mistake):
    text = GOOD.replace(old, new)
    file = tmp_path / "study.toml"
    file.write_text(text)
    with pytest.raises(DatasetError) as caught:
        read_plan(file)
    lines = getattr(caught.value, "lines", [str(caught.value)])
    assert lines[0].removeprefix(f"{file}:").startswith(mistake)


def test_a_folder_without_a_study_and_one_of_too_many_runs_are_mistakes(tmp_path):
    with pytest.raises(ConfigError, match=r"no study\.toml; agent-env study new"):
        read_plan(tmp_path / "study.toml")
    tables = [
        "\n".join(f"{name}{n} = {{ {kind} = 'x{n}' }}" for n in range(101))
        for name, kind in (("t", "task"), ("m", "model"))
    ]
    text = f"[tasks]\n{tables[0]}\n[models]\n{tables[1]}\n"
    with pytest.raises(DatasetErrors, match="more than 10000 runs"):
        plan_of(tmp_path / "study.toml", text, None)


def test_each_option_reaches_its_run_and_the_usual_key_no_second_address(tmp_path):
    (tmp_path / "mine.md").write_text("{constraints}")
    text = GOOD.replace("conditions", 'concurrency = 3\nprompt = "mine.md"\nconditions', 1)
    text += 'concurrency = 5\n\n[models.b]\nmodel = "reference-static"\n'
    (tmp_path / "study.toml").write_text(text)
    plan = read_plan(tmp_path / "study.toml")
    a, b = (plan.run_options("puzzles", name, tmp_path, None, own_call()) for name in ("a", "b"))
    assert (a.concurrency, b.concurrency) == (5, 3)
    assert a.options == ("facts=5,6",)
    assert a.prompt == str((tmp_path / "mine.md").resolve())
    assert a.conditions == ("base", "explicit")
    assert a.out == tmp_path / "puzzles" / "a"
    # Where there are several servers, only a model that names its variable has a key.
    text = GOOD.replace('"reference"', '"compatible/x@http://127.0.0.1:1/v1"')
    text += '\n[models.b]\nmodel = "compatible/x"\nbase_url = "http://127.0.0.1:2/v1"\n'
    (tmp_path / "study.toml").write_text(text)
    plan = read_plan(tmp_path / "study.toml")
    options = plan.run_options("puzzles", "b", tmp_path, None, own_call())
    assert options.parameters["api_key_env"] == ""


def test_a_line_is_that_on_which_its_statement_begins_found_in_bounded_time():
    toml = TomlLines(Path("x"), 'a = [\n 1,\n 2]\n\n[t]\nb = """\nx\n"""\nc.d = 1979-05-27\n')
    assert toml.data == {"a": [1, 2], "t": {"b": "x\n", "c": {"d": "1979-05-27"}}}
    places = [("a",), ("a", 1), ("t",), ("t", "b"), ("t", "c", "d"), ("t", "none"), ("none",)]
    assert [toml.line(place) for place in places] == [1, 1, 5, 6, 9, 5, None]
    toml = TomlLines(Path("x"), "a = 1\n" + "\n" * 60_000 + "b = 2\n")
    assert (toml.line(("a",)), toml.line(("b",)), toml.data) == (1, None, {"a": 1, "b": 2})
    data = {
        "a": ['x"\\\n', 1, 2.5, True], "b": {"c d": "é", "e": [1]},
        "t": {"one": {"k": "v"}, "two.x": {"k": {"l": False}}},
    }  # fmt: skip
    assert TomlLines(Path("x"), toml_text(data)).data == data


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("\n" * 70_000, "is longer than"),
        (".".join(["a"] * 30_000) + " = 1", "has more than 1000 dots"),
        ("a = " + "9" * 5000, "is not TOML"),
        ("a = " + "[" * 5000, "is not TOML"),
    ],
)
def test_a_text_that_costs_more_than_it_looks_is_refused_at_once(text, why):
    with pytest.raises(DatasetError, match=why):
        TomlLines(Path("x"), text)


def test_the_example_of_the_page_is_a_plan(monkeypatch, tmp_path):
    monkeypatch.setenv("TEAM_KEY", "x")
    page = (Path(__file__).parents[3] / "docs/features/studies.md").read_text()
    text = page.partition("```toml\n")[2].partition("```")[0]
    plan = plan_of(tmp_path / "study.toml", text, own_call())
    assert (list(plan.tasks), list(plan.models)) == (["puzzles", "facts"], ["qwen", "gpt"])


def test_agents_multiply_conditions_and_one_that_there_is_not_is_a_mistake(tmp_path):
    agents = '"base~by-sh:base"]\nagents = ["loop", "sh -c true {prompt}"]'
    text = GOOD.replace('"explicit:base"]', agents)
    (tmp_path / "study.toml").write_text(text)
    plan = read_plan(tmp_path / "study.toml")
    assert plan.contrasts == ("base~by-sh:base",)
    text = GOOD.replace("[tasks.puzzles]", 'agents = ["loop", "gpt"]\n\n[tasks.puzzles]')
    (line,) = mistakes(tmp_path, text)
    assert line.startswith("4: tasks.puzzles: --agent gpt: no such agent; there are loop, codex")
