"""The figures of the paper's tables and figures, for any scored answers, by row and quantity."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median, pstdev
from typing import Literal

from agent_env.families.temp_answers.scoring.answer_spec import parse_unit
from agent_env.families.temp_answers.scoring.time_errors import percentage
from agent_env.features.papers.paper import PublishedValues
from agent_env.features.papers.temp_answers.modes import Item, ModeScores, Summary
from agent_env.features.papers.temp_answers.paper_answers import (
    MARKER,
    scaled_error,
    strict_object,
)
from agent_env.features.papers.temp_answers.reasoning import arithmetic_steps
from agent_env.features.papers.temp_answers.responses import ResponseFile
from agent_env.sdk.results import Estimate, rank_correlation

_PUBLISHED = PublishedValues.beside(__file__)
TABLES, MODELS = _PUBLISHED.tables, tuple(_PUBLISHED.models.values())
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
NO_INTERVAL = "a constant answer to the gold answers themselves"


@dataclass(frozen=True, slots=True)
class Answers:
    """Files, one mode's items, and their means."""

    files: tuple[ResponseFile, ...]
    mode: str
    scores: ModeScores
    summaries: tuple[Summary, ...]

    def each(self) -> Iterator[tuple[ResponseFile, Item]]:
        """The items in the means, with their files."""
        for file, items in zip(self.files, self.scores.items, strict=True):
            yield from ((file, item) for item in items if self.counts(item))

    def of(self, dataset: str) -> list[Item]:
        return [item for file, item in self.each() if file.dataset == dataset]

    def counts(self, item: Item) -> bool:
        """Whether it is in the means."""
        return self.mode == "paper" or item.problem is None

    @property
    def pairs(self) -> list[tuple[ResponseFile, Summary]]:
        return list(zip(self.files, self.summaries, strict=True))

    @property
    def datasets(self) -> list[str]:
        return list(dict.fromkeys(file.dataset for file in self.files))

    @property
    def by_split(self) -> dict[tuple[str, str], list[Item]]:
        """Distinct questions by dataset and split."""
        questions: dict[tuple[str, str], dict[tuple[str, str | None], Item]] = defaultdict(dict)
        for file, item in self.each():
            if item.gold is not None:
                questions[file.dataset, item.row.split][item.row.key, item.row.label] = item
        return {key: list(items.values()) for key, items in questions.items()}


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
    split = first if scope == "file" else "head"
    of_split = {name: n for name, n in wanted.items() if name == split}
    if "baseline" in row and scope == "file":
        return _other_files(answers.files, of_split, None)
    files = {
        "file": [f for f in of_prompting if f.splits == (first,)],
        "head": [f for f in of_model if prompting(f) == "zero shot"],
        "prompting": of_prompting,
        "model": of_model,
    }.get(scope, answers.files)
    if scope in ("file", "head"):
        return _other_files(files, of_split, 1) if files else ""
    counts = {"prompting": 1, "model": 2, "dataset": FILES}
    return _other_files(files, wanted, counts.get(scope))


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


# Questions and errors ---------------------------------------------------------------------------


def units(answers: Answers) -> Measured:
    """Table 2: distinct questions by unit."""
    unit_by_question = {(f.dataset, i.row.key, i.row.label): _unit_of(i) for f, i in answers.each()}
    counts = Counter((key[0], unit) for key, unit in unit_by_question.items())
    for (dataset, unit), n in counts.most_common():
        yield f"{DATASETS[dataset]} {unit}", "questions", _count(n)


def _unit_of(item: Item) -> str:
    """The declared unit of the question; in `v2` the amount of a date is in days."""
    return item.row.unit or item.unit


SIZES = ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 10), (10, 100), (100, 1000), (1000, math.inf))
"""Sizes of errors above the first number, up to the second."""


def frequent_errors(answers: Answers) -> Measured:
    """Table 3: the paper's sizes of errors, our five most frequent ones, and ranges of sizes, as
    shares of the wrong answers with an amount."""
    for dataset in answers.datasets:
        name = DATASETS[dataset]
        errors = [(i.row.cluster, abs(i.error)) for i in answers.of(dataset) if i.error]
        if not errors:
            continue
        sizes = Counter(size for _, size in errors)
        frequent = sorted(sizes.items(), key=lambda item: (-item[1], item[0]))[:5]
        known = [row for row in TABLES["table3"] if row.startswith(name)]
        for row in dict.fromkeys((*known, *(f"{name} |e| = {size:g}" for size, _ in frequent))):
            size = float(row.rpartition(" ")[2])
            yield row, "share", _share((cluster, own == size) for cluster, own in errors)
        for low, high in SIZES:
            within = _share((c, low < e < 1 if high == 1 else low < e <= high) for c, e in errors)
            ends = f"{low:g} < |e| {'<' if high == 1 else '≤'} {high:g}"
            yield f"{name} {ends.removesuffix(' ≤ inf')}", "share", within


def question_types(answers: Answers) -> Measured:
    """Table 4: question types among all answers and among those off by one (ToT)."""
    known = {_plain(name): name for name in TABLES["table4"]}
    for kind, quantity, estimate in _kinds(answers, "tot", lambda item: item.row.question_type):
        yield known.get(_plain(kind), kind), quantity, estimate


def answer_formats(answers: Answers) -> Measured:
    """Table 5: answer formats among all answers and among those off by one (TTQA)."""
    for kind, quantity, estimate in _kinds(answers, "ttqa", lambda item: item.row.format):
        unit = parse_unit(kind)
        yield f"# {unit}" if unit else kind, quantity, estimate


def _plain(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.lower())


def _kinds(answers: Answers, dataset: str, of: Callable[[Item], str | None]) -> Measured:
    items = answers.of(dataset)
    ones = [item for item in items if item.error is not None and abs(item.error) == 1]
    for kind, _ in Counter(map(of, items)).most_common():
        for quantity, own in (("all data", items), ("|e| = 1", ones)):
            values = [(item.row.cluster, of(item) == kind) for item in own]
            yield str(kind), quantity, _share(values, "no answer is off by one")


def directions(answers: Answers) -> Measured:
    """Table 6: sMAPE and MASE of negative and of positive errors; standard deviations have no
    interval."""
    for dataset in answers.datasets:
        for name, sign in (("neg.", -1), ("pos.", 1)):
            items = [i for i in answers.of(dataset) if i.error is not None and i.error * sign > 0]
            for metric in ("smape", "mase"):
                values = [(i.row.cluster, v) for i in items if (v := _value(i, metric)) is not None
                          and math.isfinite(v)]  # fmt: skip
                row, quantity = f"{DATASETS[dataset]} {name}", METRICS[metric]
                spread = pstdev(value for _, value in values) if values else None
                yield row, quantity, Estimate.of_mean(values)
                yield (
                    row, f"{quantity} std",
                    Estimate(spread, method="a standard deviation", samples=len(values)),
                )  # fmt: skip


# Forms of responses -----------------------------------------------------------------------------


def parsing_errors(answers: Answers) -> Measured:
    """Table 8: responses without a strict JSON object, by ToT file (model and generation)."""
    for file, row, share in _responses(
        answers, "tot", "semantic",
        lambda file, text: isinstance(strict_object(text, file.prefilled), str),
    ):  # fmt: skip
        is_begun = file.generation in ("prefill", "continue_final_message")
        yield row, "continue final message" if is_begun else "add generation prompt", share


def markers(answers: Answers) -> Measured:
    """Table 9: responses that contain `Final Answer:`, by TTQA file (model and prompt)."""
    for file, row, share in _responses(answers, "ttqa", "head", lambda file, text: MARKER in text):
        yield row, "original prompt" if file.generation == "one" else "with chat template", share


def _responses(
    answers: Answers, dataset: str, papers: str, holds: Callable[[ResponseFile, str], bool]
) -> Iterator[tuple[ResponseFile, str, Estimate]]:
    """The share of responses for which `holds`, by file and split. The row is the model as in the
    paper, which has one split; with prompting and split where they are not the paper's."""
    for file in answers.files:
        for split in file.splits if file.dataset == dataset else ():
            rows = [row for row in file.rows if row.split == split]
            is_papers = split == papers and file.prompting.startswith(("zero-shot", "0 shots"))
            name = model_name(file.model)
            yield (
                file, name if is_papers else f"{name} ({split}, {file.prompting})",
                _share((row.cluster, holds(file, row.response or "")) for row in rows),
            )  # fmt: skip


def reasoning(answers: Answers) -> Measured:
    """Figure 11: the share of correct calculations in the responses of right and wrong answers."""
    shares: dict[tuple[str, str, bool], list[tuple[str, float]]] = defaultdict(list)
    for file, item in answers.each():
        share = arithmetic_steps(item.row.response or "").share
        if share is not None:
            shares[file.dataset, file.model, item.exact].append((item.row.cluster, 100 * share))
    for (dataset, model, right), values in sorted(shares.items()):
        row = model_name(model) + ("" if dataset == "tot" else " (TTQA)")
        yield row, "right answers" if right else "wrong answers", Estimate.of_mean(values)


# Performance ------------------------------------------------------------------------------------


def performance(answers: Answers, dataset: str) -> Measured:
    """Table 11 or 12: each split, model and prompting, and the baselines."""
    for file, summary in answers.pairs:
        if file.dataset != dataset:
            continue
        name = f"{'+'.join(file.splits)} {model_name(file.model)} {prompting(file)}"
        for metric, quantity in METRICS.items():
            n = summary.n if metric == "exact_match" else getattr(summary, f"n_{metric}")
            ends = (summary.intervals or {}).get(metric, (None, None))
            yield name, quantity, _finite(getattr(summary, metric), n, ends)
    for guess in baselines(answers):
        if guess.dataset == dataset:
            n = len(answers.by_split[guess.dataset, guess.split])
            for metric, quantity in METRICS.items():
                estimate = _finite(getattr(guess, metric), n, method=NO_INTERVAL)
                yield f"{guess.split} baseline, {guess.name}", quantity, estimate


def defined(answers: Answers, dataset: str) -> Measured:
    """Table 13 or 14: the number of answers in each mean, over the splits of a dataset."""
    counts: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for file, s in answers.pairs:
        if file.dataset == dataset:
            own = counts[f"{model_name(file.model)} {prompting(file)}"]
            own.append((s.n, s.n_smape, s.n_mase))
    for name, numbers in counts.items():
        for quantity, own_n in zip(METRICS.values(), zip(*numbers, strict=True), strict=True):
            yield name, quantity, _count(sum(own_n))


@dataclass(frozen=True, slots=True)
class Guess:
    """The score of the mean or the median gold answer of a unit as the constant answer."""

    dataset: str
    split: str
    name: str
    """`mean` or `median`."""
    exact_match: float
    """Percent, like sMAPE."""
    smape: float | None
    mase: float | None
    """Infinite in `paper` where a gold answer is its own centroid."""


def baselines(answers: Answers) -> list[Guess]:
    """The constant answers' scores for each dataset and split: in `paper` over all rows by unit, as
    published; in `v2` over distinct questions, points in time apart from amounts."""
    by_split = answers.by_split
    if answers.mode == "paper":
        by_split = defaultdict(list)
        for file, item in answers.each():
            if item.gold is not None:
                by_split[file.dataset, item.row.split].append(item)
    return [
        _guess_baseline(*key, name, items, guess)
        for key, items in by_split.items()
        for name, guess in (("mean", fmean), ("median", median))
    ]


def _guess_baseline(
    dataset: str,
    split: str,
    name: str,
    items: Sequence[Item],
    guess: Callable[[Iterable[float]], float],
) -> Guess:
    groups: dict[tuple[str, bool], list[Item]] = defaultdict(list)
    for item in items:
        groups[item.unit, item.percentage is None].append(item)
    exact, ratios, scaled = [], [], []
    for (_, is_point), group in groups.items():
        golds = [float(item.gold or 0) for item in group]
        guess_value = guess(golds)
        for gold, item in zip(golds, group, strict=True):
            exact.append(guess_value == gold)
            if not is_point:
                ratios.append(percentage(guess_value, gold))
            if item.centroid is not None:
                scaled.append(scaled_error(guess_value, gold, item.centroid) or 0.0)
            elif item.scale:
                scaled.append(abs(guess_value - gold) / item.scale)
    smape, mase = (fmean(values) if values else None for values in (ratios, scaled))
    return Guess(dataset, split, name, 100 * fmean(exact), smape, mase)


# Models and metrics -----------------------------------------------------------------------------


def rankings(answers: Answers) -> Measured:
    """Figures 2 and 3: means over a model's files, the best model first; files with an infinite
    mean are excluded."""
    totals = Counter[str]()
    for file, summary in answers.pairs:
        totals[file.model] += summary.n
    exact = {m: -fmean(own.values()) for m, own in _file_means(answers, "exact_match").items()}
    for metric, quantity in METRICS.items():
        file_means = _file_means(answers, metric)
        sign = -1 if metric == "exact_match" else 1
        means = {model: fmean(own.values()) for model, own in file_means.items()}
        for model in sorted(means, key=lambda m: (round(sign * means[m], 9), round(exact[m], 9))):
            ends = _pooled_interval(answers, metric, file_means[model])
            yield model_name(model), quantity, Estimate(means[model], *ends, samples=totals[model])


def _file_means(answers: Answers, name: str) -> dict[str, dict[int, float]]:
    """Means by model, then by the file's index."""
    by_model: dict[str, dict[int, float]] = defaultdict(dict)
    for k, (file, summary) in enumerate(answers.pairs):
        value = getattr(summary, name)
        if value is not None and math.isfinite(value):
            by_model[file.model][k] = value
    return by_model


def _pooled_interval(
    answers: Answers, name: str, files: Mapping[int, float]
) -> tuple[float | None, float | None]:
    """The 95 % interval of a mean over files: their items, pooled with equal weights of the files,
    are resampled by table or graph. One file has its own interval."""
    if len(files) == 1:
        return (answers.summaries[next(iter(files))].intervals or {}).get(name, (None, None))
    if any(answers.summaries[k].intervals is None for k in files):
        return None, None
    values = [
        (k, f"{answers.files[k].dataset} {item.row.cluster}", value)
        for k in files
        for item in answers.scores.items[k]
        if answers.counts(item) and (value := _value(item, name)) is not None
    ]
    sizes = Counter(k for k, _, _ in values)
    weight = {k: len(values) / len(files) / n for k, n in sizes.items()}
    pooled = [(cluster, weight[k] * value) for k, cluster, value in values]
    mean = Estimate.of_mean(pooled)
    return mean.low, mean.high


def _value(item: Item, name: str) -> float | None:
    if name == "exact_match":
        return 100.0 * item.exact
    return item.percentage if name == "smape" else item.scaled


def correlations(answers: Answers) -> Measured:
    """Figure 4: Spearman's rank correlation between metrics over files."""
    pairs = {
        "EM–sMAPE": ("exact_match", "smape"), "EM–MASE": ("exact_match", "mase"),
        "MASE–sMAPE": ("smape", "mase"),
    }  # fmt: skip
    for dataset in answers.datasets:
        own = [summary for file, summary in answers.pairs if file.dataset == dataset]
        for quantity, names in pairs.items():
            points = [tuple(getattr(s, name) for name in names) for s in own]
            known = [(a, b) for a, b in points if None not in (a, b) and math.isfinite(a + b)]
            x, y = [a for a, _ in known], [b for _, b in known]
            yield DATASETS[dataset], quantity, rank_correlation(x, y)


def possible_smape(answers: Answers) -> Measured:
    """Figure 5: the possible range of sMAPE by exact match, if every wrong answer is off by at
    least 1, 25 or 50 percent."""
    for em in range(0, 101, 5):
        for least in (1, 25, 50):
            lowest = Estimate((100 - em) * least / 100, method="a bound")
            yield f"least, errors of {least} % or more", f"EM {em} %", lowest
        yield "most", f"EM {em} %", Estimate(float(100 - em), method="a bound")


BINS = 20


def label_densities(answers: Answers) -> Measured:
    """Figures 6 to 10: distinct gold answers by split, unit and (in `paper`) nearest centroid, as
    shares of those of the unit in 20 bins of equal width; empty bins are left out."""
    for (dataset, split), items in answers.by_split.items():
        for unit, name in dict.fromkeys((_unit_of(i), _named_unit(i)) for i in items):
            golds = [
                float(i.gold or 0) for i in items if (_unit_of(i), _named_unit(i)) == (unit, name)
            ]
            group = (dataset, split, unit) if dataset == "tot" else (dataset, unit)
            centroids = answers.scores.centroids.get(group, ())
            low, high = min(golds), max(golds)
            width = (high - low) / BINS or 1.0
            bins = Counter(
                (min(int((g - low) / width), BINS - 1), _nearest(g, centroids)) for g in golds
            )
            # a date's amount in seconds or days is shown as a year
            a_year = 31_556_952 if answers.mode == "paper" else 365.2425
            first, last = (1970 + g / a_year if unit == "date" else g for g in (low, high))
            row = f"{DATASETS[dataset]} {split} {name}, {first:.6g} to {last:.6g}"
            for (k, cluster), n in sorted(bins.items()):
                own = f"{row}, cluster {cluster + 1}" if len(centroids) > 1 else row
                share = Estimate(100 * n / len(golds), method="a count", samples=n)
                yield own, f"bin {k + 1}", share


def _named_unit(item: Item) -> str:
    """The unit; `calendar years` are those without a percentage error, unlike durations."""
    is_point = _unit_of(item) in ("years", "date_years") and item.percentage is None
    return "calendar years" if is_point else _unit_of(item)


def _nearest(value: float, centroids: Sequence[float]) -> int:
    return min(range(len(centroids)), key=lambda k: abs(centroids[k] - value), default=0)


# Estimates --------------------------------------------------------------------------------------


def _share(values: Iterable[tuple[str, bool]], without: str = "") -> Estimate:
    """A share of outcomes by cluster, in percent."""
    numbers = [(name, float(value)) for name, value in values]
    if not numbers:
        return Estimate(None, method=without)
    return Estimate.of_mean(numbers, share=True).times(100)


def _count(n: int) -> Estimate:
    return Estimate(float(n), method="a count", samples=n)


def _finite(
    value: float | None,
    n: int,
    ends: tuple[float | None, float | None] = (None, None),
    method: str = "",
) -> Estimate:
    """An infinite mean has no value."""
    if value == math.inf:
        return Estimate(None, method="infinite: a gold answer is its own centroid", samples=n)
    return Estimate(value, *ends, method, n)
