"""The TDBench paper's names of the domains."""

from __future__ import annotations

DOMAIN_WORDS = {
    "Law": ("law", "legal"), "Carbon tax": ("carbon", "environ", "tax"),
    "Heritage": ("heritage", "culture", "cultural", "unesco"),
    "Netflix": ("netflix", "movie", "social", "show"),
}  # fmt: skip
"""Parts of a table's name by the paper's domain; all other tables are of Wikipedia."""


def paper_domain(domain: str) -> str:
    """The paper's name for a table's domain."""
    name = domain.casefold()
    fitting = (own for own, words in DOMAIN_WORDS.items() if any(word in name for word in words))
    return next(fitting, "Wikipedia")
