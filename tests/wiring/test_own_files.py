"""Families, tools and models in files of the user's: file.py:NAME wherever a name is taken."""

import json

import pytest

from tests.commands import agent_env, typed
from tests.plugged_in import DATA, make_foreign


@pytest.fixture
def home(tmp_path):
    for name in ("family", "tools", "models"):
        text = (DATA / "plugins/weekday_pack" / f"{name}.py").read_text()
        (tmp_path / f"my_{name}.py").write_text(text)
    return tmp_path


def test_a_run_of_files_alone(home):
    condition = "cal+my_tools.py:almanac"
    done = typed(
        f"run my_family.py:FAMILY --model my_models.py:guess --condition {condition} "
        f"--first-step {condition}=auto --limit 2 --out run", cwd=home,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    stored = json.loads((home / "run/run.json").read_text())
    assert (stored["task"], stored["model"]) == ("day-names", "my_models.py:guess")
    references = ("my_family.py:FAMILY", "my_models.py:guess", "my_tools.py:almanac")
    assert [use["reference"] for use in stored["plugins"]] == [f"{home}/{r}" for r in references]
    elsewhere = home / "elsewhere"
    elsewhere.mkdir()
    for command in ("resume ../run", "replay ../run --tools live"):
        assert typed(command, cwd=elsewhere).returncode == 0
    trace = "run/episodes/cal+almanac/wd-1.1.jsonl"
    more = "--at 0 --out fork --model reference --condition almanac"
    forked = typed(f"episodes fork {trace} {more}", cwd=home)
    assert forked.returncode == 0, forked.stderr
    kinds = [use["kind"] for use in json.loads((home / "fork/run.json").read_text())["plugins"]]
    assert kinds == ["family", "tool"]


def test_a_set_is_generated_by_it(home):
    generate = "questions generate my_family.py:FAMILY --limit 2 --out set.jsonl"
    done = typed(f"{generate} --option first_year=1990", cwd=home)
    assert done.returncode == 0, done.stderr
    days = [json.loads(line)["day"] for line in (home / "set.jsonl").read_text().splitlines()]
    assert min(days) >= "1990"
    assert "first_year=" in agent_env("run", "my_family.py:FAMILY", "--help", cwd=home).stdout


def test_the_family_says_whether_the_scripted_model_knows_it(home):
    options = "--condition base --limit 1"
    said = typed(f"run my_family.py:FAMILY {options}", cwd=home).stderr
    assert "the script reference cannot answer day-names; name a model" in said
    text = (home / "my_family.py").read_text()
    knows = "make_samples, Options, reference=lambda turn: ('Monday', []))"
    (home / "again_family.py").write_text(text.replace("make_samples, Options)", knows))
    done = typed(f"run again_family.py:FAMILY {options} --json", cwd=home)
    assert json.loads(done.stdout)["conditions"]["base"]["finished"] == 1


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--condition", "none.py:x"), "tool 'none.py:x': there is no file"),
        (("--condition", "my_tools.py:x"), "has no x"),
        (("--condition", "almanac"), "no part 'almanac'; join these by +: base"),
        (("--temperature", "1"), "model my_models.py:guess is a function and takes no param"),
        (("--condition", "my_tools.py:almanac+same.py:almanac"), "names a part twice"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line(more, told, home):
    (home / "same.py").write_text((home / "my_tools.py").read_text())
    command = ("run", "my_family.py:FAMILY", "--limit", "1", "--model", "my_models.py:guess")
    done = agent_env(*command, *more, cwd=home)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert told in done.stderr


MEASURES = """
from agent_env.records.schema import Score


def strict(sample, episode):
    right = float(episode.answer == sample.gold[0])
    return Score(sample=episode.sample, condition=episode.condition, repeat=episode.repeat,
                 outcome="read", answer=(episode.answer,), metrics={"strict": right})


strict.metrics = ("strict",)


def letters(sample, episode):
    return len(episode.answer)


def unknown(sample, episode):
    return None


def alone(sample):
    pass


right = letters
"""


def test_a_scorer_and_a_metric_of_the_users_stand_in_every_table(home):
    (home / "m.py").write_text(MEASURES)
    command = "run my_family.py:FAMILY --model my_models.py:guess --condition base --limit 2"
    own = "--scorer m.py:strict --metric m.py:letters"
    done = typed(f"{command} {own} --out run --json", cwd=home)
    assert done.returncode == 0, done.stderr
    again = agent_env("show", str(home / "run"), "--json", cwd=home / "..")
    for out in (done.stdout, again.stdout):
        base = json.loads(out)["conditions"]["base"]
        assert base["letters"] == len("Monday")
        assert 0 <= base["strict"] <= 1
        assert "right" not in base
    for more, told in (
        ("--metric m.py:right", "'right' is taken twice: by day-names and by m.py:right"),
        ("--scorer m.py:alone", "it is not a function of a sample and an answer; the smallest "),
    ):
        assert told in typed(f"{command} {more}", cwd=home).stderr
    done = typed(f"{command} --metric m.py:unknown --out none", cwd=home)
    error = "TypeError: it gave a NoneType, not a number"
    for line in (home / "none/scores.jsonl").read_text().splitlines():
        score = json.loads(line)
        assert (score["outcome"], score["failed_metrics"]) == ("read", {"unknown": error})
        assert "right" in score["metrics"]
    assert "base: the metric unknown failed on 2 episodes, in no mean of it: " in done.stderr
    make_foreign(home / "run")
    (home / "m.py").write_text("raise AssertionError('imported')")
    refused = agent_env("show", "run", cwd=home).stderr
    assert all(f"{kind} {home}/m.py" in refused for kind in ("scorer", "metric"))
