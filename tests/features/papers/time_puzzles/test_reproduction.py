"""The paper's values, each with the version of the paper that prints it."""

from agent_env.features.papers.time_puzzles.reproduction import PAPER


def test_gpt_5_has_one_value_without_tools_in_each_version():
    experiments = {each.name: each for each in PAPER.experiments}
    first, third = experiments["table1"], experiments["version3"]
    assert first.published["GPT-5"][0] == 49.3
    assert "versions 1 and 2 of the paper (2026-01). GPT-5 had 49.3 %" in first.notes[0]
    assert third.published == {"GPT-5": (55.3,)}
    assert third.title.startswith("Version 3 of the paper (2026-03)")
    assert [each.name for each in third.quantities] == ["EM implicit"]
    assert third.setups == first.setups
