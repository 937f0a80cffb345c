"""study.toml is read with all its mistakes at once, each at its line."""

from pathlib import Path

import pytest

from agent_env.errors import ConfigError, DatasetError, DatasetErrors
from agent_env.features.studies.folder import StudyFolder
from agent_env.features.studies.read import plan_of, read_text
from agent_env.runs.options.toml_lines import TomlLines, toml_text
from agent_env.wiring.trust import own_call

DATA = Path(__file__).with_name("data")
GOOD = (DATA / "good.toml").read_text()


def read_plan(folder, text):
    (folder / "study.toml").write_text(text)
    return plan_of(folder / "study.toml", read_text(folder / "study.toml"), own_call())


def options_of(folder, text, *runs):
    """The options of the runs, each a task and a model."""
    plan = read_plan(folder, text)
    return [plan.run_options(*run, folder, None, own_call()) for run in runs]


def mistakes(folder, text):
    with pytest.raises(DatasetErrors) as caught:
        read_plan(folder, text)
    return [line.removeprefix(f"{folder}/study.toml:") for line in caught.value.lines]


def test_all_mistakes_are_told_at_once_by_line(tmp_path, monkeypatch):
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    found = mistakes(tmp_path, (DATA / "mistakes.toml").read_text())
    assert found == (DATA / "mistakes.txt").read_text().splitlines()


def test_an_option_may_bear_the_name_of_its_flag(tmp_path):
    text = GOOD.replace("conditions =", "condition =")
    text = text.replace("limit", 'answer_format = "schema"\nlimit')
    (options,) = options_of(tmp_path, text, ("puzzles", "a"))
    assert (options.conditions, options.answer_formats) == (("base", "explicit"), ("schema",))
    (mistake,) = mistakes(tmp_path, text.replace('"schema"', "3"))
    assert mistake == "6: tasks.puzzles.answer_formats: 3: must be a valid string"


def test_the_difficulty_of_the_top_is_that_of_the_tasks_that_have_levels(tmp_path):
    text = f'difficulty = "easy"\n{GOOD}[tasks.own]\ntask = "qa"\nlimit = 2\n'
    options = options_of(tmp_path, text, ("puzzles", "a"), ("own", "a"))
    assert [each.difficulty for each in options] == ["easy", None]
    of_its_own = text.replace("limit = 2\n", 'limit = 2\ndifficulty = "easy"\n')
    assert any("qa has no levels of difficulty" in each for each in mistakes(tmp_path, of_its_own))
    (tmp_path / "study.toml").write_text(f'difficulty = "easy"\n{GOOD}[tasks.own]\ntask = "qa"\n')
    notes = []
    StudyFolder(tmp_path).allow(notes.append)
    assert notes == ["own: no levels of difficulty, so that of the top does not apply"]


@pytest.mark.parametrize(
    ("old", "new", "mistake"),
    [
        ('"base",', '"bass",', "1: tasks.puzzles: unknown condition 'bass': "),
        ('"reference"\n', '"reference"\nprices = { date = "x" }\n', "11: models.a.prices.date: "),
        ("[tasks.puzzles]", 'agents = ["loop", "gpt"]\n\n[tasks.puzzles]',
         "4: tasks.puzzles: --agent gpt: no such agent; there are loop, codex"),
    ],
)  # fmt: skip
def test_a_mistake_names_its_line(tmp_path, old, new, mistake):
    with pytest.raises(DatasetError) as caught:
        read_plan(tmp_path, GOOD.replace(old, new))
    first = getattr(caught.value, "lines", [str(caught.value)])[0]
    assert first.removeprefix(f"{tmp_path}/study.toml:").startswith(mistake)


def test_a_folder_without_a_study_and_one_of_too_many_runs_are_mistakes(tmp_path):
    with pytest.raises(ConfigError, match=r"no study\.toml; agent-env study new"):
        read_text(tmp_path / "study.toml")
    tasks, models = (
        "\n".join(f"x{n} = {{ {kind} = 'x{n}' }}" for n in range(101)) for kind in ("task", "model")
    )
    text = f"[tasks]\n{tasks}\n[models]\n{models}\n"
    with pytest.raises(DatasetErrors, match="more than 10000 runs"):
        plan_of(tmp_path / "study.toml", text, None)


def test_each_option_reaches_its_run_and_the_usual_key_no_second_address(tmp_path):
    (tmp_path / "mine.md").write_text("{constraints}")
    text = GOOD.replace("conditions", 'concurrency = 3\nprompt = "mine.md"\nconditions', 1)
    text += 'concurrency = 5\n\n[models.b]\nmodel = "reference-static"\n'
    a, b = options_of(tmp_path, text, ("puzzles", "a"), ("puzzles", "b"))
    assert (a.concurrency, b.concurrency) == (5, 3)
    assert (a.options, a.conditions) == (("facts=5,6",), ("base", "explicit"))
    assert (a.prompt, a.out) == (str((tmp_path / "mine.md").resolve()), tmp_path / "puzzles" / "a")
    # Where there are several servers, only a model that names its variable has a key.
    text = GOOD.replace('"reference"', '"compatible/x@http://127.0.0.1:1/v1"')
    text += '\n[models.b]\nmodel = "compatible/x"\nbase_url = "http://127.0.0.1:2/v1"\n'
    (options,) = options_of(tmp_path, text, ("puzzles", "b"))
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


def test_agents_multiply_conditions(tmp_path):
    agents = '"base~by-sh:base"]\nagents = ["loop", "sh -c true {prompt}"]'
    plan = read_plan(tmp_path, GOOD.replace('"explicit:base"]', agents))
    assert plan.contrasts == ("base~by-sh:base",)
