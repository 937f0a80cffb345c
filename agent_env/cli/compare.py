"""`compare`: conditions and runs, paired by sample."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated

from agent_env.cli.options import with_options
from agent_env.cli.run import Wide, print_table, say
from agent_env.records.escaping import visible
from agent_env.records.options import Opt

if TYPE_CHECKING:
    from agent_env.analysis.comparison import Comparison
    from agent_env.analysis.requirements import Judged
    from agent_env.analysis.result_tables import ResultTable
    from agent_env.runs.compare import CompareOptions


@with_options("agent_env.runs.compare:CompareOptions")
def compare(
    options: CompareOptions,
    as_json: Annotated[
        bool, Opt("Print one JSON object: --to json --table all.", flag="--json")
    ] = False,
    wide: Wide = False,
) -> None:
    """Compare conditions and runs, paired by sample.

    Example: agent-env compare runs/a runs/b --to md --out compared.md --figures figures,
    or agent-env compare plain=a.eval tools=b.eval --html report.html
    """
    from agent_env.extras import FOR_FIGURES, FOR_REPORT, need_extra
    from agent_env.runs.compare import (
        compare_tasks,
        comparison_json,
        draw,
        judge_tasks,
        select_tables,
        write,
        write_report,
    )

    if options.figures or options.html:
        need_extra(*(FOR_REPORT if options.html else FOR_FIGURES))
    tasks = compare_tasks(options, say)
    judged = judge_tasks(tasks, options, say)
    is_all = options.to or options.out or as_json
    names = options.tables or (["all"] if is_all else [])
    tables = {each.name: select_tables(each.comparison, names, options.by) for each in tasks}
    if as_json:
        values = {t.name: comparison_json(t.comparison, tables[t.name]) for t in tasks}
        whole = values if len(tasks) > 1 else next(iter(values.values()))
        gate = {"requirements": [asdict(each) for each in judged]} if judged else {}
        print(json.dumps({"tasks": whole} if len(tasks) > 1 else whole | gate, allow_nan=False))
        _end(judged)
        return
    for each in tasks:
        is_one = len(tasks) == 1
        if not is_one and not (options.to or options.out):
            print(f"== {each.name}")
        if options.to or options.out:
            out = options.out
            if out is not None and not is_one:  # the file, or the folder, of one of several tasks
                name = f"{out.stem}-{each.name}{out.suffix}"
                out = out.with_name(name) if out.suffix else out / each.name
            write(tables[each.name], options.to, out, say)
        else:
            _print(each.comparison, tables[each.name], not options.tables, wide)
        if options.figures is not None:
            folder = options.figures if is_one else options.figures / each.name
            for file in draw(each.comparison, folder):
                say(f"drew {file}")
    if options.html is not None:
        write_report(tasks, options.html, say)
        say(f"wrote {options.html}")
    for verdict in judged:
        print(visible(str(verdict)))
    _end(judged)


def _end(judged: Sequence[Judged]) -> None:
    """The exit code that CI goes by, where there are requirements."""
    from agent_env.analysis.requirements import exit_code

    if code := exit_code(judged):
        sys.exit(code)


def _print(
    comparison: Comparison, tables: Sequence[ResultTable], unasked: bool, wide: bool
) -> None:
    from agent_env.analysis.totals import spent_table

    for each in tables:
        print_table(each if unasked else replace(each, brief=""), wide)
    if spent := [(a.label, a.spent) for a in comparison.study.arms if a.spent and unasked]:
        print_table(spent_table(spent), wide)
