"""What `agent-env verify` finds of 200 random single changes in a pack, and what of them where the
cheat makes every checksum and digest fit again.

Run: python benchmarks/verify.py
"""

from __future__ import annotations

import asyncio
import random
import shutil
import sys
import tempfile
import time
from collections import Counter, defaultdict
from contextlib import suppress
from pathlib import Path

from agent_env.features.verify.claims import Verification, VerifyOptions
from agent_env.features.verify.pack import PackOptions, pack, verify_target

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.frauds import FRAUDS, MADE_ANEW, resealed, restated, unpack, zipped

PRICES = """
[models.reference]
input_per_million = 1.0
output_per_million = 4.0
date = 2026-01-31
source = "made up"
"""
CHANGES = 200


def verified(file: Path) -> Verification:
    """The verdicts on the pack."""
    return asyncio.run(verify_target(VerifyOptions(file), lambda text: None))


def packed_run(folder: Path) -> Path:
    """A pack of 32 episodes with prices, repeats and stored pages."""
    from agent_env.cli.app import main

    (folder / "prices.toml").write_text(PRICES)
    for words in (
        ["web", "build", "--out", str(folder / "site.db")],
        ["run", "time-puzzles", "--limit", "8", "--condition", "base", "--condition", "web",
         "--repeats", "2", "--prices", str(folder / "prices.toml"), "--pages",
         str(folder / "site.db"), "--out", str(folder / "run")],
    ):  # fmt: skip
        sys.argv = ["agent-env", *words]
        with suppress(SystemExit):
            main()
    return pack(PackOptions(folder / "run", folder / "run.zip"), lambda text: None).file


def main() -> None:
    """Prints, by the kind of the change, how many were found and by which claims."""
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as scratch:
        honest = packed_run(Path(scratch))
        before = time.process_time()
        print("unchanged:", verified(honest).counts(), f"{time.process_time() - before:.1f} CPU-s")
        for level in ("changed", "sealed again", "packed again"):
            found: defaultdict[str, Counter[str]] = defaultdict(Counter)
            by: defaultdict[str, Counter[str]] = defaultdict(Counter)
            frauds = [f for f in FRAUDS if level != "packed again" or f not in MADE_ANEW]
            for number in range(CHANGES):
                fraud = frauds[number % len(frauds)]
                folder = unpack(honest, Path(scratch) / "changed")
                where, file = fraud(folder, rng), Path(scratch) / "changed.zip"
                if level != "changed":
                    resealed(folder)
                    restated(folder)
                if level == "packed again":
                    pack(PackOptions(folder / "run", file), lambda text: None)
                else:
                    zipped(folder, file)
                result = verified(file)
                shutil.rmtree(folder)
                fails = [claim for claim in result.claims if claim.verdict == "fails"]
                words = "\n".join(line for claim in fails for line in claim.findings)
                named = "named" if where in words else "found" if fails else "missed"
                found[fraud.__name__][named] += 1
                by[fraud.__name__].update(claim.name for claim in fails)
            print(f"\n{level}, {CHANGES} changes: {dict(sum(found.values(), Counter()))}")
            for name, counts in found.items():
                print(f"  {name:10} {dict(counts)} by {', '.join(by[name]) or 'none'}")


if __name__ == "__main__":
    main()
