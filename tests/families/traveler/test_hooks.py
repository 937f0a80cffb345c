"""What traveler's comparisons can be broken down by."""

from agent_env.families.traveler.family import FAMILY, HOOKS


def test_a_question_stands_under_its_category_and_its_template():
    sample = FAMILY.make_samples(1, 7, FAMILY.options()).samples[0]
    found = HOOKS.groups(sample)
    assert list(found) == ["category", "template", "expression", "events", "matches"]
    assert found["category"][0] in ("explicit", "implicit", "vague")
    assert found["template"][0] in ("who", "did", "how-often", "when")
