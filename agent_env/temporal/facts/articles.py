"""Titles and addresses of the sealed web's articles, and so what proves a fact."""

from __future__ import annotations

from urllib.parse import quote

ENCYCLOPEDIA = "https://encyclopedia.example/article/"


def event_title(event: str) -> str:
    """The title of the article on an event: its phrase without the article, capitalised."""
    bare = event.removeprefix("the ").removeprefix("a ").removeprefix("an ")
    return bare[0].upper() + bare[1:]


def presidency_title(person: str) -> str:
    """The title of the article on a US president's time in office."""
    return f"Presidency of {person}"


def article_url(title: str) -> str:
    """The address of the article with this title."""
    return ENCYCLOPEDIA + quote(title.replace(" ", "_"), safe="")
