"""`check`: what a server can do, by short calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from agent_env.cli.options import with_options
from agent_env.cli.run import AsJson, print_table, say
from agent_env.records.options import Opt

if TYPE_CHECKING:
    from agent_env.runs.probe import ProbeOptions


@with_options("agent_env.runs.probe:ProbeOptions")
def check(
    options: ProbeOptions,
    out: Annotated[Path | None, Opt("Write the record here, to pass it on.")] = None,
    as_json: AsJson = False,
) -> None:
    """Try what a model's server can do, by about twenty short calls.

    They try tools, streams, usage, JSON schema, seed, and what the server wants of an agent's
    requests. The record holds neither address nor key.

    Example: agent-env check http://127.0.0.1:8000/v1 --out probe.json
    """
    import asyncio

    from agent_env.episodes.calls.preflight import remarks
    from agent_env.errors import ConfigError
    from agent_env.runs.probe import probe_server

    preflight, record = asyncio.run(probe_server(options, say))
    text = json.dumps(record.model_dump(mode="json"), indent=2, ensure_ascii=False)
    if as_json:
        print(text)
    else:
        from agent_env.analysis.result_tables import Column, ResultTable

        title = f"{record.server or 'unknown server'} {record.version or ''} · {record.model}"
        context = record.context_tokens
        rows = [(f.name, seen_word(f.is_seen), f.detail) for f in record.features]
        rows.append(("context", "unknown" if context is None else f"{context}", "tokens"))
        columns = (Column("feature"), Column("seen"), Column("what"))
        notes = (f"{record.calls} calls; unknown: the model's replies did not show it.",)
        print_table(ResultTable("probe", " ".join(title.split()), columns, tuple(rows), notes))
        for remark in remarks(preflight):
            print(f"  {remark}")
    if out is not None:
        try:
            out.write_text(f"{text}\n", encoding="utf-8")
        except OSError as exc:
            raise ConfigError(f"cannot write --out {out}: {exc.strerror}") from exc
        say(f"wrote {out}")


def seen_word(is_seen: bool | None) -> str:
    """yes, no or unknown."""
    return "unknown" if is_seen is None else "yes" if is_seen else "no"
