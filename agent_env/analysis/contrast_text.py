"""The grammar of contrasts: one line of text, read against the conditions and models there are.

    web+python:web                      web+python against web, within each model
    web@A:web@B                         web, model A against model B
    (web:base)@A                        web against base, for model A only
    (web:base)@A:(web:base)@B           does A gain more from web than B
    (web+python:web):(python:base)      does code add more with web than without, for each model
    web:base                            web~schema against base~schema where each is the only one

The log of another tool is one condition and is called by its name: large:small.

A model is named by its run, its model name, or the model name's last part. `-` stands for `:` as
well. Condition names may hold both signs, so a text is split where both sides are known; where two
splits are possible, parentheses around a side decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from agent_env.analysis.contrasts import PlannedContrast, contrast_name, difference
from agent_env.analysis.study import Arm
from agent_env.errors import ConfigError
from agent_env.models.addresses import short_name, short_names
from agent_env.records.schema import Condition
from agent_env.tasks.modifiers import bare_name


def planned_arms(models: Sequence[str], conditions: Sequence[Condition]) -> tuple[Arm, ...]:
    """The arms of runs that are not begun yet, labelled as finished runs are."""
    return tuple(
        Arm(
            label=condition.name if len(models) == 1 else f"{label} {condition.name}",
            run=model, model=model, condition=condition, observations=(), asked=0,
            model_label=label,
        )
        for model, label in short_names(models).items()
        for condition in conditions
    )  # fmt: skip


def parse_contrasts(
    texts: Sequence[str], arms: Sequence[Arm], planned: Sequence[str] = ()
) -> tuple[PlannedContrast, ...]:
    """The contrasts of these texts, one for each model where no model is named. Those that are not
    among the texts `planned` before the data are exploratory. ConfigError lists all mistakes."""
    if mistakes := contrast_mistakes(texts, arms):
        lines = "; ".join(f"contrast '{text}': {why}" for text, why in mistakes.items())
        raise ConfigError(f"{lines}; {_known(arms)}")
    reader = _Reader(arms)
    before = {e.key for text in readable_contrasts(planned, arms) for e in reader.read(text)}
    contrasts = dict[frozenset[tuple[str, float]], PlannedContrast]()
    for each in (each for text in texts for each in reader.read(text)):
        contrasts.setdefault(each.key, replace(each, is_exploratory=each.key not in before))
    return tuple(contrasts.values())


def contrast_mistakes(texts: Iterable[str], arms: Sequence[Arm]) -> dict[str, str]:
    """What is wrong with each text that cannot be read."""
    reader, mistakes = _Reader(arms), dict[str, str]()
    for text in texts:
        try:
            reader.read(text)
        except _UnreadableError as exc:
            mistakes[text] = str(exc)
    return mistakes


def readable_contrasts(texts: Iterable[str], arms: Sequence[Arm]) -> tuple[str, ...]:
    """Those of the texts that these arms have the conditions for."""
    texts = tuple(texts)
    return tuple(text for text in texts if text not in contrast_mistakes(texts, arms))


def _known(arms: Sequence[Arm]) -> str:
    models = list(dict.fromkeys(arm.run for arm in arms))
    if all(arm.is_log for arm in arms):
        return f"known logs: {', '.join(models)}"
    words = f"known conditions: {', '.join(dict.fromkeys(arm.condition.name for arm in arms))}"
    return words if len(models) == 1 else f"{words}; known models: {', '.join(models)}"


class _UnreadableError(Exception):
    """Why a text is not a contrast."""


@dataclass(frozen=True, slots=True)
class _Term:
    """One weighted condition; a run of None stands for each run in turn."""

    condition: str
    run: str | None
    weight: float


class _Reader:
    def __init__(self, arms: Sequence[Arm]) -> None:
        self._arms = {(arm.run, arm.condition.name): arm for arm in arms}
        self._conditions = dict.fromkeys(arm.condition.name for arm in arms)
        self._models = {arm.run: (arm.model, arm.model_label) for arm in arms}

    def read(self, text: str) -> list[PlannedContrast]:
        """One contrast, or one for each run that has the conditions."""
        terms = self._effect(text)
        if len({term.run is None for term in terms}) > 1:
            raise _UnreadableError(
                "only some conditions name their model; name it for all, or for a whole part, "
                "as in (web:base)@MODEL"
            )
        if terms[0].run is not None:
            return [self._contrast(terms)]
        full = [
            [replace(term, run=run) for term in terms]
            for run in self._models
            if all((run, term.condition) in self._arms for term in terms)
        ]
        if not full:
            raise _UnreadableError("no model has all its conditions")
        return [self._contrast(run_terms) for run_terms in full]

    def _contrast(self, terms: Sequence[_Term]) -> PlannedContrast:
        arms: list[Arm] = []
        weights: dict[str, float] = {}
        for term in terms:
            arm = self._arms.get((term.run or "", term.condition))
            if arm is None:
                raise _UnreadableError(f"{term.run} has no condition '{term.condition}'")
            arms.append(arm)
            weights[arm.label] = weights.get(arm.label, 0.0) + term.weight
        nonzero = tuple((label, weight) for label, weight in weights.items() if weight)
        if not nonzero:
            raise _UnreadableError("it compares a condition with itself")
        after = next(label for label, weight in nonzero if weight > 0)
        before = next(label for label, weight in nonzero if weight < 0)
        if sorted(weight for _, weight in nonzero) == [-1.0, 1.0]:
            ends = [next(a for a in arms if a.label == label) for label in (after, before)]
            return difference(*ends)
        name = contrast_name(arms, [term.weight for term in terms])
        return PlannedContrast(name, after, before, nonzero, is_interaction=True)

    def _effect(self, text: str) -> list[_Term]:
        """The terms of `side:side`, or of one effect in parentheses."""
        readings, failures = list[list[_Term]](), list[tuple[int, str]]()
        for sign in (":", "-−"):
            for left, right in _splits(text, sign):
                sides = [self._attempt(left), self._attempt(right)]
                wrong = [side for side in sides if isinstance(side, str)]
                after, before = sides
                if isinstance(after, str) or isinstance(before, str):
                    failures.append((len(wrong), ", ".join(dict.fromkeys(wrong))))
                else:
                    readings.append([*after, *(replace(t, weight=-t.weight) for t in before)])
            if len(readings) > 1:
                raise _UnreadableError(
                    "it can be read in several ways; put parentheses around each side"
                )
            if readings:
                return readings[0]
        if failures:
            raise _UnreadableError(min(failures, key=lambda each: each[0])[1])
        terms = self._side(text)
        if len(terms) == 1:
            raise _UnreadableError(f"'{terms[0].condition}' is one condition; write AFTER:BEFORE")
        return terms

    def _attempt(self, text: str) -> list[_Term] | str:
        try:
            return self._side(text)
        except _UnreadableError as exc:
            return str(exc)

    def _side(self, text: str) -> list[_Term]:
        """A condition, or something in parentheses; either with `@MODEL`."""
        text = text.strip()
        if not text.startswith("("):
            if (log := self._log(text)) is not None:
                return [log]
            name, at, model = text.partition("@")
            run = self._run(model) if at else None
            return [_Term(self._condition(name), run, 1.0)]
        end = _closing(text)
        inner, rest = text[1:end], text[end + 1 :].strip()
        is_effect = any(_splits(inner, ":-−")) and inner.strip() not in self._conditions
        terms = self._effect(inner) if is_effect else self._side(inner)
        if not rest:
            return terms
        if not rest.startswith("@"):
            raise _UnreadableError(f"'{rest}' after a parenthesis; write @MODEL or nothing there")
        if any(term.run is not None for term in terms):
            raise _UnreadableError(f"'{rest}' after a parenthesis that names its models already")
        return [replace(term, run=self._run(rest[1:])) for term in terms]

    def _log(self, text: str) -> _Term | None:
        """The one condition of the log of this name; None where there is none."""
        try:
            run = self._run(text)
        except _UnreadableError:
            return None
        arms = [arm for arm in self._arms.values() if arm.run == run]
        is_log = text not in self._conditions and arms[0].is_log
        return _Term(arms[0].condition.name, run, 1.0) if is_log else None

    def _condition(self, text: str) -> str:
        name = text.strip()
        if name not in self._conditions:
            variants = [each for each in self._conditions if bare_name(each) == name]
            if len(variants) == 1:  # such as web~schema, where every condition is held to a form
                return variants[0]
            if variants and name:
                raise _UnreadableError(
                    f"'{name}' may be {' or '.join(variants)}; write one of these"
                )
            what = "log" if all(arm.is_log for arm in self._arms.values()) else "condition"
            raise _UnreadableError(f"no {what} '{name}'" if name else "a side is empty")
        return name

    def _run(self, text: str) -> str:
        """The run of this name, model name, or last part of a model name."""
        name = text.strip()
        if name in self._models:
            return name
        whole = [run for run, names in self._models.items() if name in names]
        last = [run for run, (model, _) in self._models.items() if short_name(model) == name]
        runs = whole or last
        if len(runs) > 1:
            raise _UnreadableError(f"'{name}' are {', '.join(runs)}; write one of these")
        if runs:
            return runs[0]
        raise _UnreadableError(f"no model '{name}'")


def _splits(text: str, signs: str) -> Iterator[tuple[str, str]]:
    """The text before and after each of the signs that is outside parentheses."""
    depth = 0
    for place, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if depth == 0 and sign in signs:
            yield text[:place], text[place + 1 :]


def _closing(text: str) -> int:
    """Where the parenthesis closes that the text begins with."""
    depth = 0
    for place, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return place
    raise _UnreadableError("its parenthesis is not closed")
