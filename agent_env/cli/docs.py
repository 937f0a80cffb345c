"""Opens the documentation."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

PACKAGE = Path(__file__).parents[1]
SITE = PACKAGE / "site"
"""The built pages; a checkout has them after `.ci/docs`, and wheels that are made then."""
SOURCES = PACKAGE.parent / "docs"
"""The same pages as Markdown, in a checkout."""
INSTALLED = "share/agent-env/docs"
"""Where an installation has them as Markdown."""


def docs(
    page: Annotated[
        str, typer.Argument(metavar="PAGE", help="Such as tutorial, models or limits.")
    ] = "index",
) -> None:
    """Open a page of the documentation: in the browser, with its address; as text where the pages
    are not built.

    Example: agent-env docs tutorial
    """
    file = page_file(page)
    if file.suffix == ".md":
        _print_markdown(file.read_text(encoding="utf-8"))
        return
    print(file.as_uri())
    if _has_desktop():
        import webbrowser

        webbrowser.open(file.as_uri())


def page_file(page: str) -> Path:
    """The page as HTML, or as Markdown where the site is not built; ConfigError for an unknown
    page."""
    from agent_env.errors import ConfigError, did_you_mean

    pages = {file.stem: file for file in SITE.rglob("*.html") if file.stem != "404"}
    pages = pages or {file.stem: file for file in SOURCES.rglob("*.md")} or _installed_pages()
    if page not in pages:
        known = ", ".join(sorted(pages)) or "none"
        raise ConfigError(f"no page '{page}'; {did_you_mean(page, pages)}pages: {known}")
    return pages[page]


def _installed_pages() -> dict[str, Path]:
    from importlib.metadata import files

    pages = (file for file in files("agent-env") or () if INSTALLED in file.as_posix())
    return {file.stem: Path(file.locate()) for file in pages if file.suffix == ".md"}


def _print_markdown(text: str) -> None:
    """Formatted on a terminal, as it is written elsewhere."""
    if not sys.stdout.isatty():
        print(text, end="")
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(text))


def _has_desktop() -> bool:
    """Whether a browser with a window can open; one in the terminal would take it over."""
    is_windowed = sys.platform in ("darwin", "win32")
    return is_windowed or bool({"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys())
