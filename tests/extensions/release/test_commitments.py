"""Commitments to a private half: the tree of RFC 6962, and a stream that can be taken back."""

import hashlib
import hmac

from hypothesis import given
from hypothesis import strategies as st

from agent_env.extensions.release.commitments import hidden, leaf, root, seed_commitment


def by_definition(leaves):
    """RFC 6962, 2.1: split at the largest power of two below the number."""
    if len(leaves) == 1:
        return leaves[0]
    k = 1
    while k * 2 < len(leaves):
        k *= 2
    one, two = by_definition(leaves[:k]), by_definition(leaves[k:])
    return hashlib.sha256(b"\x01" + one + two).digest()


def test_a_leaf_is_the_salted_hash_of_its_sample():
    own = hmac.new(b"salt", (3).to_bytes(8, "big"), "sha256").digest()
    assert leaf(b"salt", 3, b"sample") == hashlib.sha256(b"\x00" + own + b"sample").digest()


@given(st.lists(st.binary(min_size=32, max_size=32), min_size=1, max_size=40))
def test_the_root_is_that_of_the_definition(leaves):
    assert root(leaves) == by_definition(leaves)


@given(st.lists(st.binary(max_size=5), min_size=1, max_size=20), st.data())
def test_one_changed_sample_gives_another_root(samples, data):
    place = data.draw(st.integers(0, len(samples) - 1))
    changed = [*samples]
    changed[place] += b"!"
    one, two = ([leaf(b"s", n, each) for n, each in enumerate(s)] for s in (samples, changed))
    assert root(one) != root(two)
    assert [n for n, (a, b) in enumerate(zip(one, two, strict=True)) if a != b] == [place]


@given(st.binary(max_size=200), st.text(max_size=20))
def test_what_is_hidden_by_a_canary_comes_back_by_it(data, canary):
    assert hidden(hidden(data, canary), canary) == data


def test_the_commitment_to_seeds_needs_the_salt():
    assert seed_commitment(b"a", [1, 2]) != seed_commitment(b"b", [1, 2])
    assert seed_commitment(b"a", [1, 2]) != seed_commitment(b"a", [12])
