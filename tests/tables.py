"""Cases of parametrised tests, by what is expected of them."""

import tomllib
from pathlib import Path


def each(table):
    """Each thing given, with what is expected; the table groups the former by the latter."""
    return [(given, expected) for expected, many in table.items() for given in many]


def tables(test):
    """The tables of cases of this test file: in the TOML file of its name, in `data` beside it."""
    name = Path(test).stem.removeprefix("test_")
    return tomllib.loads((Path(test).parent / "data" / f"{name}.toml").read_text("utf-8"))
