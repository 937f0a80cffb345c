"""One question whose answer is a time."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agent_env.errors import ConfigError
from agent_env.families.temp_answers.scoring.time_errors import Scale
from agent_env.families.temp_answers.scoring.time_wanted import Kind, Wanted
from agent_env.records.schema import Sample

NAME = "temp-answers"
Split = Literal["table", "arithmetic", "semantic"]
SPLITS: tuple[Split, ...] = ("table", "arithmetic", "semantic")


class TimeQuestion(Sample):
    """A question with what it declares of its answer; `gold` is the answer as text."""

    split: Split
    question_type: str
    question: str
    form: str
    """How the answer is to be written, such as `a number of days`."""
    kind: Kind
    unit: str
    """Of the amount."""
    amount: int
    """The right answer as a number: see scoring.time_wanted.TimeAnswer."""
    keys: dict[str, str] = Field(default_factory=dict)
    """Keys of the answer's object, each with the unit it stands for; empty for a final line."""
    label: str
    """The right answer as the published files write labels."""
    answer_format: str
    answer_unit: str
    """As the published files name the unit: `date_years` for a year in a table question."""
    years_only: bool = False
    """Whether question and table give nothing finer than years."""
    scale_mean: float = 0.0
    scale_deviation: float = 0.0
    scale_items: int = 0
    """Of the gold answers of the same split, kind and unit in the set that was made."""
    generator: int | None = None
    """Version of the generator that made it; None for published sets and those made before."""

    @property
    def wanted(self) -> Wanted:
        """How the answer is read."""
        return Wanted(self.kind, self.unit, "json" if self.keys else "line", self.keys)

    @property
    def scale(self) -> Scale:
        return Scale(self.scale_mean, self.scale_deviation, self.scale_items)


def time_question(sample: Sample) -> TimeQuestion:
    """The sample as what it is; ConfigError where a file of another family was given."""
    if not isinstance(sample, TimeQuestion):
        raise ConfigError(f"sample {sample.id} is no question of {NAME}")
    return sample
