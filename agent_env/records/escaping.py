"""Text by somebody else in what people open: CSV cells, Markdown, LaTeX, a terminal.

Against models, pages and run folders of others whose text would run as a formula in a spreadsheet,
become a link or markup in a document, or steer a terminal. Does not hide that text: everything
stays readable, and `unguarded` gives back exactly the cells that `csv_text` was given.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence

_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""What steers a terminal or changes the direction of text, and half a letter."""
_FORMULA = re.compile("'*[ \u00a0]*[=+\\-@＝＋－＠\x00-\x1f\x7f-\x9f\ufeff]")
_NUMBER = re.compile(r"[-+]?(?:[0-9][0-9,]*(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?%?")
_MARKUP = re.compile(r"[\\|`]|<(?=[A-Za-z/!?])|(?<=\])[(\[]|&(?=#?[A-Za-z0-9]{1,32};)")
_TEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--",
    "−": r"$-$", "×": r"$\times$", "<": r"$<$", ">": r"$>$",
}  # fmt: skip


def visible(text: str) -> str:
    """Control characters, those of direction and lone surrogates as `\\u001b`, which JSON reads
    back; line ends and tabs stay."""
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text.replace("\r\n", "\n"))


def identifier(name: str) -> str:
    """A name in SQL, in double quotes."""
    return '"' + name.replace('"', '""') + '"'


def csv_text(records: Iterable[Sequence[object]]) -> str:
    """Lines of CSV. Text that a spreadsheet would run as a formula gets an apostrophe before it;
    numbers and a dash alone stay."""
    lines = _Lines()
    csv.writer(lines).writerows(map(_guarded, record) for record in records)
    return "".join(lines)


class _Lines(list[str]):
    """Lines that end with a line feed. The writer's own ends stay CR LF, as it quotes a cell with
    a bare CR, which ends a record for spreadsheets, only then."""

    def write(self, line: str) -> None:
        """Keep a line of the writer."""
        self.append(f"{line.removesuffix(chr(13) + chr(10))}\n")


def _guarded(cell: object) -> object:
    if not isinstance(cell, str) or not _FORMULA.match(cell):
        return cell
    return cell if cell == "-" or _NUMBER.fullmatch(cell) else f"'{cell}"


def unguarded(cell: str) -> str:
    """A cell of our CSV without the apostrophe of a formula."""
    return cell[1:] if cell[:1] == "'" and _FORMULA.match(cell) else cell


def markdown_text(text: str) -> str:
    """One line of Markdown that is shown as it is: no cell ends in it, no link, no HTML."""
    return _MARKUP.sub(lambda match: f"\\{match[0]}", _one_line(text))


def latex_text(text: str) -> str:
    """One paragraph of LaTeX that is set as it is."""
    return "".join(_TEX.get(letter, letter) for letter in _one_line(text))


def _one_line(text: str) -> str:
    return visible(" ".join(text.splitlines()))


def writable(text: str) -> str:
    """The text without halves of surrogate pairs, which JSON may bring in and no file takes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
