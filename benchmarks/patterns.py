"""CPU time of every regular expression of the package on texts that are made to cost time.

    python benchmarks/patterns.py [CHARACTERS] [PART]

The deep form of tests/test_patterns_are_linear.py, with its attacks: each is played at a quarter of
CHARACTERS (200,000) and at all of them however small it looks, and so are texts that need two
repeats of different kinds, one after the other. Prints the attacks whose time per character grew
by more than half, or that took more than a second; then the slowest ten. PART keeps the patterns
whose place holds it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import permutations, product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.package_patterns import Known, package_patterns
from tests.slow_patterns import Attack, Slow, _runner, _seconds, _tried, attacks_on

MOST_PAIRED = 8
STEEP = 1.5
LONGEST_S = 1.0


def played(known: Known, size: int) -> Iterator[Slow]:
    """Every attack on a pattern, with what it took."""
    attacks = list(dict.fromkeys(attacks_on(known.pattern)))
    for method, attack in product(sorted(known.methods), [*attacks, *paired(attacks)]):
        run = _runner(known.pattern, method)
        if (found := _tried(run, attack, False)) is not None:
            yield Slow(known.where, method, attack.text(60)[:60], *found)
            continue
        quarter = max(_seconds(run, attack.text(size // 4)), 1e-5)
        whole = _seconds(run, attack.text(size))
        if whole > STEEP * 4 * quarter:  # once more, for a disturbed machine
            whole = min(whole, _seconds(run, attack.text(size)))
            quarter = max(quarter, _seconds(run, attack.text(size // 4)))
        yield Slow(known.where, method, attack.text(60)[:60], size, whole, whole / quarter / 4)


def paired(attacks: list[Attack]) -> Iterator[Attack]:
    """Two repeats of the pattern's own, the first filling the first half of the text."""
    bodies = list(dict.fromkeys(a.body for a in attacks if a.tail == "\n!"))[:MOST_PAIRED]
    for first, second in permutations(bodies, 2):
        yield Attack(first * (25_000 // len(first)), second, "\0")


def main(size: int, part: str) -> None:
    """Print what is slow, and the slowest."""
    known, _ = package_patterns()
    kept = [one for one in known if part in one.where]
    results = [slow for one in kept for slow in played(one, size)]
    bad = [s for s in results if s.seconds > LONGEST_S or (s.growth > STEEP and s.seconds > 0.02)]
    print(f"{len(kept)} patterns, {len(results)} attacks, {len(bad)} slow")
    for one in bad:
        print(one)
    print("slowest:")
    slowest: dict[str, Slow] = {}
    for one in sorted(results, key=lambda slow: -slow.seconds):
        slowest.setdefault(one.where, one)
    for one in list(slowest.values())[:10]:
        print(one)


if __name__ == "__main__":
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    main(size, sys.argv[2] if len(sys.argv) > 2 else "")
