"""Problems of a file's rows, each with its line, and what each policy does to them."""

import pytest

from agent_env.errors import ConfigError
from agent_env.features.facts.tables import table_doctor as doctor
from agent_env.features.facts.tables.table_doctor import diagnose, read_policies
from agent_env.features.facts.tables.table_records import read_sheet
from tests.tables import tables

CASES = tables(__file__)
CLUB = doctor.TableUse(("who",), ("club",))


def written(folder, text):
    file = folder / "t.csv"
    file.write_text(text)
    return read_sheet(file)


def repaired(sheet, *policies, use=CLUB):
    return doctor.repaired(sheet, read_policies(policies), use)


@pytest.fixture
def sheet(tmp_path):
    return written(tmp_path, CASES["problems"])


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


@pytest.mark.parametrize(("policy", "lines", "logged"), CASES["policies"])
def test_each_policy_changes_its_own_rows_and_logs_them(sheet, policy, lines, logged):
    after, log = repaired(sheet, policy)
    assert len(after.rows) == lines
    found = [[each for each in (entry.line, entry.after) if each is not None] for entry in log]
    assert found == logged
    assert {f"{entry.problem}={entry.policy}" for entry in log} == {policy}


@pytest.mark.parametrize(("text", "reason"), CASES["unknown"])
def test_an_unknown_policy_is_named(text, reason):
    with pytest.raises(ConfigError, match=reason):
        read_policies([text])


def findings(text, folder, policy):
    """The problems by `who → club`, and the rows after the repair by this policy."""
    found = written(folder, f"Who,Club,Start,End\n{text}")
    after, _ = repaired(found, policy)
    return [each.problem for each in diagnose(found, CLUB)], [row.text for row in after.rows]


@pytest.mark.parametrize(("text", "policy", "rows"), CASES["mended"])
def test_rows_are_mended_where_they_need_not_be_dropped(tmp_path, text, policy, rows):
    problems, after = findings(text, tmp_path, policy)
    assert (policy.partition("=")[0] in problems, after) == (True, rows)
