"""Tasks, conditions, tools and models, by name or as objects that this process holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from agent_env.errors import ConfigError, first_problem
from agent_env.protocols import ToolDeclaration
from agent_env.records import schema
from agent_env.registry import NO_OBJECTS, OBJECT, Objects, Registry
from agent_env.runs.options.keywords import from_arguments
from agent_env.runs.options.run_options import RunOptions
from agent_env.tasks.conditions import ALIASES, parse_condition
from agent_env.tasks.family import Family, family_of
from agent_env.tasks.modifiers import bare_name
from agent_env.tasks.scorers import SCORERS
from agent_env.tasks.task import Task
from agent_env.tasks.tool_registry import TOOLS, plugin_tool, tool_names
from agent_env.wiring.registry import FAMILIES, MODELS
from agent_env.wiring.trust import own_call, own_plugins

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_env.records.schema import Sample
    from agent_env.records.tool_traits import ToolTraits
    from agent_env.tasks.family import Family
    from agent_env.tasks.scorers import SCORERS

ModelLike = Any
"""The name of a model; a function of messages, tools and options; an object with `generate`."""
ScorerLike = Any
"""The name of a scorer, or a function of a sample and an answer that gives a number."""
ToolLike = Any
"""The name of a tool; what `tool` makes; a function."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition with a name and tools of its own.

    >>> import agent_env as ae
    >>> ae.Condition("search", tools=["web_search"])
    Condition(name='search', tools=('web_search',), wording='implicit', strategy='tool-loop')
    """

    name: str
    tools: tuple[ToolLike, ...] = ()
    """Names as in conditions, functions, and what `tool` makes."""
    wording: str = "implicit"
    """`explicit` spells the constraints out, where the task can."""
    strategy: str = "tool-loop"

    def __post_init__(self) -> None:
        object.__setattr__(self, "tools", tuple(self.tools))


class LocalObjects:
    """The objects that only this process has, as they are named."""

    def __init__(self, objects: Objects = {}) -> None:  # noqa: B006, it is copied
        self.objects: dict[tuple[str, str], object] = dict(objects)

    def family(self, task: Family | Task, samples: Sequence[Sample] = ()) -> str:
        """What names the family, or the task with these samples, in a run."""
        family = family_of(task, samples) if isinstance(task, Task) else task
        if not isinstance(family, Family):
            raise ConfigError(f"a task is a name, a Family or a Task, not {type(task).__name__}")
        return self._named(FAMILIES, family, family.name)

    def model(self, model: ModelLike) -> str:
        """What names the model in a run."""
        if isinstance(model, str):
            return model
        return self._named(MODELS, model, _name_of(model))

    def scorer(self, scorer: ScorerLike) -> str:
        """What names the scorer in a run."""
        return scorer if isinstance(scorer, str) else self._named(SCORERS, scorer, _name_of(scorer))

    def tool(self, tool: ToolLike) -> ToolTraits:
        """What the tool says of itself, and where it is found again."""
        if isinstance(tool, str):
            return plugin_tool(tool, own_call())
        name = tool.traits.name if isinstance(tool, ToolDeclaration) else _name_of(tool)
        entry = TOOLS.entry_of(tool, name)
        declaration: ToolDeclaration = TOOLS.adapted(tool, entry)
        TOOLS.check_free(declaration.traits.name, entry)
        self._hold(TOOLS, declaration, declaration.traits.name, entry.path)
        return declaration.traits.model_copy(update={"path": entry.reference or entry.path})

    def condition(self, condition: Condition) -> schema.Condition:
        offered: list[str] = []
        own_tools: list[ToolTraits] = []
        for tool in condition.tools:
            if isinstance(tool, str) and (tool in ALIASES or tool in tool_names()):
                offered += ALIASES.get(tool, (tool,))
            else:
                own_tools.append(self.tool(tool))
                offered.append(own_tools[-1].name)
        fields = {"wording": condition.wording, "strategy": condition.strategy}
        try:
            return schema.Condition.model_validate(
                {"name": condition.name, "tools": offered, "own_tools": own_tools, **fields}
            )
        except ValidationError as exc:
            raise ConfigError(
                f"condition '{condition.name}': {first_problem(exc.errors())}"
            ) from None

    def conditions(
        self, conditions: Iterable[str | Condition], tools: Iterable[ToolLike]
    ) -> list[str | schema.Condition]:
        """Own conditions as a run stores them; so texts that name one of the tools."""
        by_name: dict[str, ToolTraits] = {}
        for traits in map(self.tool, tools):
            if by_name.setdefault(traits.name, traits) != traits:
                raise ConfigError(f"tool '{traits.name}' is taken twice, by {traits.path}")
        return [
            self.condition(each)
            if isinstance(each, Condition)
            else parse_condition(each, by_name, own_call())
            if by_name.keys() & bare_name(each).split("+")
            else each
            for each in conditions
        ]

    def _named(self, registry: Registry[Any], thing: object, name: str) -> str:
        entry = registry.entry_of(thing, name)
        registry.adapted(thing, entry)
        registry.check_free(name, entry)
        self._hold(registry, thing, name, entry.path)
        return name if entry.path.startswith(OBJECT) else entry.reference or entry.path

    def _hold(self, registry: Registry[Any], thing: object, name: str, path: str) -> None:
        if path.startswith(OBJECT):
            self.objects[registry.kind, name] = thing


def _name_of(thing: Any) -> str:
    return str(getattr(thing, "__name__", type(thing).__name__))


def several(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


OF_THE_RUN = ("limit", "seed", "dataset", "where", "prompt")
"""Options of a run that belong to what is asked; all others are the task's own."""


@dataclass(frozen=True, slots=True)
class TaskOptions:
    """A task and which of its questions are asked; made by `task`."""

    name: str
    keywords: Mapping[str, Any]
    """Those of `run` that it stands for."""
    objects: Objects = field(default_factory=lambda: NO_OBJECTS)
    """The task itself, where no name finds it."""

    def samples(self) -> tuple[Sample, ...]:
        """The questions with their gold answers, as a run would ask them.

        Examples:
            >>> import agent_env as ae
            >>> [sample.id for sample in ae.task("time-puzzles", limit=2).samples()]
            ['tp-1-00001', 'tp-1-00002']
        """
        from agent_env.runs.planning.questions import samples_of

        options = from_arguments(RunOptions, self.keywords, "task")
        return samples_of(replace(options, objects=self.objects)).samples

    def __repr__(self) -> str:
        arguments = [f"{k}={v!r}" for k, v in self.keywords.items() if k not in ("task", "options")]
        return f"task({', '.join([repr(self.name), *arguments, *self.keywords['options']])})"


def task(
    name: str | Family | Task, /, *, samples: Sequence[Sample] = (), **options: Any
) -> TaskOptions:
    """The task of this name, to be run by `run`: a built-in or installed one, MODULE:NAME,
    file.py:NAME, a Family, or a Task with its `samples`.

    `limit`, `seed`, `dataset`, `where` and `prompt` say which questions and in which words; all
    others are options of the task, which `agent-env run TASK --help` lists.

    Examples:
        >>> import agent_env as ae
        >>> ae.task("time-puzzles", limit=50, facts="5-6")
        task('time-puzzles', limit=50, facts=5-6)
        >>> ae.task("time-puzzles", limit=0)
        Traceback (most recent call last):
        agent_env.errors.ConfigError: limit=0: must be greater than or equal to 1
    """
    from agent_env.tasks.family import option_texts
    from agent_env.wiring.registry import load_family

    of_run = {key: value for key, value in options.items() if key in OF_THE_RUN}
    of_task = {key: value for key, value in options.items() if key not in OF_THE_RUN}
    texts = option_texts(of_task)
    local = LocalObjects()
    if samples:
        of_run.setdefault("limit", len(samples))
    text = name if isinstance(name, str) else local.family(name, samples)
    if (asked := RunOptions(text)).dataset is not None:
        text, of_run["dataset"] = asked.task, asked.dataset
    load_family(text, own_plugins(local.objects)).read_options(texts)
    keywords = {"task": text, **of_run, "options": texts}
    from_arguments(RunOptions, keywords, "task")
    return TaskOptions(text, keywords, local.objects)
