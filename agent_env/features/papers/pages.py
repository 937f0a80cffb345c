"""Writes a reproduction: results.json, tables as CSV, figures, and one HTML page."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from agent_env.features.papers.engine import ReproduceResult
from agent_env.features.papers.paper import Reproduction
from agent_env.features.papers.results import (
    ExperimentResult,
    experiment_table,
    overview,
    published_table,
)
from agent_env.sdk.results import Column, ResultTable
from agent_env.sdk.trace import write_whole

WORDS = (
    "Every row sets a value of the paper beside ours, with a 95 % confidence interval and the "
    "number of samples n. A dash is a value that nobody measured. Where the authors published "
    "their scorer, the same answers stand under their rules too, and difference and verdict are "
    "of these. A verdict is given where the questions are the paper's: equal to the printed "
    "digit, or the paper's value inside or outside of our interval; else the two are not "
    "comparable, with the reason. An interval tells of the sampling of questions alone.",
)


def write_results(result: ReproduceResult, note: Callable[[str], None]) -> list[Path]:
    """All files of the results; the page and the figures where their extras are installed."""
    out, files = result.out, list[Path]()
    tables = [overview(result.results), *(table for e in result.results for table in tables_of(e))]
    for table in tables:
        file = out / "tables" / f"{table.name}.csv"
        write_whole(file, table.csv().encode())
        files.append(file)
    text = json.dumps(results_json(result), ensure_ascii=False, allow_nan=False, indent=1)
    write_whole(out / "results.json", text.encode() + b"\n")
    files.append(out / "results.json")
    if missing := [name for name in ("matplotlib", "jinja2") if find_spec(name) is None]:
        note(f"no figures and no page without {', '.join(missing)}: install 'agent-env[analysis]'")
        return files
    return [*files, *_write_page(result)]


def results_json(result: ReproduceResult) -> dict[str, object]:
    """The object that `--json` prints."""
    return {
        "paper": result.paper.title,
        "out": str(result.out),
        "stopped": result.stopped or None,
        "experiments": {
            e.experiment.name: {table.name: table.as_json() for table in tables_of(e)}
            for e in result.results
        },
        "not_reproduced": {
            e.experiment.name: e.not_reproduced for e in result.results if e.not_reproduced
        },
    }


def tables_of(each: ExperimentResult) -> list[ResultTable]:
    """Ours beside the paper's, and the paper's own table."""
    own = published_table(each.experiment)
    return [experiment_table(each), *([own] if own.rows else [])]


def _write_page(result: ReproduceResult) -> list[Path]:
    from agent_env.features.papers.figures import CAPTION, paper_figure
    from agent_env.sdk.results import SvgFigure, inline_svg, page, save

    sections, files = list[dict[str, object]](), list[Path]()
    for each in result.results:
        name, figure = each.experiment.name, paper_figure(each)
        if figure is not None:
            files += save(figure, result.out / "figures", name)
        sections.append(
            {
                "name": name,
                "title": each.experiment.title,
                "figure": figure and SvgFigure(name, CAPTION, inline_svg(figure, name)),
                "tables": [table.without_empty() for table in tables_of(each)],
            }
        )
    text = page(
        "paper.html",
        title=f"Reproduced: {result.paper.title}",
        source=result.paper.source,
        words=(*WORDS, *([f"Incomplete: {result.stopped}."] if result.stopped else [])),
        overview=overview(result.results).without_empty(),
        experiments=sections,
    )
    file = result.out / "report.html"
    write_whole(file, text.encode("utf-8", "replace"))
    return [*files, file]


def contents(paper: Reproduction) -> tuple[ResultTable, ResultTable]:
    """The paper's experiments, and the question files that they can be given."""
    setups = {setup.name: setup for setup in paper.setups}
    rows = tuple(
        (
            each.name, each.title,
            ", ".join(dict.fromkeys(setups[name].questions for name in each.setups)) or None,
            ", ".join(dict.fromkeys(
                    c for name in each.setups for c in setups[name].run.condition_names
                ))
            or None,
            each.not_reproduced or None,
        )
        for each in paper.experiments
    )  # fmt: skip
    heads = ("name", "the paper's", "questions", "conditions", "not reproduced because")
    columns = tuple(Column(name, rank=int(name == "questions")) for name in heads)
    experiments = ResultTable("experiments", paper.title, columns, rows)
    questions = tuple(
        (each.name, each.about, each.count, "printed" if each.printed else "yes")
        for each in paper.questions
    )  # fmt: skip
    of_files = ("--dataset NAME", "what it is", "in the paper", "can be generated")
    files = ResultTable("files", "Questions", tuple(map(Column, of_files)), questions)
    return experiments, files
