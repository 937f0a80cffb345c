"""Commitments: a salted hash of each sample, and one root over all. They tell nothing of the
samples until the salt is revealed, and allow no other samples then.

The tree is that of RFC 6962, section 2.1: leaves and nodes are hashed with different first bytes,
so that a node cannot be taken for a leaf.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence


def leaf(salt: bytes, number: int, sample: bytes) -> bytes:
    """The commitment to the sample at this place; each place has a salt of its own."""
    own = hmac.digest(salt, number.to_bytes(8, "big"), "sha256")
    return hashlib.sha256(b"\x00" + own + sample).digest()


def root(leaves: Sequence[bytes]) -> bytes:
    """The Merkle root of these leaves."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    level = list(leaves)
    while len(level) > 1:  # a last one without a neighbour goes up as it is
        pairs = [
            hashlib.sha256(b"\x01" + level[n] + level[n + 1]).digest()
            for n in range(0, len(level) - 1, 2)
        ]
        level = pairs + level[len(pairs) * 2 :]
    return level[0]


def seed_commitment(salt: bytes, seeds: Sequence[int]) -> str:
    """The commitment to the seeds of the private half."""
    text = ",".join(map(str, seeds)).encode()
    return hmac.digest(salt, b"seeds " + text, "sha256").hex()


def hidden(data: bytes, canary: str) -> bytes:
    """Data that no crawler reads as text and that everybody can read who has the canary: xor with
    a stream of hashes of it. No protection against people; the same function reverses it."""
    stream = hashlib.shake_256(canary.encode()).digest(len(data))
    return bytes(one ^ other for one, other in zip(data, stream, strict=True))
