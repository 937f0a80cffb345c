"""agent-env verify, agent-env pack."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from agent_env.sdk.commands import AsJson, say, with_options

if TYPE_CHECKING:
    from agent_env.features.verify.claims import VerifyOptions
    from agent_env.features.verify.pack import PackOptions


@with_options("agent_env.features.verify.claims:VerifyOptions")
def verify(options: VerifyOptions, as_json: AsJson = False) -> None:
    """Judge a run's claims again, offline: traces, golds, requests, pages, scores, figures. Exit
    code 1 where one fails.

    Example: agent-env verify runs/first.zip
    """
    import asyncio

    from agent_env.features.verify.pack import verify_target
    from agent_env.sdk.records import visible

    result = asyncio.run(verify_target(options, say))
    counts = result.counts()
    if as_json:
        claims = [asdict(claim) for claim in result.claims]
        print(json.dumps({"run": result.run, **counts, "claims": claims}))
    else:
        print(visible(result.run))
        for claim in result.claims:
            print(visible(f"{claim.verdict:9} {claim.name:10} {claim.text}"))
            for finding in claim.findings:
                print(visible(f"{'':21}{finding}"))
        print(", ".join(f"{number} {verdict}" for verdict, number in counts.items()))
    if not result.holds:
        sys.exit(1)


@with_options("agent_env.features.verify.pack:PackOptions")
def pack(options: PackOptions) -> None:
    """Write a run into one file with all that `verify` needs; the same run gives the same bytes.

    Example: agent-env pack runs/first --out first.zip
    """
    from agent_env.features.verify.pack import pack as pack_run

    for line in pack_run(options, say).lines():
        print(line)
