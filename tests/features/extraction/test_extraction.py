"""What a model extracted is read as data; whatever else it writes gets a named outcome."""

import pytest

from agent_env.features.extraction import extraction
from agent_env.features.extraction.extraction import read_extraction
from agent_env.features.extraction.solver import solve
from tests.tables import each

GOOD = (
    '{"facts": [{"object": "A", "start": "1990-01", "end": null}, '
    '{"object": "B", "start": "1990-01", "end": "1992"}], "relation": "in", "reference": "1991"}'
)
OWNERS = """\
extracted_info = {(datetime(2018, 6, 1), datetime(2022, 12, 1)): "X",
  (datetime(1968, 3, 1), datetime(1971, 1, 1)): "The May Department Stores Company",
  (datetime(1968, 3, 1), datetime(1971, 1, 1)): "A second owner",
  (datetime(1971, 1, 1), datetime(2014, 1, 1)): "Westfield Group"}
t_relation = "before"
ref_obj = "westfield group"
"""
ANSWERS = {
    ("A", "B"): [GOOD, f"Here it is:\n```json\n{GOOD}\n```", f"{GOOD} I hope."],
    ("The May Department Stores Company", "A second owner"): [OWNERS],
    ("Mar, 1998",): ['{"relation": "after", "reference": "1992-11", "years": 5, "months": 4}'],
    ("Jan, 889",): ['{"relation": "before", "reference": "Mar, 890", "months": 14}'],
    ("876",): ['{"relation": "before", "reference": 890, "years": 14}'],
}
TROUBLES = {
    "empty": [""],
    "prose": ["The answer is Canvey Island F.C."],
    "code": [
        "def solution():\n    return 1",
        "```python\nimport os\nos.system('x')\n```",
        "extracted_info = {(open('/etc/passwd'), datetime(2018, 7, 1)): 'A'}",
    ],
    "unterminated": [
        "extracted_info = {(datetime(2018, 6, 1), datetime(2018, 7, 1)): 'A}",
        GOOD[:40],
        GOOD.replace('"A"', '"A'),
        "{" * 5000,
    ],
    "shape": [
        '{"facts": "none"}',
        GOOD.replace('"in"', '"near"'),
        GOOD.replace('"1991"', "null"),
        '{"relation": "in", "reference": "1992-11", "years": 5}',
        '{"relation": "after", "reference": "1992-11", "years": "five"}',
    ],
    "date": [
        GOOD.replace("1990-01", "1990-13"),
        '{"relation": "after", "reference": "1992-13", "years": 5}',
    ],
    "order": [GOOD.replace('"1992"', '"1989"')],
}


@pytest.mark.parametrize(("text", "answers"), each(ANSWERS))
def test_an_object_or_the_papers_dictionary_is_found_among_other_words(text, answers):
    found = read_extraction(text)
    assert solve(found.facts, found.query).answers == answers


def test_an_extraction_is_read_whole_and_written_without_loss():
    assert len(read_extraction(OWNERS).facts) == 4
    found = read_extraction(GOOD)
    assert [fact.value for fact in found.facts] == ["A", "B"]
    assert read_extraction(extraction.write_extraction(found.facts, found.query, "1991")) == found


@pytest.mark.parametrize(("text", "trouble"), each(TROUBLES))
def test_what_is_no_extraction_has_a_name(text, trouble):
    with pytest.raises(extraction.ExtractionError) as raised:
        read_extraction(text)
    assert raised.value.trouble == trouble
