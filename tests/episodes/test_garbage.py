"""The search for garbage is rarer inside, and as it was outside."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from agent_env.episodes.garbage import rarely_collected


@pytest.fixture(autouse=True)
def _as_python_has_it() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_it_is_rarer_inside_and_as_before_after_an_error() -> None:
    inside: list[tuple[int, int, int]] = []

    def fail() -> None:
        with rarely_collected():
            inside.append(gc.get_threshold())
            raise ValueError("from inside")

    with pytest.raises(ValueError, match="from inside"):
        fail()
    assert (inside, gc.get_threshold()) == ([(20_000, 10, 10)], (700, 10, 10))


@pytest.mark.parametrize("chosen", [0, 50_000])
def test_who_chose_never_or_rarer_still_keeps_it(chosen: int) -> None:
    gc.set_threshold(chosen, 10, 10)
    with rarely_collected():
        assert gc.get_threshold() == (chosen, 10, 10)
