"""Opens the documentation."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

PACKAGE = Path(__file__).parents[1]
SITE = PACKAGE / "site"
"""The built pages; wheels have them, a checkout after `.ci/docs`."""
SOURCES = PACKAGE.parent / "docs"
"""The same pages as Markdown, in a checkout."""


def docs(
    page: Annotated[
        str, typer.Argument(metavar="PAGE", help="Such as tutorial, models or limits.")
    ] = "index",
) -> None:
    """Open a page of the documentation in the browser, and print its address.

    Example: agent-env docs tutorial
    """
    file = page_file(page)
    print(file.as_uri() if file.suffix == ".html" else file)
    if file.suffix == ".html" and _has_desktop():
        import webbrowser

        webbrowser.open(file.as_uri())


def page_file(page: str) -> Path:
    """The page as HTML, or as Markdown in a checkout without the built site; ConfigError for an
    unknown page."""
    from agent_env.errors import ConfigError

    folder, suffix = (SITE, ".html") if (SITE / "index.html").exists() else (SOURCES, ".md")
    pages = {file.stem: file for file in folder.glob(f"*{suffix}") if file.stem != "404"}
    if not pages:
        raise ConfigError("this installation has no documentation; install a released wheel")
    if page not in pages:
        raise ConfigError(f"no page '{page}'; pages: {', '.join(sorted(pages))}")
    return pages[page]


def _has_desktop() -> bool:
    """Whether a browser with a window can open; one in the terminal would take it over."""
    is_windowed = sys.platform in ("darwin", "win32")
    return is_windowed or bool({"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys())
