"""The worked examples are right: every day was looked at."""

from datetime import date, timedelta

from agent_env.families.time_puzzles.examples import WORKED


def days(fits) -> tuple[str, ...]:
    all_days = (date(1800, 1, 1) + timedelta(days=n) for n in range(91_676))
    return tuple(day.isoformat() for day in all_days if fits(day))


def test_the_leap_day() -> None:
    assert WORKED[0].answer == days(
        lambda d: 1996 <= d.year <= 2003 and (d.month, d.day, d.weekday()) == (2, 29, 1)
    )


def test_the_fridays_the_thirteenth() -> None:
    assert WORKED[1].answer == days(
        lambda d: (d.year, d.day, d.weekday()) == (2015, 13, 4) and d.month in (12, 1, 2, 3, 4, 5)
    )
