"""Text by somebody else stays text: in spreadsheets, Markdown, LaTeX and on a terminal."""

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_env.records.escaping import csv_text, latex_text, markdown_text, unguarded, visible

STARTS = [*"=+-@＝＋－＠", *map(chr, (0, 9, 10, 13, 27, 127, 0x9B, 0xFEFF))]
FRAGMENTS = ["'", " ", "\r", "\n", ",", '"', "1", ".", "a", *STARTS]


def cells(text):
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("before", ["", " ", "\u00a0"])
def test_a_cell_that_begins_like_a_formula_is_text(start, before):
    (line,) = cells(csv_text([(f"{before}{start}1+cmd|' /C calc'!A0",)]))
    assert line == [f"'{before}{start}1+cmd|' /C calc'!A0"]


@pytest.mark.parametrize("number", ["-1", "+0.25", "-.5", "-1,200.5", "+3%", "-2e-05", "-"])
def test_written_numbers_and_dashes_stay_as_they_are(number):
    assert csv_text([(number,)]) == f'"{number}"\n' if "," in number else f"{number}\n"


def test_numbers_stay_numbers_and_a_bare_carriage_return_begins_no_record():
    assert csv_text([(-1, -0.5, None, True)]) == "-1,-0.5,,True\n"
    assert csv_text([("a\r=1+1", "b")]) == '"a\r=1+1",b\n'


@pytest.mark.parametrize("almost", ["-1+1", "+1a web", "-2-3", "--1", "-1\r", "-cmd"])
def test_what_only_begins_as_a_number_is_text(almost):
    assert cells(csv_text([(almost,)])) == [[f"'{almost}"]]


@given(st.lists(st.text(st.sampled_from(FRAGMENTS)), min_size=2))
def test_what_is_read_back_is_what_was_written(record):
    (line,) = cells(csv_text([record]))
    assert [unguarded(cell) for cell in line] == record


def test_markdown_and_latex_of_a_foreign_text_run_nothing():
    told = markdown_text("a|b\n![x](http://tracker) [y][z] <img src=x> `code` &lt; \x1b[8m")
    assert told == r"a\|b ![x]\(http://tracker) [y]\[z] \<img src=x> \`code\` \&lt; \\u001b[8m"
    assert markdown_text("0.5 [0.4, 0.6] <0.001 R&D") == "0.5 [0.4, 0.6] <0.001 R&D"
    told = latex_text("\\input{/etc/passwd} & 50% $x_1$ #\n\n~^")
    accents = r"\textasciitilde{}\textasciicircum{}"
    assert told == r"\textbackslash{}input\{/etc/passwd\} \& 50\% \$x\_1\$ \#  " + accents


def test_controls_and_what_changes_direction_are_shown_as_json_would_write_them():
    foreign = "\x1b[2J\x9b8m\u202e\u2066\u200f\u061c\x00\x08\r\ud83d"
    assert visible(foreign) == (
        r"\u001b[2J\u009b8m\u202e\u2066\u200f\u061c\u0000\u0008\u000d\ud83d"
    )
    assert json.loads(f'"{visible(foreign)}"') == foreign
    assert visible("a\tb\r\nc — ℃ 日") == "a\tb\nc — ℃ 日"
