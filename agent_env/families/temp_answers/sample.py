"""One question whose answer is a time."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agent_env.families.temp_answers.scoring.answer_spec import AnswerKind, AnswerSpec
from agent_env.families.temp_answers.scoring.time_errors import Scale
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.records import Sample

NAME = "temp-answers"
Split = Literal["table", "arithmetic", "semantic"]
SPLITS: tuple[Split, ...] = ("table", "arithmetic", "semantic")


class TimeQuestion(Sample):
    """A question and the form of its answer; `gold` is the answer as text."""

    split: Split
    question_type: str
    question: str
    form: str
    """The requested form of the answer, such as `a number of days`."""
    kind: AnswerKind
    unit: str
    """Of the amount."""
    amount: int
    """The right answer as a number: see `scoring.answer_spec.TimeAnswer`."""
    keys: dict[str, str] = Field(default_factory=dict)
    """Keys of the answer's object with their units; empty for an answer on a final line."""
    label: str
    """The right answer as the published files write labels."""
    answer_format: str
    answer_unit: str
    """The unit as published files name it: `date_years` for a year in a table question."""
    years_only: bool = False
    """Whether question and table give years only, without months or days."""
    scale_mean: float = 0.0
    scale_deviation: float = 0.0
    scale_items: int = 0
    """Of the gold answers of the same split, kind and unit in the generated set."""
    generator: int | None = None
    """Version of the generator; None for published sets."""

    @property
    def spec(self) -> AnswerSpec:
        """How the answer is parsed."""
        return AnswerSpec(self.kind, self.unit, "json" if self.keys else "line", self.keys)

    @property
    def scale(self) -> Scale:
        return Scale(self.scale_mean, self.scale_deviation, self.scale_items)


def time_question(sample: Sample) -> TimeQuestion:
    """The sample, typed; ConfigError for a sample of another family."""
    if not isinstance(sample, TimeQuestion):
        raise ConfigError(f"sample {sample.id} is not a question of {NAME}")
    return sample
