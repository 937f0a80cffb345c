from __future__ import annotations

import re
from pathlib import Path

from agent_env.cli.samples_page import samples_page


def test_the_tables_of_sample_fields_are_up_to_date() -> None:
    page = Path("docs/samples.md").read_text(encoding="utf-8")
    bare = re.sub(r"\n\n```\n.*?\n```|\n\nAn example stands in .*?(?=\n)", "", page, flags=re.S)
    assert bare == f"{samples_page(with_examples=False)}\n", (
        "make it again: python -m agent_env.cli.samples_page > docs/samples.md"
    )
