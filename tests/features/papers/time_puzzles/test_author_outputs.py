"""The authors' output files say what is wrong with them."""

import pytest

from agent_env.errors import DatasetError
from agent_env.features.papers.time_puzzles.author_outputs import read_outputs


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "gpt-x.json: is not JSON: "),
        ("{", "gpt-x.json: is not JSON: "),
        ("{}", "holds no puzzle; write a JSON array of objects"),
        ("[3]", "index 0, row: is not an object"),
        ('[{"identifier": 1}]', "index 0, solutions: is missing"),
        ('[{"identifier": 1, "solutions": [], "response": 3}]', "index 0, response: is not a text"),
    ],
)
def test_a_broken_file_is_named_by_index_and_field(text, message, tmp_path):
    file = tmp_path / "no_tool_use" / "gpt-x.json"
    file.parent.mkdir()
    file.write_text(text)
    with pytest.raises(DatasetError, match=message):
        read_outputs(file)
