"""Options of `run` from a TOML file."""

import json

from tests.commands import agent_env


def test_the_file_gives_the_options_and_the_command_line_goes_before_it(tmp_path):
    (tmp_path / "given").mkdir()
    file = tmp_path / "given/run.toml"
    file.write_text(
        'task = "time-puzzles"\nlimit = 3\ncondition = ["base", "explicit"]\nout = "made"\n'
        'repeats = 2\nsystem = "words.txt"\npreflight = false\n'
        "[option]\nyears = '1900-1950'\nsolutions = 1\n"
        '[tool-limit]\npython = 2\n'
    )  # fmt: skip
    (tmp_path / "given/words.txt").write_text("Be brief.")
    done = agent_env("run", "--config", "given/run.toml", "--limit", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    made = json.loads((tmp_path / "given/made/run.json").read_text())
    assert (made["samples"], made["repeats"], made["system_file"]["name"]) == (1, 2, "words.txt")
    assert [each["name"] for each in made["conditions"]] == ["base", "explicit"]
    assert made["limits"]["per_tool"] == {"python": 2}
    assert (made["options"]["years"], made["options"]["solutions"]) == ("1900-1950", "1")
    (tmp_path / "given/made/episodes/base/tp-1-00001.1.jsonl").unlink()
    file.unlink()
    assert agent_env("resume", "given/made", cwd=tmp_path).returncode == 0


def test_run_help_is_short_and_help_all_has_every_option():
    short, whole = (agent_env("run", words).stdout for words in ("--help", "--help-all"))
    assert (short.count("\n  --"), len(short.splitlines())) == (16, 40)
    assert "--help-all" in short
    assert whole.count("\n  --") == 86
    assert "\nThe web:\n  --web " in whole
