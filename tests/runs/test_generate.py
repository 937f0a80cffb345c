"""Sets from file to file."""

import asyncio

import pytest

from agent_env.errors import ConfigError, DatasetError
from agent_env.runs.generate import GenerateOptions, make_set
from tests.plans import QUIET


def generate(out, **more):
    asked = {"limit": 30, "seed": 2, "options": ("rows=60",), **more}
    return asyncio.run(make_set(GenerateOptions(task="tdbench", out=out, **asked), QUIET))


BAD = {
    "an end before its start": ("a,b,2001-01-01,2000-01-01", (), "ends before its start"),
    "mixed granularity": ("a,b,2001-01-01,\nc,d,2001,", (), "mixed"),
    "no column": ("a,b,2001-01-01,", ("answer=whom",), "posts has no column 'whom'"),
    "nothing to ask": ("a,b,2001-01-01,", (), "has nothing to ask"),
    "no such option": ("a,b,2001-01-01,", ("colour=1",), "tdbench has no option 'colour'"),
    "nothing known yet": ("a,b,2101-01-01,\na,c,2102-01-01,", ("unique=false",), "nothing to ask"),
}


@pytest.mark.parametrize("name", sorted(BAD))
def test_what_is_wrong_with_a_table_is_named_and_nothing_written(tmp_path, name):
    rows, more, said = BAD[name]
    (tmp_path / "posts.csv").write_text(f"order,who,start,end\n{rows}\n")
    own = () if "answer=whom" in more else ("answer=who",)
    given = (f"tables={tmp_path}/posts.csv", "question=order", "now=2025-01-01", *own, *more)
    with pytest.raises((ConfigError, DatasetError), match=said):
        generate(tmp_path / "td.jsonl", options=given)
    assert [file.name for file in tmp_path.iterdir()] == ["posts.csv"]
