"""A cache of replies for repeated runs, in a file that the user names; off by default.

Guarantees: a reply is reused only if everything that determines it is equal: model, base URL,
parameters, messages, tools, the condition's settings and the repeat. Only replies are stored, no
API key and no error. Several processes may share a file.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_env.errors import ConfigError, StorageError
from agent_env.permits import Permit
from agent_env.records.reach import Reach
from agent_env.records.safe_files import check_journals, make_private
from agent_env.records.schema import Condition, Message, Reply, ToolSpec
from agent_env.web.store_file import check_schema

TABLE = """
CREATE TABLE IF NOT EXISTS replies (
    key TEXT PRIMARY KEY, at TEXT NOT NULL, reply TEXT NOT NULL
) WITHOUT ROWID
"""


@dataclass(frozen=True, slots=True)
class Asking:
    """What determines an episode's replies beside messages and tools."""

    model: str
    parameters: Mapping[str, Any]
    """As run.json has them, base URL included."""
    condition: Condition
    repeat: int


class ReplyCache:
    """The replies of one file."""

    def __init__(self, file: Path, permit: Permit) -> None:
        permit.check(Reach.FILE, str(file))
        self.file = file
        self.hits = 0
        self.misses = 0
        try:
            check_journals(file)
            make_private(file)
            self._db = sqlite3.connect(file, timeout=30.0, isolation_level=None)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute(TABLE)
            check_schema(self._db, TABLE)
        except (sqlite3.Error, OSError) as exc:
            reason = exc.strerror if isinstance(exc, OSError) else exc
            raise ConfigError(f"cannot use {file} as a reply cache: {reason}") from exc

    def get(self, key: str) -> Reply | None:
        """The reply, with the time when it was first received."""
        row = self._execute("SELECT at, reply FROM replies WHERE key = ?", (key,)).fetchone()
        if row is None:
            self.misses += 1
            return None
        self.hits += 1
        at, text = row
        return Reply.model_validate_json(text).model_copy(update={"cached_at": at})

    def put(self, key: str, reply: Reply, at: str) -> None:
        """Stores a reply; the first one under a key stays."""
        text = reply.model_dump_json(exclude_none=True)
        self._execute("INSERT OR IGNORE INTO replies VALUES (?, ?, ?)", (key, at, text))

    def close(self) -> None:
        self._db.close()

    def _execute(self, statement: str, values: tuple[object, ...]) -> sqlite3.Cursor:
        try:
            return self._db.execute(statement, values)
        except sqlite3.Error as exc:
            raise StorageError(f"cannot use the reply cache {self.file}: {exc}") from exc


def cache_key(asking: Asking, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> str:
    """SHA-256 over everything that determines the reply, without fields at their defaults, so that
    a new field does not change the keys of requests without it."""
    whole = {
        "model": asking.model,
        "parameters": {k: v for k, v in asking.parameters.items() if v is not None},
        "condition": asking.condition.model_dump(
            mode="json", exclude_defaults=True, exclude={"name"}
        ),
        "repeat": asking.repeat,
        "messages": [m.model_dump(mode="json", exclude_defaults=True) for m in messages],
        "tools": [t.model_dump(mode="json", exclude_defaults=True) for t in tools],
    }
    text = json.dumps(whole, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
