"""What `reproduce` measures of scored answers, by the rows and quantities of the paper's tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from agent_env.families.temp_answers.published_values import MODELS, TABLE_3, TABLE_4
from agent_env.families.temp_answers.responses import ResponseFile
from agent_env.families.temp_answers.scoring.answer_spec import parse_unit
from agent_env.families.temp_answers.study import layouts
from agent_env.families.temp_answers.study import layouts as curves
from agent_env.families.temp_answers.study.layouts import Answers, Cell, Row, baselines
from agent_env.families.temp_answers.study.modes import Summary
from agent_env.sdk.results import Estimate

Measured = Iterator[tuple[str, str, Estimate]]
"""Row, quantity, estimate."""
DATASETS = {"ttqa": "TTQA", "tot": "ToT"}
SPLITS = {
    "ttqa": {"head": 1103, "tail": 634}, "tot": {"arithmetic": 1016, "semantic": 681},
}  # fmt: skip
"""The paper's questions; it asked 6 models, zero-shot and few-shot."""
FILES = 12
Scope = Literal["file", "head", "prompting", "model", "dataset", "questions"]
"""The answers that a row pools: one file, a model's zero-shot file of the head, its files of one
prompting method, all of its files, all files of a dataset, or a dataset's questions."""
METRICS = {"exact_match": "EM", "smape": "sMAPE", "mase": "MASE"}
COUNT = "a count"
NO_INTERVAL = "a constant answer to the gold answers themselves"


def other_answers(
    answers: Answers, scope: Scope, datasets: Sequence[str], row: str, quantity: str
) -> str:
    """How the answers of a row differ from those that the paper pools, of these datasets or of the
    one that the row names; "" where they do not."""
    scope = "dataset" if scope == "file" and quantity == "MASE" else scope  # scaled by all files
    first = row.split(" ")[0]
    of_model = [f for f in answers.files if f" {model_name(f.model)} " in f" {row} "]
    of_prompting = [f for f in of_model if prompting(f) in row]
    own = [name for name in datasets if DATASETS[name] == first] or datasets
    wanted = {split: n for name in own for split, n in SPLITS[name].items()}
    if scope == "file":
        split, files = first, [f for f in of_prompting if f.splits == (first,)]
    else:
        split, files = "head", [f for f in of_model if prompting(f) == "zero shot"]
    if "baseline" in row and scope == "file":
        of_split = {name: n for name, n in wanted.items() if name == first}
        return _other_files(answers.files, of_split, None)
    if scope in ("file", "head"):
        return _other_files(files, {split: wanted[split]}, 1) if split in wanted and files else ""
    if scope == "prompting":
        return _other_files(of_prompting, wanted, 1)
    if scope == "model":
        return _other_files(of_model, wanted, 2)
    return _other_files(answers.files, wanted, FILES if scope == "dataset" else None)


def _other_files(
    files: Sequence[ResponseFile], wanted: Mapping[str, int], count: int | None
) -> str:
    """`wanted`: questions by split; `count`: the paper's files of each split."""
    for split, questions in wanted.items():
        own = [file for file in files if split in file.splits]
        if not own:
            return f"without the {split} split, which the paper pools with the others"
        sizes = {sum(row.split == split for row in file.rows) for file in own}
        if other := sizes - {questions}:
            return f"{min(other):,} {split} questions, the paper's are {questions:,}"
        if count is not None and len(own) != count:
            return f"{len(own)} {split} files, the paper's are {count}"
    return ""


def model_name(name: str) -> str:
    """The paper's name of a model, without provider, condition and `-Instruct`."""
    bare = re.sub(r"(?i)[-_ ](?:instruct|it)$", "", name.removesuffix(" base").split("/")[-1])
    return next((own for own in MODELS if own.lower() == bare.lower()), bare)


def prompting(file: ResponseFile) -> str:
    """`few shot` or `zero shot`, of a file's name or of a run's number of examples."""
    text = file.prompting.replace("-", " ")
    if shots := re.match(r"(\d+) shots", text):
        return "few shot" if int(shots[1]) else "zero shot"
    return text


def units(answers: Answers) -> Measured:
    """Table 2."""
    for row in layouts.units(answers).by_column():
        name = f"{DATASETS[str(row['dataset'])]} {row['unit']}"
        yield name, "questions", _count(row["questions"])


def rankings(answers: Answers) -> Measured:
    """Figures 2 and 3: means over a model's files."""
    totals = {
        model: sum(s.n for f, s in _pairs(answers) if f.model == model)
        for model in {file.model for file in answers.files}
    }
    for row in curves.rankings(answers).by_column():
        model = str(row["model"])
        estimate = _estimate(row["mean"], row["low"], row["high"], totals[model])
        yield model_name(model), METRICS[str(row["metric"])], estimate


def correlations(answers: Answers) -> Measured:
    """Figure 4."""
    for row in curves.correlations(answers).by_column():
        pair = {METRICS[str(row["metric"])], METRICS[str(row["other"])]}
        names = {"EM–sMAPE": {"EM", "sMAPE"}, "EM–MASE": {"EM", "MASE"}}
        name = next((text for text, own in names.items() if own == pair), "MASE–sMAPE")
        estimate = _estimate(row["spearman"], row["low"], row["high"], row["n"])
        yield DATASETS[str(row["dataset"])], name, estimate


def frequent_errors(answers: Answers) -> Measured:
    """Table 3: the paper's sizes of errors, and our five most frequent ones."""
    for dataset in answers.datasets:
        own = [
            (i.row.cluster, abs(i.error))
            for f, i in answers.each()
            if f.dataset == dataset and i.error
        ]
        frequent = [
            r for r in layouts.frequent_errors(answers).by_column() if r["dataset"] == dataset
        ]
        rows = [f"{DATASETS[dataset]} |e| = {row['error']:g}" for row in frequent]
        known = [row for row in TABLE_3 if row.startswith(DATASETS[dataset])]
        for name in dict.fromkeys((*known, *rows)):
            size = float(name.rpartition(" ")[2])
            if own:
                ends = layouts.percents([(cluster, error == size) for cluster, error in own])
                yield name, "share", _estimate(*ends, len(own))


def question_types(answers: Answers) -> Measured:
    """Table 4."""
    known = {_plain(name): name for name in TABLE_4}
    for row in layouts.off_by_one_types(answers).by_column():
        kind = str(row["kind"])
        yield from _off_by_one(known.get(_plain(kind), kind), row)


def answer_formats(answers: Answers) -> Measured:
    """Table 5."""
    for row in layouts.off_by_one_formats(answers).by_column():
        unit = parse_unit(str(row["kind"]))
        yield from _off_by_one(f"# {unit}" if unit else str(row["kind"]), row)


def _off_by_one(name: str, row: Row) -> Measured:
    for which, quantity in (("all", "all data"), ("off_by_one", "|e| = 1")):
        share, low, high, n = (row[f"{which}_{end}"] for end in ("percent", "low", "high", "n"))
        yield name, quantity, _estimate(share, low, high, n, "" if n else "no answer is off by one")


def directions(answers: Answers) -> Measured:
    """Table 6; standard deviations have no interval."""
    for row in layouts.directions(answers).by_column():
        name = f"{DATASETS[str(row['dataset'])]} {str(row['error'])[:3]}."
        for metric in ("smape", "mase"):
            n = row[f"n_{metric}"]
            cells = (row[metric], row[f"{metric}_low"], row[f"{metric}_high"])
            yield name, METRICS[metric], _estimate(*cells, n)
            spread = _estimate(row[f"{metric}_std"], None, None, n, "a standard deviation")
            yield name, f"{METRICS[metric]} std", spread


def parsing_errors(answers: Answers) -> Measured:
    """Table 8."""
    for row in layouts.parsing_errors(answers).by_column():
        is_begun = str(row["generation"]) in ("prefill", "continue_final_message")
        quantity = "continue final message" if is_begun else "add generation prompt"
        yield _of_model(row, "semantic"), quantity, _share(row)


def markers(answers: Answers) -> Measured:
    """Table 9."""
    for row in layouts.markers(answers).by_column():
        quantity = "original prompt" if row["generation"] == "one" else "with chat template"
        yield _of_model(row, "head"), quantity, _share(row)


def _of_model(row: Row, split: str) -> str:
    """The model, as the paper's rows; with prompting and split where they are not the paper's."""
    own = model_name(str(row["model"]))
    shots = str(row["prompting"])
    is_papers = row["split"] == split and (shots == "zero-shot" or shots.startswith("0 shots"))
    return own if is_papers else f"{own} ({row['split']}, {shots})"


def _share(row: Row) -> Estimate:
    return _estimate(row["percent"], row["low"], row["high"], row["n"])


def performance(dataset: str) -> Callable[[Answers], Measured]:
    """Table 11 or 12."""

    def measure(answers: Answers) -> Measured:
        for file, summary in _pairs(answers):
            if file.dataset != dataset:
                continue
            name = f"{'+'.join(file.splits)} {model_name(file.model)} {prompting(file)}"
            for metric, quantity in METRICS.items():
                low, high = (summary.intervals or {}).get(metric, (None, None))
                n = summary.n if metric == "exact_match" else getattr(summary, f"n_{metric}")
                yield name, quantity, _estimate(getattr(summary, metric), low, high, n)
        for guess in baselines(answers):
            if guess.dataset == dataset:
                name = f"{guess.split} baseline, {guess.name}"
                n = len(answers.by_split[guess.dataset, guess.split])
                for metric, quantity in METRICS.items():
                    value = getattr(guess, metric)
                    yield name, quantity, _estimate(value, None, None, n, NO_INTERVAL)

    return measure


def defined(dataset: str) -> Callable[[Answers], Measured]:
    """Table 13 or 14: counts, over the splits of a dataset."""

    def measure(answers: Answers) -> Measured:
        counts: dict[str, list[int]] = {}
        for file, s in _pairs(answers):
            if file.dataset == dataset:
                own = counts.setdefault(f"{model_name(file.model)} {prompting(file)}", [0, 0, 0])
                for k, n in enumerate((s.n, s.n_smape, s.n_mase)):
                    own[k] += n
        for name, own in counts.items():
            for quantity, n in zip(METRICS.values(), own, strict=True):
                yield name, quantity, _count(n)

    return measure


def reasoning(answers: Answers) -> Measured:
    """Figure 11, of ToT."""
    for row in curves.reasoning(answers).by_column():
        if row["dataset"] != "tot":
            continue
        quantity = "right answers" if row["answer_right"] else "wrong answers"
        share, low, high = (_times_100(row[name]) for name in ("right_steps", "low", "high"))
        yield model_name(str(row["model"])), quantity, _estimate(share, low, high, row["responses"])


def _pairs(answers: Answers) -> Sequence[tuple[ResponseFile, Summary]]:
    return list(zip(answers.files, answers.summaries, strict=True))


def _plain(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.lower())


def _times_100(cell: Cell) -> Cell:
    return 100 * cell if isinstance(cell, (int, float)) else None


def _count(n: Cell) -> Estimate:
    return _estimate(n, None, None, n, COUNT)


def _estimate(value: Cell, low: Cell, high: Cell, n: Cell, method: str = "") -> Estimate:
    """An infinite mean has no value."""
    samples = int(n) if isinstance(n, (int, float)) else 0
    if value == float("inf"):
        why = "infinite: a gold answer is its own centroid"
        return Estimate(None, method=why, samples=samples)
    return Estimate(_number(value), _number(low), _number(high), method, samples)


def _number(cell: Cell) -> float | None:
    return float(cell) if isinstance(cell, (int, float)) else None
