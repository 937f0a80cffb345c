"""The doctor's advice: it repairs what it says it repairs, and is no option that was given."""

import re

import pytest

from agent_env.features.doctor import examine as doctor
from agent_env.features.doctor.examine import examine

GOOD = "a,P,2001-01-05,2003-01-01\na,Q,2003-01-01,2005-01-01\nb,R,2001-01-01,2002-01-01\n"
BAD = {
    "mixed-precision": "b,S,2002,2004-01-01\n",
    "missing-mark": "b,S,2002-01-01,nan\n",
    "no-date": "b,S,2002-01-01,2004-02-30\n",
    "zero-length": "b,S,2002-01-01,2002-01-01\n",
    "reversed": "b,S,2005-01-01,2002-01-01\n",
    "open-end": "b,S,2002-01-01,\nb,T,2006-01-01,2007-01-01\n",
    "dependency": "b,S,2001-01-01,2002-01-01\n",
}


def examined(folder, bad, repair):
    file = folder / "posts.csv"
    file.write_text(f"post,who,start,end\n{GOOD}{bad}")
    own = [f"repair={repair}"] if repair else []
    return examine([file], ["question=post", "answer=who", *own], None)


@pytest.fixture
def uncounted(monkeypatch):
    """What advice is given does not depend on how many queries there are of each kind."""
    monkeypatch.setattr(doctor, "_kinds", lambda options: ())


@pytest.mark.usefixtures("uncounted")
@pytest.mark.parametrize("problem", BAD)
@pytest.mark.parametrize(
    "repair", ["", "{p}=keep", "standard,{p}=keep", "far-end=blank", "adjoining=coalesce,{p}=keep"]
)
def test_the_advice_repairs_and_names_what_is_left(tmp_path, problem, repair):
    if problem == "open-end":
        repair = repair.replace("standard,", "zero-length=drop,")  # else its group is dropped
    report = examined(tmp_path, BAD[problem], given := repair.format(p=problem))
    assert report.is_blocked
    assert problem in report.advice
    advice = re.search(r"--option repair=(\S+) repairs", report.advice)[1]
    assert set(advice.split(",")) != set(given.split(","))
    assert not examined(tmp_path, BAD[problem], advice).is_blocked


@pytest.mark.parametrize("problem", BAD)
def test_standard_leaves_nothing_that_keeps_questions_away(tmp_path, problem):
    assert not examined(tmp_path, BAD[problem], "standard").is_blocked


@pytest.mark.usefixtures("uncounted")
def test_the_number_of_rows_is_told(tmp_path):
    report = examined(tmp_path, BAD["mixed-precision"] + BAD["missing-mark"], "")
    line = "mixed-precision in 1 row, missing-mark in 1 row; --option repair=standard repairs"
    assert report.advice == line
