"""The tool over an event list: filter, count, latest."""

import asyncio

import pytest

from agent_env.errors import ToolError
from agent_env.records.schema import MaterialTable
from agent_env.tools.builtin.query_events import ROWS, QueryEvents
from tests.tables import tables

CASES = tables(__file__)
COLUMNS = ("event", "subject", "location", "time", "did")
TABLE = MaterialTable(name="events", columns=COLUMNS, rows=CASES["rows"])


def ask(operation, table=TABLE, **wanted):
    tool = QueryEvents(table)
    return asyncio.run(tool.run({"operation": operation, **wanted})).output


def test_all_events_come_in_the_order_of_time_and_the_latest_that_fits():
    assert ask("filter").splitlines() == [
        "2023-01-31 08:00 | Tom | drink juice | living room",
        "2023-09-29 23:59 | Tom | drink juice | kitchen",
        "2023-09-30 00:00:30 | Mary | read book | kitchen",
    ]
    assert ask("latest", event="drink juice") == "2023-09-29 23:59 | Tom | drink juice | kitchen"
    assert ask("latest", since="2024") == "No event matches."


@pytest.mark.parametrize(("wanted", "count"), CASES["counts"])
def test_conditions_restrict_by_local_time(wanted, count):
    assert ask("count", **wanted) == str(count)


@pytest.mark.parametrize(("wanted", "said"), CASES["wrong"])
def test_what_is_wrong_is_told_to_the_model(wanted, said):
    with pytest.raises(ToolError, match=said):
        ask("filter", **wanted)


def test_a_long_list_is_given_in_pages():
    times = (f"2023-01-01T{n // 60:02d}:{n % 60:02d}+00:00" for n in range(ROWS + 20))
    rows = tuple(("read book", "Tom", "attic", time, "") for time in times)
    table = TABLE.model_copy(update={"rows": rows})
    first = ask("filter", table).splitlines()
    assert (len(first), first[-1]) == (ROWS + 1, "(20 more; continue with offset 100)")
    assert len(ask("filter", table, offset=100).splitlines()) == 20
    assert ask("filter", table, offset=500) == "Only 120 events match; offset 500 is too high."
