"""Builds the concrete objects of a run and of each episode."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_env.episodes.disturbances import disturbances
from agent_env.errors import ConfigError, DatasetError
from agent_env.protocols import Supplies
from agent_env.records.manifest import Manifest, WebSettings
from agent_env.records.schema import Condition, MaterialTable, Sample
from agent_env.registry import NO_PLUGINS, Plugins
from agent_env.tasks.features import (
    Feature,
    OpenSource,
    SourceOfEpisode,
    features,
    settings_of_features,
)
from agent_env.wiring.models import open_counted
from agent_env.wiring.sandboxes import choose_sandbox

if TYPE_CHECKING:
    from agent_env.episodes.run_folder import RunFolder
    from agent_env.episodes.runner import Seams
    from agent_env.graph.loop import Loop
    from agent_env.models.tokenizers import ServerTokenizer
    from agent_env.protocols import Model, Sandbox, SandboxBackend, Strategy, Tokenizer, Tool
    from agent_env.records.tool_traits import ToolTraits
    from agent_env.tasks.contexts import Contexts
    from agent_env.tasks.task import Prompt, Task
    from agent_env.web.opened import Web

PACKAGES = ("agent-env", "langgraph", "openai", "pydantic", "sxtwl", "tiktoken")
EXCLUDED = ("analysis/", "cli/", "pytest_plugin.py", "scoring/", "testing/")
"""Sources that change no episode: they read recorded data, or only tests use them."""
MARK = b"\nREADS_RECORDED = True\n"
"""In `__init__.py` of a folder of features, it says the same of that folder."""
HOSTED_WEB = "hosted"
"""A manifest's web where the provider searches it."""
CALL_TIMEOUT_S = 30.0


@cache
def versions() -> dict[str, str]:
    """Versions of the packages that a result depends on; nobody changes it."""
    result = {}
    for package in PACKAGES:
        try:
            result[package] = version(package)
        except PackageNotFoundError:
            result[package] = "unknown"
    return result | {"code": _code_digest()}


@cache
def _code_digest() -> str:
    """Digest of the sources that decide what an episode sends and gets; twelve hexadecimal
    digits."""
    whole = sha256()
    for name, data in deciding_sources().items():
        whole.update(name.encode() + b"\0" + data)
    return whole.hexdigest()[:12]


def deciding_sources() -> dict[str, bytes]:
    """All sources of the package but those EXCLUDED or in a folder with the MARK."""
    root = Path(__file__).parents[1]
    sources = {file.relative_to(root): file.read_bytes() for file in sorted(root.rglob("*.py"))}
    marked = {file.parent for file, data in sources.items() if MARK in data}
    return {
        name: data
        for file, data in sources.items()
        if not (name := file.as_posix()).startswith(EXCLUDED) and marked.isdisjoint(file.parents)
    }


@dataclass(frozen=True, slots=True)
class Parts:
    """Objects made to check a run before it began, for use in it; None: still to be made."""

    model: tuple[Model, Tokenizer | ServerTokenizer] | None = None
    """The model and its token counter; closed by whoever made them."""
    sandbox: SandboxBackend | None = None
    """Probed, not opened yet."""


@dataclass(frozen=True, slots=True)
class RunComponents:
    """What all episodes of a run share."""

    task: Task
    model: Model
    web: Web | None
    web_settings: WebSettings
    sandbox: SandboxBackend | None
    tokenizer: Tokenizer | ServerTokenizer
    """Counts tokens where the server reports none."""
    contexts: Mapping[str, Contexts] = field(default_factory=dict)
    """Cited pages by name: `cited` or `cited:NAME`."""
    calls_in_text: bool = False
    """Whether the text of a reply holds its calls, as in the text protocol."""
    is_short: bool = False
    """Whether tools are described in the short form."""
    window: int | None = None
    """Characters of a page that are read at once, by the model's context; None for the tool's."""
    hosted: bool = False
    """Whether the provider's own tools stand for ours, where it has some."""
    materials: Mapping[str, MaterialTable] = field(default_factory=dict)
    """The tables that samples name, by digest."""
    features: tuple[tuple[Feature, Any], ...] = ()
    """Those that the run was made with, and what it records of each."""
    plugins: Plugins = NO_PLUGINS
    sources: Mapping[str, OpenSource] = field(default_factory=dict)
    """Those of tools that features bring, by how parts of conditions begin."""
    logs: Path = Path("agents")
    """What agents of others print goes there."""

    @asynccontextmanager
    async def open_seams(self, sample: Sample, condition: Condition) -> AsyncIterator[Seams]:
        """The concrete objects of one episode."""
        from agent_env.episodes.runner import Seams
        from agent_env.models.text_protocol import SchemaModel
        from agent_env.models.tokenizers import CountedModel
        from agent_env.protocols import Tokenizer
        from agent_env.tasks.answer_forms import LAST
        from agent_env.tools.toolbox import ToolSet

        async with AsyncExitStack() as stack:
            sources = {
                prefix: await stack.enter_async_context(source.episode())
                for prefix, source in self.sources.items()
            }
            from agent_env.tasks.tool_registry import traits_of

            offered = {
                (traits.hosted or traits.name) if self.hosted else traits.name: traits
                for traits in reversed(traits_of(condition))
            }
            opened = [
                _sourced(traits, sources)
                if traits.source is not None
                else await self._tool(traits, sample, condition, stack)
                for traits in list(reversed(offered.values()))
            ]
            tools = [tool for tool in opened if tool is not None]
            faults = None
            if condition.disturbance is not None:
                faults = disturbances().faults(condition.disturbance)
            if faults is not None:
                tools = [faults.tool(tool) for tool in tools]
            model = self.model
            tokenizer = self.tokenizer if isinstance(self.tokenizer, Tokenizer) else None
            if (
                tokenizer is not None and tokenizer.name != "estimate"
            ):  # a mere estimate stays unknown
                model = CountedModel(model, tokenizer, self.calls_in_text)
            if (form := self.task.form_under(condition, sample)) is not None:
                is_last = condition.answer_format == "schema-last"
                model = SchemaModel(model, form.schema, LAST, is_last, self.calls_in_text)
            strategy, pages = strategy_of(
                self.task, self.contexts, sample, condition, self.calls_in_text, self.plugins
            )
            loop = self.loop_of(condition)
            seams = Seams(model, ToolSet(tools, self.is_short), strategy, pages, faults, loop)
            for feature, settings in self.features:
                if feature.open is not None:
                    seams = feature.open(seams, sample, condition, settings)
            yield seams

    def loop_of(self, condition: Condition) -> Loop | None:
        """What drives its episodes in place of our own loop."""
        if condition.agent is None:
            return None
        from agent_env.episodes.disturbances import loop_of

        return loop_of(condition.agent, self.model.name, self.logs, self.plugins.permit)

    async def _tool(
        self, traits: ToolTraits, sample: Sample, condition: Condition, stack: AsyncExitStack
    ) -> Tool:
        from agent_env.tasks.tool_registry import open_tool
        from agent_env.tools.toolbox import HostedTool, open_plugin

        if self.hosted and traits.hosted is not None:
            return HostedTool(traits.hosted)
        today = None if condition.today is None else date.fromisoformat(condition.today)
        supplies = Supplies(timeout_s=CALL_TIMEOUT_S, today=today)
        if traits.needs_table is not None:
            supplies = replace(supplies, tables=self._tables(traits, sample))
        if traits.needs_web:
            # Each episode's own, as its guard and its disturbance know the sample
            from agent_env.web.guards import Guard, GuardedFetcher, GuardedSearch
            from agent_env.web.stored import CachedFetcher

            if self.web is None:
                raise ConfigError("a condition needs the web, and the run's 'web' names none")
            asked = sample.in_world(condition.world)
            web = self.web.on(condition.today)
            guard = Guard.of(asked, self.web_settings, condition.today if web.foreign else None)
            if condition.disturbance is not None:
                web = disturbances().web(web, asked, condition.disturbance)
            supplies = replace(
                supplies,
                search=GuardedSearch(web.search, guard, web.stored_page),
                fetcher=CachedFetcher(GuardedFetcher(web.fetcher, guard)),
                window=self.window,
                foreign=web.foreign,
            )
        if traits.needs_sandbox:
            setup = self.task.setup
            code = setup(sample, condition) if setup else None
            supplies = await self._with_session(supplies, stack, code)
        declaration = open_tool(self.plugins, traits)
        if traits.path is None:
            tool = declaration.open(supplies)
        else:
            tool = open_plugin(declaration, traits, supplies)
        if (close := getattr(tool, "close", None)) is not None:
            stack.callback(close)
        return tool

    def _tables(self, traits: ToolTraits, sample: Sample) -> tuple[MaterialTable, ...]:
        if not sample.materials:
            raise ConfigError(
                f"the tool {traits.name} needs a table; sample '{sample.id}' names none"
            )
        return tuple(self.materials[digest] for digest in sample.materials)

    async def _with_session(
        self, supplies: Supplies, stack: AsyncExitStack, setup: str | None
    ) -> Supplies:
        from agent_env.sandbox.choose import importable
        from agent_env.tools.function import Prepared

        if self.sandbox is None:
            raise ConfigError("a condition runs code, and the run's 'sandbox' names none")
        day = () if supplies.today is None else (supplies.today,)  # which not each backend takes
        session: Sandbox = await stack.enter_async_context(self.sandbox.session(*day))
        if setup is not None:
            session = Prepared(session, setup, CALL_TIMEOUT_S)
        return replace(supplies, sandbox=session, importable=importable())


def _sourced(traits: ToolTraits, sources: Mapping[str, SourceOfEpisode]) -> Tool | None:
    """None for a tool that its source has no more."""
    source = next((its for name, its in sources.items() if traits.origin.startswith(name)), None)
    if source is None:
        raise ConfigError(f"a condition has the tool {traits.name}, and 'features' no such source")
    return source.tool(traits)


def strategy_of(
    task: Task,
    contexts: Mapping[str, Contexts],
    sample: Sample,
    condition: Condition,
    in_text: bool = False,
    plugins: Plugins = NO_PLUGINS,
) -> tuple[Strategy, str | None]:
    """The strategy for the sample under the condition, and the digest of the pages before its
    question; None without pages. `in_text`: calls are texts."""
    from agent_env.graph.strategies import SchemaAnswer

    strategy, pages = _free_strategy(task, contexts, sample, condition, plugins)
    form = task.form_under(condition, sample)
    if form is None:
        return strategy, pages
    is_asked = condition.answer_format == "schema-last" or bool(condition.tools and not in_text)
    return SchemaAnswer(strategy, form, is_asked), pages


def _free_strategy(
    task: Task,
    contexts: Mapping[str, Contexts],
    sample: Sample,
    condition: Condition,
    plugins: Plugins,
) -> tuple[Strategy, str | None]:
    from agent_env.graph.strategies import make_strategy
    from agent_env.tasks.contexts import with_context
    from agent_env.tasks.templates import example_turns

    examples = example_turns(task)
    prompt: Prompt = task.prompt_under
    if condition.context is None:
        return make_strategy(condition, prompt, examples, task.strategies, plugins), None
    pages = contexts[condition.context].by_sample.get(sample.id)
    if pages is None:
        raise ConfigError(f"{condition.context} has no pages for sample '{sample.id}'")
    prompt = with_context(prompt, pages.text)
    return make_strategy(condition, prompt, examples, task.strategies, plugins), pages.digest


async def open_components(
    folder: RunFolder,
    manifest: Manifest,
    task: Task,
    stack: AsyncExitStack,
    note: Callable[[str], None] = lambda text: None,
    parts: Parts = Parts(),
    *,
    plugins: Plugins,
) -> RunComponents:
    """Open what the manifest's conditions need; closed with the stack. `note` gets what the
    user must mend; existing `parts` are not made again; `plugins` say what may be reached."""
    from agent_env.tasks.family import by_digest

    web = sandbox = None
    model, tokenizer = parts.model or await open_counted(manifest, note, stack, plugins)
    if manifest.web not in (None, HOSTED_WEB):
        from agent_env.wiring.web import open_web

        web = await open_web(folder, manifest, note, stack, plugins)
    if manifest.sandbox is not None:
        backend = parts.sandbox or await choose_sandbox(manifest.sandbox, plugins)
        sandbox = await stack.enter_async_context(backend)
    contexts = contexts_of(folder, manifest)
    its_features = features_of(manifest)
    return RunComponents(
        task,
        model,
        web,
        manifest.web_settings,
        sandbox,
        tokenizer,
        contexts,
        calls_in_text=manifest.is_in_text,
        is_short=manifest.has_short_texts,
        window=manifest.page_window,
        hosted=manifest.model_parameters.get("hosted_tools") is True,
        materials=by_digest(folder.materials()),
        features=its_features,
        plugins=plugins,
        sources={
            each.tools.prefix: each.tools.open(folder, settings, stack, note, plugins.permit)
            for each, settings in its_features
            if each.tools is not None
        },
        logs=folder.path / "agents",
    )


def features_of(manifest: Manifest) -> tuple[tuple[Feature, Any], ...]:
    """The features that the run was made with, in their order, and what it records of each."""
    read = settings_of_features(manifest.features, "the run") if manifest.features else {}
    return tuple((each, read[each.name]) for each in features() if each.name in read)


async def settings_now(
    manifest: Manifest, note: Callable[[str], None], plugins: Plugins
) -> dict[str, Any]:
    """The manifest's settings of features as they are now."""
    settings = dict(manifest.features)
    for feature, its in features_of(manifest):
        if feature.read_again is not None:
            now = await feature.read_again(its, note, plugins)
            settings[feature.name] = now.model_dump(mode="json")
    return settings


def contexts_of(folder: RunFolder, manifest: Manifest) -> dict[str, Contexts]:
    """The run's own copies; DatasetError where one was changed since, or run.json names none for a
    condition."""
    wanted = {each.context for each in manifest.conditions if each.context is not None}
    if lacking := wanted.difference(use.name for use in manifest.contexts):
        reason = f"a condition is given {min(lacking)}, and 'contexts' has no such pages"
        raise DatasetError(folder.path / "run.json", None, reason)
    if not manifest.contexts:
        return {}
    from agent_env.episodes.contexts import read_copies

    return read_copies(folder, manifest)
