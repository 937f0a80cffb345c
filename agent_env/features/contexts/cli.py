"""The same pages for every model: build them from a run, verify who read what."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent_env.sdk.commands import AsJson, Opt, for_each_run, say, with_options

if TYPE_CHECKING:
    from agent_env.features.contexts.commands import BuildOptions, BuildResult, ContextComparison
    from agent_env.sdk.inside import SampleContext


@with_options("agent_env.features.contexts.commands:BuildOptions")
def build(options: BuildOptions, as_json: AsJson = False) -> None:
    """Write, for each sample, the pages that a run's model found, to be given to any model. Of a
    study, --out is a folder with a file for each run.

    Example: agent-env web context build runs/first --out pages.jsonl
    """

    def write(path: Path, name: str) -> None:
        out = options.out / f"{name.replace('/', '--')}.jsonl" if name else options.out
        _build(replace(options, run=path, out=out), as_json)

    for_each_run(options.run, write, as_json)


def _build(options: BuildOptions, as_json: bool) -> None:
    from agent_env.features.contexts import commands

    result = commands.build(options, note=say)
    if as_json:
        print(json.dumps(_as_json(result, options.out)))
    else:
        header = result.contexts.header
        counts = ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in result.counts().items())
        print(
            f"{header.samples} contexts in {options.out}, {header.empty} of them empty; "
            f"pages of {header.source_condition}: {counts or 'none'}"
        )
        _report_gaps(result)


def _as_json(result: BuildResult, out: Path) -> dict[str, object]:
    header = result.contexts.header
    rows = result.contexts.by_sample.values()
    return {
        "out": str(out),
        **header.model_dump(mode="json"),
        "pages": result.counts(),
        "empty_samples": {row.sample: row.episode for row in rows if not row.text},
        "missing_pages": [
            {"sample": row.sample, **page.model_dump(), "reason": result.dead.get(page.url)}
            for row in rows
            for page in row.missing
        ],
    }


def _report_gaps(result: BuildResult) -> None:
    """Prints each missing page and each sample without pages."""
    for row in result.contexts.by_sample.values():
        for page in row.missing:
            reason = result.dead.get(page.url, page.why.replace("_", " "))
            say(f"missing: {row.sample}: {page.kind} {page.url}: {reason}")
        for used in row.pages:
            if used.read_digest is not None:
                say(f"changed: {row.sample}: {used.url}: the store has other bytes than were read")
        if not row.text:
            say(f"empty: {row.sample}: the episode {_why_empty(row)}; it is asked without pages")


def _why_empty(row: SampleContext) -> str:
    if row.episode == "finished":
        has_pages = row.pages or row.missing
        return "names no page that could be given" if has_pages else "names no page"
    return {
        "failed": "failed",
        "unfinished": "did not finish",
        "missing": "is missing",
        "unreadable": "cannot be read",
    }[row.episode]


def show(
    file: Annotated[Path, typer.Argument(help="What `web context build` wrote.", metavar="FILE")],
    sample: Annotated[str | None, Opt("Print the text that this sample is given.")] = None,
) -> None:
    """Print a context file's header and samples, or the very text that one sample is given.

    Example: agent-env web context show pages.jsonl --sample tp-1-00001
    """
    from agent_env.sdk.errors import ConfigError
    from agent_env.sdk.inside import read_contexts

    pages = read_contexts(file)
    if sample is None:
        print(pages.header.model_dump_json(indent=2))
        for row in pages.by_sample.values():
            kinds = ", ".join(f"{page.kind} {page.cut}" for page in row.pages) or row.episode
            print(f"{row.sample}  {row.digest[:12]}  {row.tokens} tokens  {kinds}")
    elif sample not in pages.by_sample:
        raise ConfigError(f"{file} has no sample '{sample}'")
    else:
        print(pages.by_sample[sample].text, end="")


def verify(
    runs: Annotated[list[Path], typer.Argument(help="Runs with cited pages.", metavar="RUN...")],
    all_samples: Annotated[bool, Opt("A line for each equal one, too.", flag="--all")] = False,
    as_json: AsJson = False,
) -> None:
    """Say for each sample whether the runs' models read the same bytes; exit 1 where not.

    Example: agent-env web context verify runs/gpt runs/qwen
    """
    from agent_env.features.contexts.commands import verify as compared

    rows = compared(runs)
    if as_json:
        told = [asdict(each) | {"equal": each.is_equal} for each in rows]
        print(json.dumps({"equal": all(each.is_equal for each in rows), "rows": told}))
    else:
        for row in rows:
            if all_samples or not row.is_equal:
                print(f"{row.context}  {row.sample}  {_verdict(row)}")
        equal = sum(row.is_equal for row in rows)
        where = "every run" if len(runs) > 1 else "every condition of the run"
        print(f"{equal} of {len(rows)} contexts: the same bytes in {where}")
    if not all(row.is_equal for row in rows):
        sys.exit(1)


def _verdict(row: ContextComparison) -> str:
    if row.is_equal:
        return f"equal {row.digests[0]}"
    if row.broken:
        return f"unproven: {', '.join(row.broken)}: the text is not what the trace states"
    if row.absent:
        return f"not in {', '.join(row.absent)}"
    return f"different: {', '.join(row.digests)}"
