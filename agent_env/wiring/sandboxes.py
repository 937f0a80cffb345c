"""The sandbox of a run, and what works on this machine, found out by trying."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from agent_env.errors import ConfigError
from agent_env.extras import EXTRAS
from agent_env.records.schema import Condition
from agent_env.registry import Plugins
from agent_env.tasks.features import Check, features
from agent_env.tasks.tool_registry import needs_sandbox
from agent_env.wiring.trust import state_folder

if TYPE_CHECKING:
    from agent_env.protocols import SandboxBackend
    from agent_env.sandbox.probe import ProbeRecords


async def choose_sandbox(
    name: str,
    plugins: Plugins,
    conditions: Sequence[Condition] = (),
    memory_mb: int | None = None,
) -> SandboxBackend:
    """An unopened backend that was probed in this boot, and that has the clock of the conditions'
    days; ConfigError where none holds."""
    from agent_env.sandbox.choose import choose
    from agent_env.sandbox.limits import SandboxLimits

    limits = SandboxLimits() if memory_mb is None else SandboxLimits(memory_mb=memory_mb)
    host = os.environ.get("DOCKER_HOST")
    on_day = any(each.today is not None and needs_sandbox(each) for each in conditions)
    return await choose(
        name, limits, docker_host=host, records=probe_records(), plugins=plugins, on_day=on_day
    )


def probe_records() -> ProbeRecords | None:
    """This user's; None where there is no home."""
    from agent_env.sandbox.probe import ProbeRecords

    folder = state_folder("sandboxes")
    return None if folder is None else ProbeRecords(folder)


async def examine(probe: bool = False) -> list[Check]:
    """Sandboxes by probe, keys by presence, tokenizers and extras by looking for them. `probe`
    probes sandboxes again that held earlier in this boot."""
    from agent_env.models.tokenizers import ENCODINGS
    from agent_env.sandbox.choose import probe_all
    from agent_env.sandbox.limits import SandboxLimits
    from agent_env.wiring.models import make_tokenizer

    host, records = os.environ.get("DOCKER_HOST"), probe_records()
    probes = await probe_all(SandboxLimits(), docker_host=host, records=records, again=probe)
    checks = [Check(f"sandbox {each.name}", each.ok, each.reason) for each in probes]
    checks += [
        *_keys(),
        *(each for feature in features() if feature.checks for each in feature.checks()),
    ]
    checks += [Check("tokenizer estimate", True, "bytes / 4")]
    for name in ENCODINGS:
        try:
            make_tokenizer(name)
            checks.append(Check(f"tokenizer {name}", True, "exact, its ranks are here"))
        except ConfigError as exc:
            checks.append(Check(f"tokenizer {name}", False, str(exc)))
    for extra, modules in EXTRAS.items():
        missing = [name for name in modules if find_spec(name) is None]
        text = f"pip install 'agent-env[{extra}]' brings {', '.join(missing)}"
        checks.append(Check(f"extra {extra}", not missing, text if missing else "installed"))
    return checks


def _keys() -> list[Check]:
    from agent_env.web.providers.catalogue import key_variables as search_variables
    from agent_env.wiring.models import key_variables

    models = {name: f"models {prefix}/NAME" for prefix, name in key_variables().items()}
    searches = {name: f"--search {provider}" for provider, name in search_variables().items()}
    names = dict.fromkeys([*models, *searches])
    uses = {name: ", ".join(filter(None, (models.get(name), searches.get(name)))) for name in names}
    is_set = {name: bool(os.environ.get(name)) for name in names}
    return [
        Check(f"key {name}", is_set[name], f"for {use}: is {'' if is_set[name] else 'not '}set")
        for name, use in uses.items()
    ]
