"""The keywords of the API, for editors and mypy; made from the records of options.

python .ci/pages/keywords.py > agent_env/runs/options/keyword_types.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Required, TypedDict


class RunKeywords(TypedDict, total=False):
    cited_from: Sequence[str] | str
    limit: int | None
    seed: int
    dataset: Path | str | None
    out: Path | str | None
    concurrency: int
    repeats: int
    where: Sequence[str] | str
    prompt: str
    options: Sequence[str] | str
    difficulty: str | None
    metrics: Sequence[str] | str
    base_url: str | None
    api_key_envs: Sequence[str] | str
    sandbox: str
    tokenizer: str
    web: str
    search: str | None
    fetcher: str | None
    pages: Path | str | None
    as_of: str | None
    undated: Literal["withhold", "count", "serve"] | None
    block_leaks: bool
    ignore_robots: bool
    allow_hosts: Sequence[str] | str
    reply_timeout_s: float | None
    idle_s: float | None
    tool_protocol: str
    repair_calls: int | None
    tool_texts: str
    hosted_tools: bool
    stream: bool
    echo_reasoning: str
    temperature: float | None
    reasoning_effort: str | None
    max_output_tokens: int | None
    top_p: float | None
    model_seed: int | None
    system_role: str | None
    service_tier: str | None
    extra_body: str | Mapping[str, Any] | None
    strategy: str | None
    system: Path | str | None
    first_steps: Sequence[str] | str
    answer_formats: Sequence[str] | str
    steps: int | None
    tool_calls: int | None
    tokens: int | None
    time_s: float | None
    cost_usd: float | None
    tool_limit: Sequence[str] | str | Mapping[str, Any]
    fit_context: bool
    run_tokens: int | None
    run_cost_usd: float | None
    run_time_s: float | None
    retries: int
    retry_time_s: float
    stop_after_failures: int
    prices: Path | str | None
    reply_cache: Path | str | None
    batch: bool
    batch_dir: Path | str | None
    detach: bool | None
    faults: Sequence[str] | str
    attacks: Sequence[str] | str
    web_ablations: Sequence[str] | str
    serve: str | None
    chat_template: str | None
    mcp: Sequence[str] | str | Mapping[str, Any]
    mcp_env: Sequence[str] | str
    mcp_isolation: Sequence[str] | str
    mcp_sandbox: bool
    agents: Sequence[str] | str
    today: Sequence[str] | str
    say_today: bool


class ResumeKeywords(TypedDict, total=False):
    concurrency: int | None
    run_tokens: int | None
    run_cost_usd: float | None
    run_time_s: float | None
    accept_changes: bool
    base_url: str | None
    api_key_env: str | None
    steps: int | None
    tool_calls: int | None
    tokens: int | None
    time_s: float | None
    detach: bool | None
    anyway: bool
    trust_run: bool


class ReplayKeywords(TypedDict, total=False):
    strict: bool
    tools_live: bool
    model_live: bool
    out: Path | str | None
    trust_run: bool


class ForkKeywords(TypedDict, total=False):
    at: Required[int]
    out: Path | str | None
    repeats: int
    base_url: str | None
    api_key_env: str | None
    condition: str | None
    edit: Path | str | Mapping[str, str] | None
    sandbox: str
    trust_run: bool


class CompareKeywords(TypedDict, total=False):
    metric: str | None
    baseline: str | None
    contrasts: Sequence[str] | str
    margin: float | None
    columns: Path | str | None
    cluster: str | None
    require: Sequence[str] | str
    junit: Path | str | None
    strict: bool
