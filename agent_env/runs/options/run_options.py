"""Options of `run`, `resume`, `replay` and `fork`.

Each option is declared once, here or in the record of its part of a run; `records.options` derives
command line, manifest entries and docs from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import JsonValue

from agent_env.episodes.calls.budget import RunLimits
from agent_env.episodes.calls.options import CallOptions
from agent_env.errors import ConfigError
from agent_env.models.addresses import base_urls, key_variables, with_variable
from agent_env.models.settings import ModelParameters
from agent_env.permits import Permit
from agent_env.protocols import Limits
from agent_env.records.manifest import Manifest, StudyUse
from agent_env.records.options import (
    RUNNING,
    SERVER,
    WHAT,
    WORDS,
    Opt,
    Option,
    OptionGroup,
    OptionGroups,
)
from agent_env.records.reach import Reach, reach_at
from agent_env.records.schema import Condition
from agent_env.registry import NO_OBJECTS, Objects, Plugins
from agent_env.tasks.features import features, server_with
from agent_env.tasks.sample_files import TABLES, task_in
from agent_env.wiring.trust import own_call
from agent_env.wiring.web import WebOptions

OWN_QUESTIONS = "qa"
"""The task of files that are no samples of another."""
Source = Literal["recorded", "live"]
PreflightWish = Literal["off", "on", "anyway"]
"""`anyway` runs invalid conditions too and marks them."""
ApiKeyEnv = Annotated[
    str | None,
    Opt("The environment variable with the key of the model's server.", metavar="NAME"),
]
TrustRun = Annotated[
    bool,
    Opt(
        "Allow a run that was not made here to use what it lists: servers, hosts, files outside "
        "its folder, code without a sandbox."
    ),
]


def _options_of_features() -> Mapping[str, type]:
    return {each.name: each.options for each in features() if each.options is not None}


def _clash(option: Option, first: str | None, second: str) -> ConfigError:
    by = "agent-env" if first is None else f"the feature {first}"
    return ConfigError(
        f"the option --{option.keyword.replace('_', '-')} is taken twice: by {by} and by the "
        f"feature {second}; uninstall one of them"
    )


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of a run."""

    task: Annotated[
        str,
        Opt(
            "time-puzzles, tdbench, tempreason, timeqa, traveler, temp-answers, qa, or file.py:NAME"
            " of your own; or a file of questions.",
            metavar="TASK",
            manifest="task",
            argument=True,
        ),
    ]
    model: Annotated[
        str,
        Opt(
            "openai/NAME, anthropic/NAME, google/NAME, compatible/NAME@URL, a server's address, "
            "local (a small packaged model), local/FILE.gguf, file.py:NAME of a function that "
            "answers; or a script: reference (the default), and others that agent-env list models "
            "has. Repeatable: each gets a run of its own below --out.",
            WHAT,
            manifest="model",
            resume=True,
            fork=True,
        ),
    ] = "reference"
    conditions: Annotated[
        tuple[str | Condition, ...],
        Opt(
            "What the model gets, joined by +: base (the question alone), web, python, cal, "
            "events, sql, mcp:NAME, file.py:NAME, cited (the pages), facts (what they say), "
            "explicit (all dates); or ladder, all between. Behind ~ how: web~schema. Repeatable.",
            WHAT,
            "--condition",
            manifest="conditions",
            fork=True,
            typed=list[str],
            default=None,
            reach=Reach.CODE,
        ),
    ] = ()
    """Names; empty for the task's own that can run here."""
    cited_from: Annotated[
        tuple[str, ...],
        Opt(
            "What `web context build` wrote, for cited or cited:NAME. Repeatable.",
            WHAT,
            metavar="[NAME=]FILE",
            manifest="contexts",
            reach=Reach.FILE,
        ),
    ] = ()
    limit: Annotated[int | None, Opt("How many questions.", WHAT, min=1, manifest="samples")] = None
    seed: Annotated[int, Opt("Seed of the generated samples.", WHAT, min=0, manifest="seed")] = 1
    dataset: Annotated[
        Path | None,
        Opt("A file of questions to ask instead.", WHAT, manifest="dataset", reach=Reach.FILE),
    ] = None
    out: Annotated[
        Path | None, Opt("The run's folder; default: runs/…", RUNNING, reach=Reach.FILE)
    ] = None
    concurrency: Annotated[
        int,
        Opt("Episodes at the same time.", RUNNING, min=1, manifest="concurrency", resume=True),
    ] = 8
    repeats: Annotated[
        int,
        Opt("How often each question is asked.", WHAT, min=1, manifest="repeats", fork=True),
    ] = 1
    where: Annotated[
        tuple[str, ...],
        Opt("Only samples whose FIELD is A or B: FIELD=A,B. Repeatable.", WHAT, manifest="where"),
    ] = ()
    prompt: Annotated[
        str,
        Opt(
            "default, paper, or a file of your own with {constraints} in it.",
            WORDS,
            manifest="prompt",
            reach=Reach.FILE,
        ),
    ] = "default"
    options: Annotated[
        tuple[str, ...],
        Opt(
            "An option of the task: KEY=VALUE. Repeatable.",
            WHAT,
            "--option",
            manifest="options",
            reach=Reach.FILE,
        ),
    ] = ()
    difficulty: Annotated[
        str | None,
        Opt(
            "easy (for models of up to 3 billion parameters), paper (the default) or hard: "
            "options of the task under a name; an --option overrides them.",
            WHAT,
            manifest="tier",
            reach=Reach.NOTHING,
        ),
    ] = None
    scorer: Annotated[
        str | None,
        Opt(
            "Another scorer than the task's: authors (the rules that the paper's authors "
            "published), an installed one, MODULE:NAME or file.py:NAME.",
            WHAT,
            manifest="scorer",
        ),
    ] = None
    metrics: Annotated[
        tuple[str, ...],
        Opt(
            "A metric beside the scorer's: an installed one, MODULE:NAME or file.py:NAME. "
            "Repeatable.",
            WHAT,
            "--metric",
            manifest="metrics",
        ),
    ] = ()
    base_url: Annotated[
        str | None,
        Opt(
            "Address of the server of compatible/ models, such as http://127.0.0.1:8000/v1",
            SERVER,
            manifest="model_parameters.base_url",
            resume=True,
            fork=True,
        ),
    ] = None
    """Of compatible/ models that have no URL of their own."""
    api_key_envs: Annotated[
        tuple[str, ...],
        Opt(
            "The environment variable with a model's key, such as compatible/x=X_KEY. Repeatable.",
            SERVER,
            "--api-key-env",
            metavar="[MODEL=]NAME",
            shown="OPENAI_API_KEY, COMPATIBLE_API_KEY",
            resume=True,
            fork=True,
            reach=Reach.KEY,
        ),
    ] = ()
    sandbox: Annotated[
        str,
        Opt(
            "Where code runs: auto or a backend that doctor lists.",
            RUNNING,
            manifest="sandbox",
            fork=True,
        ),
    ] = "auto"
    tokenizer: Annotated[
        str,
        Opt(
            "Counts tokens that the server does not report: estimate, o200k_base, cl100k_base, or "
            "server: the model's own (vLLM, llama.cpp).",
            RUNNING,
            manifest="tokenizer",
        ),
    ] = "estimate"
    web: WebOptions = field(default_factory=WebOptions)
    parameters: Annotated[
        Mapping[str, JsonValue], OptionGroup(ModelParameters, manifest="model_parameters")
    ] = field(default_factory=dict)
    """Parameters of the model, by the names in ModelParameters."""
    strategy: Annotated[
        str | None,
        Opt(
            "tool-loop (zero-shot), cot, few-shot, one-round; agent-env docs tempreason has more.",
            WORDS,
            manifest="conditions",
            reach=Reach.CODE,
        ),
    ] = None
    """For all conditions; None for each condition's own."""
    system: Annotated[
        Path | None,
        Opt(
            "A file with a system text before everything else.",
            WORDS,
            manifest="system_file",
            reach=Reach.FILE,
        ),
    ] = None
    first_steps: Annotated[
        tuple[str, ...],
        Opt(
            "Must (required, the default), may (auto) or must not (none) the first step call "
            "a tool? Such as web=none. both: as two conditions, web and web~auto. Repeatable.",
            WORDS,
            "--first-step",
            metavar="[CONDITION=]CHOICE",
            manifest="conditions",
            reach=Reach.NOTHING,
        ),
    ] = ()
    answer_formats: Annotated[
        tuple[str, ...],
        Opt(
            "schema: the server holds the final answer (in the text protocol also tool calls) to a "
            "JSON schema. schema-last: in a further reply, after a free one. free (default) with "
            "schema: each condition both ways, as web and web~schema. Repeatable.",
            WORDS,
            "--answer-format",
            metavar="FORMAT",
            manifest="conditions",
            reach=Reach.NOTHING,
        ),
    ] = ()
    features: Annotated[Mapping[str, Any], OptionGroups(_options_of_features, _clash)] = field(
        default_factory=dict
    )
    """Options of features, by the features' names; those that are given."""
    limits: Annotated[Mapping[str, Any], OptionGroup(Limits, manifest="limits")] = field(
        default_factory=dict
    )
    """Limits of an episode that override the task's, by the names in protocols.Limits."""
    calls: CallOptions = field(default_factory=CallOptions)
    objects: Objects = field(default_factory=lambda: NO_OBJECTS)
    """Plug-ins that only this process has; `task`, `model` and conditions may name them."""
    preflight: PreflightWish = "off"
    """Whether the server is tested before the first episode."""
    study: StudyUse | None = None
    """The study that asks for the run."""
    permit: Permit = field(default_factory=own_call, compare=False, repr=False)
    """What may be reached; a study file that somebody sent may not say what it likes."""

    def __post_init__(self) -> None:
        """Where a file stands for the task, its questions are asked: as the task that its samples
        name, else as a table of one's own."""
        file = Path(self.task)
        if file.suffix.lower() not in TABLES:
            return
        if self.dataset is not None:
            raise ConfigError(f"{file} and --dataset {self.dataset} both name questions; drop one")
        self.permit.check(Reach.FILE, str(file))
        object.__setattr__(self, "task", task_in(file) or OWN_QUESTIONS)
        object.__setattr__(self, "dataset", file)

    def addressed(self, models: Sequence[str]) -> list[RunOptions]:
        """The options for each model, with its own URL and key variable."""
        urls: Mapping[str, str | None] = base_urls(models, self.base_url)
        asked = {each: url for each, url in urls.items() if server_with(each) is None}
        variables = key_variables(asked, self.api_key_envs)
        for feature in features():
            if feature.addresses is not None and feature.name in self.features:
                urls = feature.addresses(self.features[feature.name], urls)
        return [
            replace(
                self,
                model=model,
                base_url=urls[model],
                api_key_envs=(),
                parameters=with_variable(self.parameters, variables.get(model)),
            )
            for model in models
        ]

    @property
    def plugins(self) -> Plugins:
        """What finds the plug-ins that these options name."""
        return Plugins(objects=self.objects, permit=self.permit, from_user=True)

    @property
    def web_mode(self) -> str:
        """The web's mode, or `hosted` where the provider's own tools stand for ours."""
        return "hosted" if self.parameters.get("hosted_tools") is True else self.web.mode

    @property
    def condition_names(self) -> tuple[str, ...]:
        """The conditions as the user names them."""
        return tuple(each if isinstance(each, str) else each.name for each in self.conditions)


@dataclass(frozen=True, slots=True)
class ResumeOptions:
    """Options of `resume`; None for unchanged settings."""

    concurrency: Annotated[int | None, Opt("Episodes at once.", min=1)] = None
    run: RunLimits = field(default_factory=RunLimits)
    """Other limits of the whole run."""
    accept_changes: Annotated[bool, Opt("Continue although code, model or limits changed.")] = False
    model: Annotated[str | None, Opt("Another model from here on.")] = None
    base_url: Annotated[str | None, Opt("The new address of the model's server.")] = None
    """New URL of the same server, which gets its own provider fields back."""
    api_key_env: ApiKeyEnv = None
    changes: Annotated[Mapping[str, Any], OptionGroup(RunOptions, only="resume", by_entry=True)] = (
        field(default_factory=dict)
    )
    """Other options of the run that `resume` may change, by their entries in run.json."""
    anyway: Annotated[bool, Opt("Continue although the new server drops the tools.")] = False
    """Whether another server may drop the tools of the conditions."""
    trust_run: TrustRun = False
    """Whether a folder that this user did not make may reach outside itself."""


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """Options of `replay`."""

    strict: Annotated[
        bool,
        Opt(
            "Continue after a difference, and report all of them.",
            flag="--lenient",
            default=False,
            read=lambda is_lenient: not is_lenient,
        ),
    ] = True
    tools_live: Annotated[
        bool,
        Opt(
            "live runs the tools anew.",
            flag="--tools",
            typed=Source,
            default="recorded",
            read=lambda source: source == "live",
        ),
    ] = False
    model_live: Annotated[
        bool,
        Opt(
            "live asks the model anew.",
            flag="--model",
            typed=Source,
            default="recorded",
            read=lambda source: source == "live",
        ),
    ] = False
    out: Annotated[Path | None, Opt("With a live model: its traces; default: RUN/replays/…")] = None
    """Where the traces of a live model go; None: RUN/replays/TIME."""
    trust_run: TrustRun = False
    """As for `resume`; recorded parts need no trust."""


@dataclass(frozen=True, slots=True)
class ForkOptions:
    """Options of `fork`; None for the parent's settings."""

    at: Annotated[int, Opt("The last step to keep; 0: only the prompt.", min=0)]
    """The last step to keep; 0 keeps the prompt alone."""
    out: Annotated[
        Path | None, Opt("The folder of the forks' run; default: RUN/forks/… of their parent.")
    ] = None
    repeats: Annotated[int, Opt("How many forks.", min=1)] = 1
    model: Annotated[str | None, Opt("Another model from there on.")] = None
    base_url: Annotated[str | None, Opt("Of the model's server.")] = None
    api_key_env: ApiKeyEnv = None
    condition: Annotated[str | None, Opt("Other tools from there on.")] = None
    edit: Annotated[
        Path | Mapping[str, str] | None,
        Opt(
            "Another result for step K's call: a text, or JSON {call id: text}.",
            typed=Path | None,
        ),
    ] = None
    """New tool results for that step."""
    sandbox: Annotated[str, Opt("Where code runs, if the parent ran none.")] = "auto"
    changes: Annotated[Mapping[str, Any], OptionGroup(RunOptions, only="fork", by_entry=True)] = (
        field(default_factory=dict)
    )
    """Other options of the run that `fork` may change, by their entries in run.json."""
    trust_run: TrustRun = False
    """As for `resume`."""


def reach_of(option: Option) -> Reach | None:
    """What an option of `run` can reach: what it says, or what its place in run.json does."""
    if option.opt.reach is not None or option.manifest is None:
        return option.opt.reach
    return reach_at(Manifest, option.manifest)


def with_changes(manifest: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The whole entries of run.json after these changes; ConfigError for one of a feature that it
    was not made with."""
    fields: dict[str, Any] = {}
    for place, value in changes.items():
        entry, *names = place.split(".")
        if entry == "features" and names[0] not in (manifest.get(entry) or {}):
            raise ConfigError(
                f"--{names[-1].replace('_', '-')} is of runs with the feature '{names[0]}', and "
                "this is none; leave it out"
            )
        fields[entry] = _put(fields.get(entry, manifest.get(entry)), names, value)
    return fields


def _put(entry: Any, names: Sequence[str], value: Any) -> Any:
    if not names:
        return value
    return {**(entry or {}), names[0]: _put((entry or {}).get(names[0]), names[1:], value)}
