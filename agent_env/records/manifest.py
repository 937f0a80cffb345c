"""run.json: what determined a run."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, JsonValue, field_validator

from agent_env.records.imported import ImportSource
from agent_env.records.reach import Address, ByName, Code, Host, OutsideFile, Plain, Reach
from agent_env.records.schema import Condition, ModelFacts, Stored, Usage
from agent_env.records.texts import IN_TEXT, is_time
from agent_env.records.tier import Tier
from agent_env.records.trace_events import Parent

RUN_VERSION = 3
"""Of the form of run.json."""
Undated = Literal["withhold", "count", "serve"]


class ContextUse(Stored):
    """Where the cited pages of a run's conditions come from."""

    name: Plain[str]
    """`cited` or `cited:NAME`, as in the conditions."""
    file: Plain[str] = Field(pattern=r"^contexts/[A-Za-z0-9][A-Za-z0-9._-]{0,99}\.jsonl$")
    """The copy in the run's folder."""
    digest: Plain[str]
    """SHA-256 of the file."""
    source_run: Plain[str]
    source_model: Plain[str]
    source_condition: Plain[str]
    kinds: Plain[tuple[str, ...]]
    budget: Plain[int]
    tokenizer: Plain[str]
    samples: Plain[int]
    """Samples asked."""
    empty: Plain[int]
    """Those of them for which there is no page."""


class WebSettings(Stored):
    """How a run reaches the web, where it is asked to; no secret."""

    search: Code[str | None] = None
    """The search provider; None where the web brings its own."""
    fetcher: Code[str | None] = Field(default=None, exclude_if=lambda name: name is None)
    """What opens pages, where it is not our own for the web of today."""
    fetcher_url: Address[str | None] = Field(default=None, exclude_if=lambda url: url is None)
    """Its TimeGate or API, where that was given."""
    search_url: Address[str | None] = None
    """Its base URL, where it was given."""
    pages: OutsideFile[str | None] = None
    """The page store's file; None for pages.db in the run's folder."""
    pages_digest: Plain[str | None] = None
    """Digest of what the store holds: sealed and frozen at the start, record after the run."""
    index: Plain[str | None] = None
    """What searched the stored pages, fts5 or tantivy: they rank alike, not the same. None where
    the web brings its own search."""
    as_of: Plain[str | None] = None
    """Pages dated later than this day are hidden; stored ones are read as of this day."""
    undated: Plain[Undated | None] = Field(default=None, exclude_if=lambda value: value is None)
    """What is done with pages without a date; None without `as_of`."""
    block_leaks: Plain[bool] = False
    """Whether pages that hold the question or its answer are kept from the model."""
    obey_robots: Host[bool] = True
    allow_hosts: Host[tuple[str, ...]] = ()
    """HOST:PORT that may be reached though they are not on the public internet."""


class TextFile(Stored):
    """A text of the user's that a run was made with."""

    name: Plain[str]
    """The file's name, without its folder."""
    digest: Plain[str]
    """SHA-256 of the text in UTF-8."""
    text: Plain[str]


class Probe(Stored):
    """One short call of a preflight."""

    is_held: Plain[bool] = Field(default=False, exclude_if=lambda value: not value)
    """Whether the call is a text that a schema holds, as native tools gave none."""
    protocol: Plain[str | None] = Field(default=None, exclude_if=lambda name: name is None)
    """The tool protocol that `auto` tried by it; None for the run's own."""
    tools: Plain[tuple[str, ...]] = ()
    """Names of the tools offered."""
    tool_choice: Plain[Literal["auto", "required", "none"]] = "auto"
    served_model: Plain[str | None] = None
    """The model as the server names it."""
    usage: Usage = Usage()
    """Tokens as far as somebody counted them."""
    charged: Usage | None = None
    """What the run's limits count instead, where nobody did: letters / 4."""
    calls: Plain[tuple[str, ...]] = ()
    """Names of the tools that the reply calls."""
    call_in_text: Plain[str | None] = None
    """The form of a call that is in the reply's text."""
    finish_reason: Plain[str | None] = None
    latency_s: Plain[float | None] = None
    """Seconds to the whole reply."""
    error: Plain[str | None] = None
    """Why there was no reply."""
    error_kind: Plain[str | None] = None
    """The error's class; see errors.ModelErrorKind."""


class ToolCheck(Stored):
    """What a preflight tells of one condition with tools; None is unknown."""

    condition: Plain[str]
    added_input_tokens: Plain[int | None] = None
    """Input tokens of the call with tools, less those of the same call without."""
    is_reached: Plain[bool | None] = None
    """Whether the tools reach the model."""
    required_obeyed: Plain[bool | None] = None
    """Whether a call came where one was required."""
    calls_parsed: Plain[bool | None] = None
    """Whether the model's call arrives as a call, and not as text."""
    problem: Plain[str | None] = None
    """Why the condition cannot mean anything; None where it can, as far as is known."""


class ContextCheck(Stored):
    """Whether the requests of a condition fit into the context; tokens are letters / 4."""

    condition: Plain[str]
    first_tokens: Plain[int]
    """Of the first request, tools and cited pages included: mean over samples."""
    needed_tokens: Plain[int]
    """Of the longest first request, with a window of a page where the condition has the web, and a
    short reply."""
    fits: Plain[bool | None] = None
    """None where the context is unknown."""


class ProtocolChoice(Stored):
    """The tool protocol that a preflight took for the run."""

    name: Plain[Literal["native", "text", "schema"]]
    reason: Plain[str]
    """What each protocol that was tried gave."""


class Preflight(Stored):
    """What short calls before the first episode told of the server; None is unknown."""

    at: Plain[str]
    """ISO 8601, UTC."""
    model: Plain[str]
    """As asked for."""
    base_url: Plain[str | None] = None
    served_model: Plain[str | None] = None
    """The model that answers, as the server names it."""
    listed_models: Plain[tuple[str, ...] | None] = None
    """What the server's list of models has, at most 100 names."""
    context_tokens: Plain[int | None] = None
    """The context of one request."""
    template_digest: Plain[str | None] = None
    """SHA-256 of the chat template, where the server shows it."""
    supports_tools: Plain[bool | None] = None
    """Whether the chat template knows tools, where the server says so."""
    tells_usage: Plain[bool | None] = None
    stops: Plain[bool | None] = None
    """Whether the reply to the call without tools ended within the limit."""
    contexts: tuple[ContextCheck, ...] = ()
    probes: tuple[Probe, ...] = ()
    protocol: ProtocolChoice | None = Field(default=None, exclude_if=lambda it: it is None)
    """What `--tool-protocol auto` took; None where the user named one."""
    conditions: tuple[ToolCheck, ...] = ()
    """Those that offer tools."""
    repeats_replies: Plain[bool | None] = None
    """Whether two equal requests got equal replies; not asked at another temperature than 0
    without a seed."""
    problem: Plain[str | None] = None
    """Why no condition means what its name says: another model answers."""


class PluginUse(Stored):
    """Something that a run used and that is not built in."""

    kind: Plain[str]
    """Such as `family` or `tool`."""
    name: Plain[str]
    """As in the run's conditions, tables and other entries."""
    reference: Code[str]
    """What finds it: the name of an entry point, MODULE:NAME, or FILE.py:NAME."""
    package: Plain[str | None] = None
    """The distribution; None for a file, and for a module of no installed package."""
    version: Plain[str | None] = None
    digest: Plain[str | None] = None
    """Of the sources of its package, or of the file; twelve hexadecimal digits."""

    def __str__(self) -> str:
        """For users."""
        parts = (self.package or self.reference, self.version, self.digest)
        return " ".join(part for part in parts if part)


class StudyUse(Stored):
    """The study that a run belongs to."""

    name: Plain[str]
    digest: Plain[str]
    """SHA-256 of study.toml when the run was made."""


SMALL_CONTEXT = 12_000
"""Tokens; a larger context has room for the windows of pages as they are."""
_OF_REQUESTS = (
    "reply_timeout_s", "idle_s", "tool_protocol", "text_calls", "tool_texts", "repair_calls",
    "stream", "echo_reasoning", "temperature", "reasoning_effort", "max_output_tokens", "top_p",
    "seed", "system_role",
)  # fmt: skip
PARAMETERS = ByName(
    {
        **dict.fromkeys(_OF_REQUESTS, Reach.NOTHING),
        "base_url": Reach.ADDRESS,
        "api_key_env": Reach.KEY,
        "extra_body": Reach.MONEY,
        "hosted_tools": Reach.MONEY,
        "service_tier": Reach.MONEY,
    },
    others=Reach.ADDRESS,
)
"""Of a model; a name that we do not know counts as what a parameter can be at worst."""
_FILES = (
    "facts_table", "vocabulary", "events", "curves", "intervals", "tables", "templates", "aliases",
)  # fmt: skip
OPTIONS = ByName(dict.fromkeys(_FILES, Reach.FILE), others=Reach.NOTHING)
"""Of a family; one that is not ours is code, and can do anything."""


class Manifest(Stored):
    """run.json: everything that determined a run; no secret. A field that is not known is refused:
    what it says of the run would be lost."""

    model_config = ConfigDict(extra="forbid")

    v: Plain[int] = RUN_VERSION
    id: Plain[str | None] = None
    """Identity of the run; its traces bear it."""
    task: Code[str]
    model: Code[str]
    model_parameters: Annotated[dict[str, JsonValue], PARAMETERS] = Field(default_factory=dict)
    """What the model was made with, its base URL included, its key never."""
    not_known: Plain[tuple[str, ...]] = Field(default=(), exclude_if=lambda texts: not texts)
    """What nobody can know of the model's calls, as they go through another library."""
    former_urls: Plain[tuple[str, ...]] = ()
    """Where the model's server was before the run was gone on with elsewhere; what it said goes
    back to it."""
    conditions: tuple[Condition, ...] = Field(min_length=1)
    repeats: Plain[int]
    limits: Plain[dict[str, bool | float | int | dict[str, int] | None]]
    """Of one episode."""
    run_limits: Plain[dict[str, float | int | None]] = Field(default_factory=dict)
    """Of the whole run, its resumed parts included."""
    retries: Plain[dict[str, float | int | None]] = Field(default_factory=dict)
    """How failed model calls are tried again, and after how many failures the run stops."""
    reply_cache: OutsideFile[str | None] = None
    """Path of the reply cache; None where there is none."""
    model_facts: ModelFacts | None = None
    """The model's row of the price table."""
    prompt: Plain[str]
    """Name of the prompt."""
    options: Annotated[dict[str, JsonValue], OPTIONS] = Field(default_factory=dict)
    """The family's options."""
    tier: Tier | None = Field(default=None, exclude_if=lambda value: value is None)
    """The level of difficulty that was asked for; its options are among `options`."""
    scorer: Code[str | None] = Field(default=None, exclude_if=lambda name: name is None)
    """A plugged-in scorer; None for the family's own."""
    metrics: Code[tuple[str, ...]] = Field(default=(), exclude_if=lambda names: not names)
    """Plugged-in metrics beside the scorer's."""
    prompt_file: TextFile | None = None
    """The user's own template instead of it."""
    system_file: TextFile | None = None
    """The system text before everything else."""
    seed: Plain[int | None]
    """Seed of the generated samples; None where they came from a file."""
    dataset: Plain[str | None] = None
    """Name of the file that the samples came from."""
    where: Plain[tuple[str, ...]] = ()
    """Filters as given."""
    samples: Plain[int]
    samples_digest: Plain[str]
    left_out: Plain[dict[str, str]] = Field(
        default_factory=dict, exclude_if=lambda names: not names
    )
    """Samples that not every condition could ask, with the reason; asked under none."""
    materials_digest: Plain[str | None] = None
    """Of materials.jsonl; None where the samples name no table."""
    sandbox: Code[str | None] = None
    """Backend in which code ran; None where no condition runs code."""
    web: Host[str | None] = None
    """sealed, live, record or frozen; None where no condition has the web."""
    web_settings: WebSettings = WebSettings()
    contexts: tuple[ContextUse, ...] = ()
    """The cited pages that conditions are given."""
    tokenizer: Plain[str] = "estimate"
    """Counts what tools add to the context."""
    concurrency: Plain[int]
    versions: Plain[dict[str, str]]
    plugins: tuple[PluginUse, ...] = Field(default=(), exclude_if=lambda uses: not uses)
    """What was plugged in."""
    created_at: Plain[str]
    """ISO 8601 with its offset; empty where the run was never begun."""
    parent: Parent | None = None
    """The episode that this run forks."""
    calls_tier: Plain[str | None] = Field(default=None, exclude_if=lambda tier: tier is None)
    """The service tier of its calls, where no parameter of the model says it."""
    study: StudyUse | None = Field(default=None, exclude_if=lambda use: use is None)
    """The study that asked for it."""
    features: Plain[dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,39}$")], JsonValue]] = (
        Field(default_factory=dict, exclude_if=lambda settings: not settings)
    )
    """Settings of the features that it was made with, by the features' names; what each field
    reaches, the feature's own record says."""
    imported: ImportSource | None = Field(default=None, exclude_if=lambda source: source is None)
    """The log of another tool that the run was imported from; None for a run of our own."""
    changes: Plain[tuple[str, ...]] = ()
    """What was accepted as changed when the run was resumed, with the time."""
    preflights: tuple[Preflight, ...] = ()
    """One before the first episode, and one more for each other server of a resumed run."""

    @field_validator("v")
    @classmethod
    def _version(cls, version: int) -> int:
        if version != RUN_VERSION:
            raise ValueError(f"version {version}; this agent-env reads version {RUN_VERSION}")
        return version

    @field_validator("created_at")
    @classmethod
    def _time(cls, text: str) -> str:
        if text and not is_time(text):
            raise ValueError("it is not a time in ISO 8601 with its offset")
        return text

    def as_bytes(self) -> bytes:
        """run.json."""
        return (self.model_dump_json(indent=2) + "\n").encode()

    @property
    def is_script(self) -> bool:
        """Whether a script of ours answered, and no model."""
        is_plugged_in = any(use.kind == "model" for use in self.plugins)
        is_named = any(mark in self.model for mark in "/:")
        return not (is_plugged_in or is_named or self.imported is not None)

    @property
    def planned_episodes(self) -> int:
        """Of all conditions."""
        return self.samples * len(self.conditions) * self.repeats

    @property
    def served_model(self) -> str | None:
        """The model that answered the last preflight, as the server names it."""
        return self.preflights[-1].served_model if self.preflights else None

    @property
    def is_in_text(self) -> bool:
        """Whether tools are offered in text."""
        return self.model_parameters.get("tool_protocol") in IN_TEXT

    @property
    def has_short_texts(self) -> bool:
        """Whether tools are described in the short form."""
        return self.model_parameters.get("tool_texts") == "short"

    @property
    def page_window(self) -> int | None:
        """Characters of a page that are read at once: half a character for each token of a small
        context, so that page and conversation fit; None for the tool's own number."""
        context = self.preflights[-1].context_tokens if self.preflights else None
        small = self.has_short_texts and context is not None and context < SMALL_CONTEXT
        return context // 2 if small and context is not None else None

    @property
    def problems(self) -> dict[str, str]:
        """By condition, why it cannot mean anything; empty where nothing is known of that."""
        problems: dict[str, str] = {}
        for preflight in self.preflights:
            for check in preflight.conditions:
                if check.problem is not None:
                    problems[check.condition] = check.problem
            if preflight.problem is not None:
                problems |= dict.fromkeys((c.name for c in self.conditions), preflight.problem)
        return problems
