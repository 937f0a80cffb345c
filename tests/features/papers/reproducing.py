"""`agent-env study reproduce`: the command, what it is given, and the rows that it prints."""

import json

from tests.commands import typed


def reproduce(folder, line, *values):
    """What the command leaves in the folder's `out`; {} stands for the next value."""
    return typed(f"study reproduce {line} --out out", *values, cwd=folder)


def rows(done, name):
    """Of the table of this name."""
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["experiments"][name][name]["rows"]


def values(done, name):
    """By row and quantity: the paper's value, ours, n."""
    return {
        (row["row"], row["quantity"]): (row["paper"], row["ours (95 % CI)"]["value"], row["n"])
        for row in rows(done, name)
    }


def write_lines(file, *records):
    """The file, with a record a line."""
    file.write_text("\n".join(map(json.dumps, records)))
    return file
