"""docs/compatibility.md, made from docs/compatibility/*.json:
python .ci/pages/compatibility.py"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agent_env.cli.check import seen_word
from agent_env.cli.docs import SOURCES
from agent_env.records.model_server import ServerProbe

RECORDS = SOURCES / "compatibility"
HEAD = """# Servers that were tried

`agent-env check http://HOST:PORT/v1 --out probe.json` makes about twenty short calls to any server
of the Chat Completions API (`--api responses` for the other) and prints what it saw. Its record
holds neither the address nor the key: put it into `docs/compatibility/` as SERVER-MODEL.json, or
send it in, and `python .ci/pages/compatibility.py > docs/compatibility.md` writes this
page again.

Only what a probe saw stands here. `no` was seen not to work, `–` is unknown: this model's replies
did not show it. A small model often calls no tool, which says nothing of the server."""
LEGEND = """## What the columns say

| column | yes means |
|---|---|
| tools | the definitions reach the model: they add input tokens, or a call came |
| parsed | calls arrive as calls, not in the text |
| required | `tool_choice: required` brought a call |
| parallel | two calls came in one reply |
| stream | a streamed reply came whole |
| stream calls | a call came in a streamed reply |
| reasoning | the field that held it |
| usage, stream usage | the server tells tokens |
| logprobs | they came with the reply |
| schema | a reply was held to a JSON schema of which the question did not speak |
| seed | the same seed gave the same text, another one another |"""
COLUMNS = {
    "tools": "tools", "calls parsed": "parsed", "required": "required",
    "parallel calls": "parallel", "streaming": "stream", "calls in streams": "stream calls",
    "reasoning": "reasoning", "usage": "usage", "usage in streams": "stream usage",
    "logprobs": "logprobs", "JSON schema": "schema", "seed": "seed",
}  # fmt: skip
"""Features, and the heads of their columns."""


def compatibility_page(folder: Path = RECORDS) -> str:
    """The page: a row for each record."""
    probes = [
        ServerProbe.model_validate_json(file.read_bytes()) for file in sorted(folder.glob("*.json"))
    ]
    heads = ["server", "model", "API", *COLUMNS.values(), "context", "tried", "note"]
    lines = [heads, ["---"] * len(heads), *map(_row, probes)]
    return "\n\n".join([HEAD, "\n".join(map(_line, lines)), LEGEND])


def _row(probe: ServerProbe) -> list[str]:
    seen = {feature.name: feature for feature in probe.features}
    cells = []
    for name in COLUMNS:
        feature = seen.get(name)
        if feature is None or feature.is_seen is None:
            cells.append("–")
        elif name == "reasoning" and feature.detail:
            cells.append(f"`{feature.detail}`")
        else:
            cells.append(seen_word(feature.is_seen))
    server = " ".join(filter(None, [probe.server or "unknown", probe.version]))
    context = "–" if probe.context_tokens is None else str(probe.context_tokens)
    return [server, probe.model, probe.api, *cells, context, probe.at[:10], probe.note]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


if __name__ == "__main__":
    print(compatibility_page())
