"""The text of a PDF file, by pypdf."""

from __future__ import annotations

import io
from base64 import b64decode
from typing import Any

import pypdf

from agent_env.errors import ToolError

PAGES = 300
"""That are read, from the first."""


def read(body: str) -> dict[str, str]:
    """Title, text, days, version of the reader; ToolError for a broken file. `body` is base 64."""
    try:
        reader = pypdf.PdfReader(io.BytesIO(b64decode(body)))
        about: dict[str, Any] = dict(reader.metadata or {})
        texts = [str(page.extract_text()) for page in reader.pages[:PAGES]]
        fields = {
            name: str(about.get(f"/{name}") or "") for name in ("Title", "CreationDate", "ModDate")
        }
    except MemoryError:
        raise
    except Exception as exc:  # a foreign parser over foreign bytes raises what it likes
        raise ToolError("the PDF is broken and cannot be read") from exc
    return {**fields, "text": "\n\n".join(texts), "version": pypdf.__version__}
