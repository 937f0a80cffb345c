"""What a model extracted is read as data; whatever else it writes gets a named outcome."""

import pytest

from agent_env.features.extraction import extraction
from agent_env.features.extraction.extraction import read_extraction
from agent_env.features.extraction.solver import solve
from tests.tables import tables

CASES = tables(__file__)
OWNERS = ["The May Department Stores Company", "A second owner"]
DEEP = ("{" * 5000, "unterminated")


@pytest.mark.parametrize(("text", "answers"), [*CASES["answers"], (CASES["owners"], OWNERS)])
def test_an_object_or_the_papers_dictionary_is_found_among_other_words(text, answers):
    found = read_extraction(text)
    assert list(solve(found.facts, found.query).answers) == answers


def test_an_extraction_is_read_whole_and_written_without_loss():
    assert len(read_extraction(CASES["owners"]).facts) == 4
    found = read_extraction(CASES["good"])
    assert [fact.value for fact in found.facts] == ["A", "B"]
    assert read_extraction(extraction.write_extraction(found.facts, found.query, "1991")) == found


@pytest.mark.parametrize(("text", "trouble"), [*CASES["troubles"], DEEP])
def test_what_is_no_extraction_has_a_name(text, trouble):
    with pytest.raises(extraction.ExtractionError) as raised:
        read_extraction(text)
    assert raised.value.trouble == trouble
