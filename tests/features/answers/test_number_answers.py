"""The one number of an answer: no comparison, no other reading of its marks, no operation."""

from decimal import Decimal

import pytest

from agent_env.features.answers.number_answers import parse_number_text, value_of

READ = {
    "366": "366|366 days|about 366|366.0|+366|$366$|\\boxed{366}|366!|3.66e2|366m|366 km²|366 m/s^2"
    "|366 K|after 366 days|It grew by 366|366 (three hundred and sixty-six)|x = 366|366 times|€366"
    "|366 or so|There is no doubt: 366",
    "366000": "366k|366 thousand|366,000|366'000|366\u202f000|3,66,000|366{,}000|366\\,000",
    "1000000": "1 million|$1 million|1-million|10 lakh|1 000 000|<1000000>|1 mn|0.001 billion"
    "|1.000.000|1000 thousand",
    "1234.5": "1.234,5|1,234.5|1234.50",
    "-3": "-3|−3|–3|minus 3|negative 3|-$3|-3 °C",
    "0.5": ".5|0.50",
}
NOT_GIVEN = (
    "more than 366|at least 366|366 or more|366 days or more|366+|>366|x < 366|≠ 366|over 366"
    "|up to 366|at most about 366|366 minimum|no fewer than 366|almost 366"
    "|in excess of 366|366 and counting"
    "|It does not have 366 days|any number but 366|wrongly given as 366|one more than 366|twice 366"
    "|half of 366|\\sqrt{366}|366 squared|366²|366½|366 and a half|366/366|366^366|366 × 366"
    "|366-366|366 plus one|366K|366M|366 mil|the 1990s|- 366|1,5|1234,5|0,123|1.234.5|366%"
    "|366 percent|a million and 366|1 million two hundred thousand|42 911|3 or 4|many"
)


@pytest.mark.parametrize(("number", "texts"), READ.items())
def test_a_number_is_read_as_it_is_written(number, texts):
    values = {text: parse_number_text(text)[0] for text in texts.split("|")}
    assert values == dict.fromkeys(values, Decimal(number))


@pytest.mark.parametrize("text", NOT_GIVEN.split("|"))
def test_what_is_compared_denied_reckoned_or_unclear_is_no_number(text):
    assert parse_number_text(text)[0] is None


def test_percent_are_a_unit_where_they_are_asked_for():
    assert parse_number_text("45 %", has_percent=True) == (Decimal(45), "")
    assert parse_number_text("45 %") == (None, "is a share in percent")


def test_a_right_answer_is_one_clear_number():
    assert [value_of(text) for text in ("-1,250.5", "1.234,5", "1E+6", "1,5", "- 3", "x")] == [
        Decimal("-1250.5"), Decimal("1234.5"), Decimal(1_000_000), None, None, None,
    ]  # fmt: skip
