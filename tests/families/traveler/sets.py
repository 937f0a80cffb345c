"""A question set for the tests, made once by each module that asks for it."""

from agent_env.families.traveler.generator import Options, make_samples
from agent_env.families.traveler.sample import TravelerSample, traveler_sample
from tests.ended import ended


def whole(seed=1):
    """The default set of 3,300."""
    made = make_samples(3300, seed, Options())
    return made, [traveler_sample(sample) for sample in made.samples]


def small(count, seed=1, **options):
    """The first questions of a set."""
    made = make_samples(count, seed, Options.model_validate(options))
    return [traveler_sample(sample) for sample in made.samples]


def episode(answer, status="finished"):
    return ended(answer, "tr", status=status)


def vague(template="did", chances=None):
    """The slides' worked example: events of 2 hours and of a week ago, with 0 and .75."""
    return TravelerSample.model_validate(
        {
            "id": "tr-1", "task": "traveler", "gold": ["yes"], "category": "vague",
            "template": template, "size": 5, "expression": "long time ago", "matches": "one",
            "event": "eat risotto", "subject": None if template == "who" else "Tom",
            "location": "kitchen",
            "question": "Did Tom eat risotto in the kitchen a long time ago?",
            "now": "2023-09-29T22:27+00:00", "zone": "UTC", "subjects": ["Mary", "Tom", "Robot"],
            "chances": {"Tom": [0.0, 0.75]} if chances is None else chances,
            "curves": "by hand",
        }
    )  # fmt: skip
