"""A question set for the tests, and an answer to one of its questions."""

from agent_env.families.traveler.sample import TravelerSample
from tests.ended import ended
from tests.questions import questions


def small(count, seed=1, **options):
    """The first questions of a set."""
    return questions("traveler", count, seed, **options)[0].samples


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
