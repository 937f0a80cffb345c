"""What texts in records mean that are neither words nor names."""

from datetime import datetime

IN_TEXT = ("text", "schema")
"""Tool protocols under which the text of a reply holds its calls."""


def is_time(text: str) -> bool:
    """Whether it is a time in ISO 8601 with its offset, so that times can be subtracted."""
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
