"""What a model extracted is read as data; whatever else it writes gets a named outcome."""

import pytest

from agent_env.features.extraction.extraction import (
    ExtractionError,
    read_extraction,
    write_extraction,
)
from agent_env.features.extraction.solver import solve

GOOD = (
    '{"facts": [{"object": "A", "start": "1990-01", "end": null}, '
    '{"object": "B", "start": "1990-01", "end": "1992"}], "relation": "in", "reference": "1991"}'
)
PAPER = """\
extracted_info = {(datetime(2018, 6, 1), datetime(2022, 12, 1)): "X",
  (datetime(1968, 3, 1), datetime(1971, 1, 1)): "The May Department Stores Company",
  (datetime(1968, 3, 1), datetime(1971, 1, 1)): "A second owner",
  (datetime(1971, 1, 1), datetime(2014, 1, 1)): "Westfield Group"}
t_relation = "before"
ref_obj = "westfield group"
"""


@pytest.mark.parametrize("text", [GOOD, f"Here it is:\n```json\n{GOOD}\n```", f"{GOOD} I hope."])
def test_an_object_is_found_among_other_words(text):
    found = read_extraction(text)
    assert [fact.value for fact in found.facts] == ["A", "B"]
    assert solve(found.facts, found.query).answers == ("A", "B")


def test_the_papers_dictionary_is_read_and_written_without_loss():
    found = read_extraction(PAPER)
    assert len(found.facts) == 4
    assert solve(found.facts, found.query).answers == (
        "The May Department Stores Company", "A second owner",
    )  # fmt: skip
    found = read_extraction(GOOD)
    assert read_extraction(write_extraction(found.facts, found.query, "1991")) == found


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('{"relation": "after", "reference": "1992-11", "years": 5, "months": 4}', "Mar, 1998"),
        ('{"relation": "before", "reference": "Mar, 890", "months": 14}', "Jan, 889"),
        ('{"relation": "before", "reference": 890, "years": 14}', "876"),
    ],
)
def test_a_time_before_or_after_another_needs_no_facts(text, answer):
    found = read_extraction(text)
    assert solve(found.facts, found.query).answers == (answer,)


@pytest.mark.parametrize(
    ("text", "trouble"),
    [
        ("", "empty"),
        ("The answer is Canvey Island F.C.", "prose"),
        ("def solution():\n    return 1", "code"),
        ("```python\nimport os\nos.system('x')\n```", "code"),
        ("extracted_info = {(open('/etc/passwd'), datetime(2018, 7, 1)): 'A'}", "code"),
        ("extracted_info = {(datetime(2018, 6, 1), datetime(2018, 7, 1)): 'A}", "unterminated"),
        (GOOD[:40], "unterminated"),
        (GOOD.replace('"A"', '"A'), "unterminated"),
        ('{"facts": "none"}', "shape"),
        (GOOD.replace('"in"', '"near"'), "shape"),
        (GOOD.replace('"1991"', "null"), "shape"),
        (GOOD.replace("1990-01", "1990-13"), "date"),
        (GOOD.replace('"1992"', '"1989"'), "order"),
        ("{" * 5000, "unterminated"),
        ('{"relation": "in", "reference": "1992-11", "years": 5}', "shape"),
        ('{"relation": "after", "reference": "1992-11", "years": "five"}', "shape"),
        ('{"relation": "after", "reference": "1992-13", "years": 5}', "date"),
    ],
)
def test_what_is_no_extraction_has_a_name(text, trouble):
    with pytest.raises(ExtractionError) as raised:
        read_extraction(text)
    assert raised.value.trouble == trouble
