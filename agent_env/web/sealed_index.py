"""Which search a sealed store is served with: FTS5, or tantivy for many pages where it is there."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from agent_env.errors import StorageError
from agent_env.web.full_text import FullText

if TYPE_CHECKING:
    from agent_env.web.tantivy_text import TantivyText

MANY = 50_000
"""Pages above which tantivy is used."""


def choose_index(
    file: Path, connection: sqlite3.Connection, content: str, note: Callable[[str], None]
) -> FullText | TantivyText:
    """The search over a store; `note` hears why a large one is served by the slower kind."""
    built_in = FullText(connection)
    count = built_in.size()
    if count <= MANY:
        return built_in
    if find_spec("tantivy") is None:
        note(f"{count} pages are searched by FTS5; faster: pip install 'agent-env[search]'")
        return built_in
    from agent_env.web.tantivy_text import TantivyText

    try:
        folder = file.with_name(f"{file.name}.tantivy")
        return TantivyText.made(folder, content, built_in.texts())
    except StorageError as exc:
        note(f"{count} pages are searched by FTS5: {exc}")
        return built_in
