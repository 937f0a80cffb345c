"""Pages of a long import, kept in a file as they come, so that a failure loses none of them."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from agent_env.errors import ConfigError, StorageError
from agent_env.records.schema import Record
from agent_env.temporal.facts.statements import Item


class Kind(Record):
    """A class of events."""

    name: str
    item: str
    """Its item, such as Q178561."""


class ImportQuery(Record):
    """What an import asks for; pages of another one are of no use to it."""

    endpoint: str
    kinds: tuple[Kind, ...]
    languages: tuple[str, ...]
    sitelinks: int
    """Only items with at least as many articles in all encyclopedias together."""
    page_size: int
    """Items per page."""


class ItemPage(Record):
    """One page of the items of a kind."""

    kind: str
    last: str
    """The key after which the next page begins."""
    more: bool
    """Whether there may be a next page."""
    items: tuple[Item, ...]


class KeptPages:
    """The file. Guarantees: a page that was added is there after a crash of this process; a line
    that was cut off is dropped. Not covered: two imports into one file at the same time."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def open(self, query: ImportQuery) -> list[ItemPage]:
        """The pages kept so far; ConfigError where they are those of another import."""
        lines = self._whole_lines()
        if not lines:
            self._write(query.model_dump_json().encode() + b"\n", "wb")
            return []
        try:
            stored_query = ImportQuery.model_validate_json(lines[0])
            pages = [ItemPage.model_validate_json(line) for line in lines[1:]]
        except ValidationError as exc:
            raise ConfigError(f"{self.file} holds no pages of an import; delete it") from exc
        if stored_query != query:
            raise ConfigError(
                f"{self.file} holds pages of an import that asked for something else; "
                "ask for the same, delete it, or write to another file"
            )
        self._write(b"".join(line + b"\n" for line in lines), "wb")  # without a cut line
        return pages

    def add(self, page: ItemPage) -> None:
        """Keep one more page."""
        self._write(page.model_dump_json().encode() + b"\n", "ab")

    def discard(self) -> None:
        """The import is done."""
        self.file.unlink(missing_ok=True)

    def _whole_lines(self) -> list[bytes]:
        try:
            return self.file.read_bytes().split(b"\n")[:-1]
        except FileNotFoundError:
            return []
        except OSError as exc:
            raise ConfigError(f"cannot read {self.file}: {exc.strerror}") from exc

    def _write(self, data: bytes, mode: str) -> None:
        try:
            with self.file.open(mode) as file:
                file.write(data)
        except OSError as exc:
            raise StorageError(f"cannot write {self.file}: {exc.strerror}") from exc
