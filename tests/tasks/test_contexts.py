"""Context files: read back as written, refused by line where they are not whole."""

import re
from pathlib import Path

import pytest

from agent_env.errors import ConfigError, DatasetError
from agent_env.records.schema import Message
from agent_env.tasks.conditions import parse_condition
from agent_env.tasks.contexts import (
    ContextHeader,
    Contexts,
    SampleContext,
    check_covers,
    read_contexts,
    sample_digest,
    text_digest,
    with_context,
)
from agent_env.testing import puzzle


def context(sample, text="pages\n"):
    return SampleContext(
        sample=sample.id,
        sample_digest=sample_digest(sample),
        episode="finished",
        text=text,
        digest=text_digest(text),
        tokens=2,
    )


def contexts(*rows):
    header = ContextHeader(
        task="time-puzzles",
        source_run="first",
        source_created_at="2026-01-01T00:00:00+00:00",
        source_samples="0" * 64,
        source_model="reference",
        source_condition="web",
        source_repeat=1,
        source_web="sealed",
        kinds=("cited",),
        order="as cited",
        budget=500,
        page_budget=500,
        tokenizer="estimate",
        samples=len(rows),
        empty=0,
        missing=0,
    )
    return Contexts(header, {row.sample: row for row in rows})


def test_samples_and_pages_are_those_of_the_file(tmp_path):
    made = contexts(context(puzzle("one")), context(puzzle("two"), ""))
    file = tmp_path / "pages.jsonl"
    file.write_bytes(made.data())
    assert read_contexts(file) == made
    assert read_contexts(file).data() == made.data()
    made = contexts(context(puzzle("one")))
    with pytest.raises(ConfigError, match="1 of the 2 samples asked, none for 'two'; ask"):
        check_covers(Path("p.jsonl"), made, [puzzle("one"), puzzle("two")])
    with pytest.raises(ConfigError, match="other samples: 1 of 1 differ, the first is 'one'"):
        check_covers(Path("p.jsonl"), made, [puzzle("one", ["1999-01-01"])])
    said = (Message(role="system", content="Be brief."), Message(role="user", content="When?"))
    prompt = with_context(lambda sample, condition: said, "pages\n")
    system, user = prompt(puzzle(), parse_condition("cited"))
    assert (system.content, user.content) == ("Be brief.", "pages\n\nWhen?")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda lines: [], "is empty; make it by: agent-env web context build"),
        (lambda lines: lines[1:], ":1: not a context file's header: "),
        (lambda lines: [lines[0], b"{", lines[2]], ":2: not a context: "),
        (lambda lines: [*lines, lines[1]], ":4: sample 'one' is there twice"),
        (lambda lines: lines[:2], "holds 1 samples, its header says 2; it was cut off"),
        (
            lambda lines: [lines[0], lines[1].replace(b'"pages\\n"', b'"other\\n"'), lines[2]],
            ":2: the text was changed; its digest is another",
        ),
    ],
)
def test_a_broken_file_is_refused_by_line(change, reason, tmp_path):
    file = tmp_path / "pages.jsonl"
    lines = contexts(context(puzzle("one")), context(puzzle("two"))).data().splitlines()
    file.write_bytes(b"".join(line + b"\n" for line in change(lines)))
    with pytest.raises(DatasetError, match=re.escape(reason)):
        read_contexts(file)
