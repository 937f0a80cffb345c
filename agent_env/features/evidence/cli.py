"""The command `questions prove`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agent_env.sdk.commands import AsJson, Opt, say


def prove(
    file: Annotated[Path, typer.Argument(help="Samples, as questions generate writes them.")],
    pages: Annotated[Path, Opt("The corpus: a page store (web pages import).")],
    out: Annotated[Path, Opt("The samples with their proofs.")],
    stated_only: Annotated[
        bool, Opt("Leave out samples with a fact that the corpus does not state.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Find the pages of a corpus that prove the facts of samples, so that answers can be judged as
    right by reading on it.

    Example: agent-env questions prove puzzles.jsonl --pages corpus.db --out proved.jsonl
    """
    import asyncio
    import json
    from collections import Counter

    from agent_env.features.evidence.prove import prove as prove_samples

    result = asyncio.run(prove_samples(file, pages, out, stated_only, say))
    facts = {(fact.name, fact.dates): fact for fact in result.facts}.values()
    counts = Counter(fact.status for fact in facts)
    if as_json:
        told = {"samples": result.samples, "left_out": result.left_out, "facts": dict(counts)}
        print(json.dumps({**told, "listed": str(result.listed)}))
        return
    for fact in facts:
        if fact.status != "stated":
            other = "".join(f"; {s.url}: {s.sentences[0][:120]}" for s in fact.statements[:1])
            print(f"{fact.status}: {fact.name}, {' and '.join(fact.dates[:2])}{other}")
    print(
        f"{len(facts)} facts: {counts['stated']} stated, {counts['other date']} with another date, "
        f"{counts['not stated']} not stated; details: {result.listed}"
    )
    left_out = f", {result.left_out} left out" if result.left_out else ""
    print(f"{result.samples} samples in {out}{left_out}")
