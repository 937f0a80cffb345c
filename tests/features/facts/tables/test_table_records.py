"""Which columns hold the time of a row, and which columns depend on which, found and stated."""

import pytest

from agent_env.errors import ConfigError, DatasetError
from agent_env.features.facts.tables.table_doctor import dependencies
from agent_env.features.facts.tables.table_records import TemporalTableOptions, read_sheet


def sheet(folder, text, **options):
    file = folder / "t.csv"
    file.write_text(text)
    return read_sheet(file, TemporalTableOptions.model_validate(options))


def spans(found):
    return [(row.start, row.end) for row in found.rows]


@pytest.mark.parametrize(
    "head",
    ["who,Start,End", "who,begin_date,end_date", "who,from,to", "who,Start of term,End of term",
     "who,Since,Until", "who,valid_from,valid_to", "who,startdate,enddate", "who,von,bis"],
)  # fmt: skip
def test_columns_of_time_are_found_by_name_or_by_dates(tmp_path, head):
    found = sheet(tmp_path, f"{head}\na,4.8.1968,Feb 4 1970\nb,1.1.1970,present\n")
    assert found.columns == ("who",)
    assert spans(found) == [("1968-08-04", "1970-02-04"), ("1970-01-01", "")]
    assert (found.notes == ()) == (head == "who,Start,End")


def test_times_dependencies_and_aliases_are_found(tmp_path):
    text = "film,added,released,born\na,2001,1990,1950\nb,2002,1991,1960\n"
    assert sheet(tmp_path, text).notes == (
        "a row starts by the column released, ends by none: all still last; dates are in added, "
        "born",
    )
    found = sheet(tmp_path, text, start="Released", end="added")
    assert (found.columns, spans(found)[0]) == (("film", "born"), ("1990", "2001"))
    assert spans(sheet(tmp_path, text, start="added", end="none"))[0] == ("2001", "")
    with pytest.raises(ConfigError, match="start=year: there is no such column; there are film"):
        sheet(tmp_path, text, start="year")
    text = "film,a,b,c\nx,2001,1990,1950\ny,2002,1991,1960\n"
    with pytest.raises(DatasetError, match="no column 'start'; dates are in a, b, c; say --opt"):
        sheet(tmp_path, text)
    found = sheet(tmp_path, "from,to,start,end\nRome,Oslo,2001,2002\n")
    assert (found.columns, spans(found)) == (("from", "to"), [("2001", "2002")])
    found = sheet(tmp_path, "who,b,a\nx,2001,1990\ny,2002,1991\n")
    assert spans(found) == [("1990", "2001"), ("1991", "2002")]
    text = (
        "country,role,name,start,end\nA,king,P,1990,1999\nA,king,Q,1999,\nA,pm,R,1990,1995\n"
        "A,pm,S,1995,\nB,king,T,1980,1992\nB,king,U,1992,\n"
    )
    first = dependencies(sheet(tmp_path, text))[0]
    assert (first.keys, first.answer) == (("country", "role"), "name")
    assert (first.groups, first.broken) == (3, 0)
    text = "id,patient,bill,doctor,image,start,end\n" + "".join(
        f"{n},p{n % 4},{n}.5,{'ABC'[n % 3]},x{n}.png,{2000 + n},{2001 + n}\n" for n in range(12)
    )
    first, *_, a, b, c = (each.answer for each in dependencies(sheet(tmp_path, text)))
    assert (first, {a, b, c} - {"id", "bill", "image"}) == ("doctor", set())
    text = "title,director,released\nX,P,1990\nX,Q,2001\nY,R,1995\nY,P,2003\n"
    assert [str(each) for each in dependencies(sheet(tmp_path, text))] == [
        "title → director (2 groups with several answers)",
        "director → title (1 groups with several answers)",
    ]
    (tmp_path / "names.csv").write_text("name,aliases\nShōwa,Hirohito\nTaishō,Hirohito\n")
    with pytest.raises(DatasetError, match=r"names\.csv:3: 'Hirohito' is an alias of 'Shōwa' and"):
        sheet(tmp_path, "who,start,end\na,2001,2002\n", aliases=str(tmp_path / "names.csv"))
