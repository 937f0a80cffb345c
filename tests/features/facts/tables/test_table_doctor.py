"""Problems of a file's rows, each with its line, and what each policy does to them."""

import pytest

from agent_env.errors import ConfigError
from agent_env.features.facts.tables import table_doctor as doctor
from agent_env.features.facts.tables.table_doctor import diagnose, read_policies
from agent_env.features.facts.tables.table_records import read_sheet

TEXT = """Who,Club,Start,End
a,X,2000-01-01,2003-01-01
a,X,2003-01-01,2004-01-01
a,X,2003-06-01,2005-01-01
a,Y,2004-06-01,2006-01-01
a,Z,2007-01-01,2007-01-01
b,X,2001-01-01,2000-01-01
b,X,2001-01-01,nan
c,X,,2002-01-01
c,Y,2002-02-30,2003-01-01
d,Y,2002-01-01,2262-04-11 00:00:00
e,nan,2002-01-01,
f,X,2001-01-01,2002-01-01
f,Y,2003-01-01,2004-01-01
"""
CLUB = doctor.TableUse(("who",), ("club",))


def written(folder, text):
    file = folder / "t.csv"
    file.write_text(text)
    return read_sheet(file)


def repaired(sheet, *policies, use=CLUB):
    return doctor.repaired(sheet, read_policies(policies), use)


@pytest.fixture
def sheet(tmp_path):
    return written(tmp_path, TEXT)


def test_problems_are_named_and_repaired_as_asked_for(sheet, tmp_path):
    found = [(each.problem, each.line) for each in diagnose(sheet, CLUB)]
    assert found == [
        ("missing-mark", 8), ("missing-mark", 12), ("far-end", 11), ("no-date", 9), ("no-date", 10),
        ("reversed", 7), ("zero-length", 6), ("overlap", 4), ("adjoining", 3), ("dependency", 5),
        ("gap", 14),
    ]  # fmt: skip
    after, _ = repaired(sheet, "standard")
    assert [each.problem for each in diagnose(after, CLUB)] == ["gap"]
    assert repaired(after, "standard") == (after, [])
    for policies in ({}, dict.fromkeys(doctor.PROBLEMS, "keep")):
        assert doctor.repaired(sheet, policies, CLUB) == (sheet, [])
    text = "a,start,end\nx,2000,2000\ny,2001-05,2001-12\nz,2001-05-01,2004-02-28\n"
    use = doctor.TableUse()
    after, log = doctor.repaired(written(tmp_path, text), {"zero-length": "inclusive-ends"}, use)
    assert [row.end for row in after.rows] == ["2001", "2002-01", "2004-02-29"]
    assert log[0].before == "x (2000 to 2000)"
    text = "".join(f"film{n},P{n},19{n:02d},\nfilm{n},Q{n},20{n:02d},\n" for n in range(20))
    problems, after = findings(text, tmp_path, "standard")
    assert (problems, len(after)) == (["open-end"] * 20, 40)
    assert after[0] == "film0, P0 (1900 to 2000)"


@pytest.mark.parametrize(
    ("policy", "lines", "logged"),
    [
        ("missing-mark=blank", 13,
         [(8, "b, X (2001-01-01 to now)"), (12, "e,  (2002-01-01 to now)")]),
        ("far-end=blank", 13, [(11, "d, Y (2002-01-01 to now)")]),
        ("no-date=drop", 11, [(9, None), (10, None)]),
        ("reversed=drop", 12, [(7, None)]),
        ("zero-length=drop", 12, [(6, None)]),
        ("overlap=coalesce", 12, [(4, "a, X (2003-01-01 to 2005-01-01)")]),
        ("adjoining=coalesce", 12, [(3, "a, X (2000-01-01 to 2004-01-01)")]),
        ("dependency=drop", 8, [(2, None), (3, None), (4, None), (5, None), (6, None)]),
    ],
)  # fmt: skip
def test_each_policy_changes_its_own_rows_and_logs_them(sheet, policy, lines, logged):
    after, log = repaired(sheet, policy)
    assert len(after.rows) == lines
    assert [(entry.line, entry.after) for entry in log] == logged
    assert {f"{entry.problem}={entry.policy}" for entry in log} == {policy}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("nonsense=drop", "unknown problem 'nonsense'; known: alias, missing-mark, far-end"),
        ("overlap=drop", "overlap has the policies coalesce, keep"),
        ("gap", "gap has the policies keep"),
    ],
)
def test_an_unknown_policy_is_named(text, reason):
    with pytest.raises(ConfigError, match=reason):
        read_policies([text])


def findings(text, folder, policy):
    """The problems by `who → club`, and the rows after the repair by this policy."""
    found = written(folder, f"Who,Club,Start,End\n{text}")
    after, _ = repaired(found, policy)
    return [each.problem for each in diagnose(found, CLUB)], [row.text for row in after.rows]


@pytest.mark.parametrize(
    ("text", "policy", "rows"),
    [
        ("a,X,1990,\na,Y,1995,\n", "open-end=until-next",
         ["a, X (1990 to 1995)", "a, Y (1995 to now)"]),
        ("a,X,1990,1997\na,Y,1995,1999\n", "dependency=until-next",
         ["a, X (1990 to 1995)", "a, Y (1995 to 1999)"]),
        ("a,X,1995,1990\n", "reversed=swap", ["a, X (1990 to 1995)"]),
        ("a,X,1990-02-30,1991\n", "no-date=cut", ["a, X (1990-02 to 1991)"]),
        ("a,X,1990-02,1991-03\na,Y,1991,\n", "mixed-precision=drop", ["a, X (1990-02 to 1991-03)"]),
    ],
)  # fmt: skip
def test_rows_are_mended_where_they_need_not_be_dropped(tmp_path, text, policy, rows):
    problems, after = findings(text, tmp_path, policy)
    assert (policy.partition("=")[0] in problems, after) == (True, rows)
