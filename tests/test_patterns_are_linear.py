"""No regular expression of the package takes longer than in proportion to its text.

`slow_patterns` makes the attacks, `package_patterns` finds the patterns. CPU time is measured, not
the time of day, and a pattern is blamed for its growth, or for a pace that makes 200,000 characters
take more than a second.
"""

import re
from types import ModuleType

import pytest

from tests.package_patterns import in_module, package_patterns
from tests.slow_patterns import slow_attack
from tests.tables import tables

CUT, FROM_ARGUMENTS = (tables(__file__)[name] for name in ("cut", "from_arguments"))


def test_no_pattern_of_the_package_is_slow_and_those_not_in_the_source_are_listed():
    known, unknown = package_patterns()
    assert {where.split(":")[0] for where in unknown} == set(FROM_ARGUMENTS)
    assert len(known) > 300
    slow = [found for one in known if (found := slow_attack(one.where, one.pattern, one.methods))]
    assert [str(found) for found in slow if found.where not in CUT or found.is_steep] == []


SLOW = (r"\s*x", r"<a[^>]*>", r"a\s*b?\s*c", r"(\w+\s?)+$", r"Answer:.*?(\d+)",
        r"```\w*\n(.*?)\n```$")  # fmt: skip


@pytest.mark.parametrize("pattern", SLOW)
def test_a_pattern_that_is_slow_is_seen(pattern):
    slow = slow_attack("here", re.compile(pattern, re.M | re.S), {"finditer"})
    assert slow.is_steep


@pytest.mark.parametrize(
    "pattern",
    [
        r"\s{0,20}+x",
        r"(?<!\s)\s++x",
        r"\d{1,3}(?:,\d{3}){0,9}+ years",
        r"<a[^<>]*>",
        r"a\s*+(?:b\s*+)?c",
        r"^(?:[^\S\n]|[>*])*+answer:",
        r"(?>.*?x)(?>.*?y)z|\b\d{4}\b",
    ],
)
def test_a_pattern_that_is_linear_is_not_blamed(pattern):
    assert slow_attack("here", re.compile(pattern, re.M), {"match"}) is None
    if not pattern.startswith("(?>"):
        assert slow_attack("here", re.compile(pattern, re.M), {"finditer"}) is None


def test_patterns_are_found_wherever_they_stand(tmp_path):
    source = """
import re
PLAIN = re.compile("plain")
BOUND = re.compile("bound").search
TABLE = {"a": (re.compile("dict"), [re.compile("list")])}
FORMS = (re.compile("looped"),)

class Held:
    INSIDE = re.compile("class")

def read(text, word):
    PLAIN.fullmatch(text)
    for form in FORMS:
        form.match(text)
    re.search(rf"call {word} {re.escape(word)}", text, re.I)
    return re.search(word, text)
"""
    file = tmp_path / "made.py"
    file.write_text(source, encoding="utf-8")
    module = ModuleType("made")
    module.__file__ = str(file)
    exec(compile(source, str(file), "exec"), module.__dict__)
    known, unknown = in_module(module)
    methods = {one.pattern.pattern: set(one.methods) for one in known}
    assert methods.keys() == {"plain", "bound", "dict", "list", "looped", "class", "call Ab Ab"}
    ways = methods["plain"], methods["looped"], methods["call Ab Ab"]
    assert ways == ({"fullmatch"}, {"match"}, {"finditer"})
    assert unknown == ["made:16"]
