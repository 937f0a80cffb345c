"""Cases of parametrised tests, by what is expected of them, or from files."""

import tomllib
from pathlib import Path


def each(table):
    """Each thing given, with what is expected; the table groups the former by the latter."""
    return [(given, expected) for expected, many in table.items() for given in many]


def tables(test):
    """The tables of cases of this test file: in the TOML file of its name, in `data` beside it."""
    name = Path(test).stem.removeprefix("test_")
    return tomllib.loads((Path(test).parent / "data" / f"{name}.toml").read_text("utf-8"))


def rows_of(file, table):
    """The rows of one of the file's tables, which begin with `== name`: what stands before and
    after the last ` => ` of a line. In both, \\n is a line break."""
    lines = file.read_text("utf-8").partition(f"== {table}\n")[2].partition("\n== ")[0].splitlines()
    assert lines, table
    return [
        (given.replace("\\n", "\n"), expected.replace("\\n", "\n"))
        for given, _, expected in (line.rpartition(" => ") for line in lines)
    ]
