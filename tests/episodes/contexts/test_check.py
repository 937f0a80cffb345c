"""Whether runs read the same bytes is proven by the texts themselves, not by what is stated."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_env.errors import ConfigError
from agent_env.models.tokenizers import Estimate
from agent_env.runs.context import verify
from agent_env.tasks.context_text import PageText, put_before, write_context
from agent_env.tasks.contexts import text_digest
from tests.episodes.runs import make_run, started_with


def given(text: str) -> tuple[str, str]:
    page = PageText("https://a.example/", "A", text)
    context = write_context([page], 500, 500, Estimate().count).text
    return put_before(context, "When?"), text_digest(context)


def test_the_same_bytes_in_two_runs_are_equal_and_none_is_equal_to_none(tmp_path: Path) -> None:
    said = {"one": given("x"), "two": ("When?", text_digest(""))}
    started_with(tmp_path / "a", said)
    started_with(tmp_path / "b", said)
    rows = verify([tmp_path / "a", tmp_path / "b"])
    assert [(row.context, row.sample, row.is_equal) for row in rows] == [
        ("cited", "one", True),
        ("cited", "two", True),
    ]


def test_other_bytes_and_absent_samples_are_told_apart(tmp_path: Path) -> None:
    started_with(tmp_path / "a", {"one": given("x"), "two": given("x"), "three": given("x")})
    started_with(tmp_path / "b", {"one": given("y"), "two": given("x")})
    one, three, two = verify([tmp_path / "a", tmp_path / "b"])
    assert (one.is_equal, len(one.digests)) == (False, 2)
    assert (three.is_equal, three.absent) == (False, (str(tmp_path / "b"),))
    assert two.is_equal


def test_a_text_that_is_not_what_the_trace_states_proves_nothing(tmp_path: Path) -> None:
    text, digest = given("x")
    started_with(tmp_path / "a", {"one": (text.replace("x\n", "z\n"), digest)})
    (row,) = verify([tmp_path / "a"])
    assert (row.is_equal, row.broken) == (False, (f"{tmp_path / 'a'} cited/one.1",))


def test_a_run_without_cited_pages_has_nothing_to_verify(tmp_path: Path) -> None:
    make_run(tmp_path / "a", ["one"])
    with pytest.raises(ConfigError, match="has no episode under a cited condition"):
        verify([tmp_path / "a"])
