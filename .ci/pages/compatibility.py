"""The table of servers in docs/compatibility/README.md, made from the records beside it:

python .ci/pages/compatibility.py
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from agent_env.cli.docs import SOURCES
from agent_env.records.model_server import ServerProbe

RECORDS = SOURCES / "compatibility"
PAGE = RECORDS / "README.md"
PLACE = re.compile(r"(?<=<!-- servers -->\n).*?(?=<!-- /servers -->)", re.S)
"""Where the table stands in the page."""
FEATURES = (
    "tools", "calls parsed", "required", "parallel calls", "streaming", "calls in streams",
    "reasoning", "usage", "usage in streams", "logprobs", "JSON schema", "seed",
)  # fmt: skip


def servers_page(folder: Path = RECORDS) -> str:
    """The page of servers with the table of today: a row for each record."""
    probes = [
        ServerProbe.model_validate_json(file.read_bytes()) for file in sorted(folder.glob("*.json"))
    ]
    heads = ["server", "model", "API", "works", "does not work", "context", "tried", "note"]
    lines = [heads, ["---"] * len(heads), *map(_row, probes)]
    table = "".join(f"{_line(cells)}\n" for cells in lines)
    return PLACE.sub(lambda _: table, PAGE.read_text(encoding="utf-8"))


def _row(probe: ServerProbe) -> list[str]:
    seen = {feature.name: feature for feature in probe.features}
    known = [seen[name] for name in FEATURES if name in seen]
    cells = [
        ", ".join(each.name for each in known if each.is_seen is is_seen) or "–"
        for is_seen in (True, False)
    ]
    server = " ".join(filter(None, [probe.server or "unknown", probe.version]))
    context = "–" if probe.context_tokens is None else str(probe.context_tokens)
    return [server, probe.model, probe.api, *cells, context, probe.at[:10], probe.note]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


if __name__ == "__main__":
    PAGE.write_text(servers_page(), encoding="utf-8")
