"""What a table over one episode of each sample says of its own noise."""

from dataclasses import replace

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.statistics.noise import noise_notes
from tests.analysis.studies import study_of
from tests.analysis.test_requirements import scored


def of_model(comparison, model):
    arms = tuple(replace(arm, model=model) for arm in comparison.study.arms)
    return Comparison(replace(comparison.study, arms=arms))


def test_one_repeat_may_turn_and_repeats_speak_for_themselves():
    single = study_of([*scored("base", 4), *scored("web", 12)], ["base", "web"], ("em",))
    assert list(noise_notes(of_model(single, "openai/m"))) == [
        "One episode of each sample: a difference below 0.31 can be missed (80 % power at 5 %, "
        "n = 20).",
        "Another run may turn 5 to 15 % of the verdicts (range of the literature, not measured "
        "here; --repeats 3 measures it).",
    ]
    single = study_of([*scored("base", 4), *scored("web", 12)], ["base", "web"], ("em",))
    (note,) = noise_notes(of_model(single, "reference"))
    assert note.startswith("One episode of each sample")
    twice = [
        (episode.model_copy(update={"repeat": n}), score.model_copy(update={"repeat": n}))
        for n in (1, 2)
        for episode, score in scored("base", 4)
    ]
    assert list(noise_notes(study_of(twice, ["base"], ("em",)))) == []
