"""What stands beside a release's questions: card, Croissant metadata, citation, changes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from string import Template
from typing import Any

from agent_env import __version__

FOLDER = Path(__file__).parent


def documents(release: Mapping[str, Any], questions: bytes) -> dict[str, bytes]:
    """The files by their names."""
    about = (
        f"{release['samplesOfPart']} public and as many private questions of each of "
        f"{', '.join(release['parts'])}, edition {release['edition']}, made by agent-env "
        f"{__version__}."
    )
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    values = {
        **release, "about": about, "today": today, "spdx": release["licence"].lower(),
        "root": release["commitments"]["root"],
    }  # fmt: skip
    citation = _filled("citation.cff", values)
    if release["doi"]:
        citation += f'doi: "{release["doi"]}"\n'
    changes = f"# Changes\n\n## Edition {release['edition']}, {today}\n\n{about}\n"
    for entry in reversed(release["editions"]):
        changes += f"\n## Edition {entry['edition']}\n\nCommitments: `{entry['root']}`.\n"
        if entry["equating"]:
            changes += f"Score on the edition after it, less that on it: {entry['equating']}.\n"
    texts = {
        "README.md": _filled("card.md", values),
        "CITATION.cff": citation,
        "CHANGELOG.md": changes,
        "LICENSE": f"SPDX-License-Identifier: {release['licence']}\n",
        "croissant.json": _croissant(values, questions),
    }
    return {name: text.encode() for name, text in texts.items()}


def _filled(name: str, values: Mapping[str, Any]) -> str:
    return Template((FOLDER / name).read_text("utf-8")).substitute(values)


def _croissant(values: Mapping[str, Any], questions: bytes) -> str:
    """Croissant 1.0 with the fields on responsible AI (mlcommons.org/croissant)."""
    croissant: dict[str, Any] = json.loads((FOLDER / "croissant.json").read_text("utf-8"))
    croissant |= {
        "name": values["name"], "description": values["about"], "license": values["licence"],
        "url": values["url"], "version": f"{values['edition']}.0.0",
        "datePublished": values["today"],
        "citeAs": "{name}, edition {edition}. {place}".format(
            place=values["doi"] or values["url"], **values
        ),
    }  # fmt: skip
    croissant["distribution"][0]["sha256"] = hashlib.sha256(questions).hexdigest()
    return json.dumps(croissant, indent=1, ensure_ascii=False) + "\n"
