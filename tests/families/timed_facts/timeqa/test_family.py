"""TimeQA's own rules: the whole response against the best gold answer.

TimeQA's published formats: lines of questions, and the annotated array.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from agent_env.errors import DatasetError
from agent_env.families.timed_facts.sample import TimedQuestion, timed
from agent_env.families.timed_facts.timeqa.family import measure, read_foreign


@pytest.mark.parametrize(
    ("gold", "text", "exact", "f1"),
    [
        (("Marn F.C.", "Vell"), "marn fc", 1, 1),
        (("The Marn",), "Marn", 1, 1),
        (("Marn Bears",), "Answer: Marn Bears", 0, 0.8),
        (("Marn Bears", "Vell"), "Marn Bears, Vell", 0, 0.8),
        (("Zürich",), "Zurich", 0, 0),
        ((), "", 1, 1),
        ((), "unanswerable", 0, 0),
    ],
)
def test_a_response_is_compared_whole(
    gold: tuple[str, ...], text: str, exact: float, f1: float
) -> None:
    metrics = measure(gold, text)["metrics"]
    assert metrics == {"squad_em": exact, "squad_f1": pytest.approx(f1)}


LINE = {
    "idx": "/wiki/Knox#P39#2",
    "question": "Which position did Knox hold from Mar 1935 to 1947?",
    "context": "Knox was a member.",
    "targets": ["member", "MP"],
    "paragraphs": [{"title": "Knox", "text": "Knox was a member."}],
}
ANNOTATED = {
    "index": "/wiki/GMMTV#P749", "type": "P749", "link": "/wiki/GMMTV",
    "questions": [
        ["GMMTV had what owning it from Aug 1995 to Aug 2002?",
         [{"para": 1, "from": 4, "end": 14, "answer": "GMM Grammy"}]],
        ["GMMTV had what owning it in 1890?", [{"answer": ""}]],
    ],
    "paras": ["GMMTV", "The GMM Grammy company."],
}  # fmt: skip


def read(file: Path, text: str) -> list[TimedQuestion]:
    file.write_text(text)
    made = read_foreign(file)
    assert made is not None
    return [timed(sample) for sample in made.samples]


def test_lines_are_read_and_an_empty_target_means_that_there_is_no_answer(tmp_path: Path) -> None:
    lines = [json.dumps(LINE), json.dumps({**LINE, "targets": [""]})]
    first, second = read(tmp_path / "test.hard.json", "\n".join(lines))
    assert (first.gold, first.cell) == (("member", "MP"), "hard-multi")
    assert (second.gold, second.cell) == ((), "hard-none")
    assert first.id == "timeqa-000001-wiki-Knox-P39-2"
    assert first.context("open-book") == "Knox was a member."


def test_paragraphs_stand_for_a_missing_context_and_words_for_a_missing_level(
    tmp_path: Path,
) -> None:
    (asked,) = read(tmp_path / "test.json", json.dumps({**LINE, "context": None}))
    assert (asked.text, asked.level) == ("Knox was a member.", "easy")


def test_the_annotated_array_is_read_question_by_question(tmp_path: Path) -> None:
    first, second = read(tmp_path / "annotated.json", json.dumps([ANNOTATED]))
    assert (first.gold, first.cell) == (("GMM Grammy",), "easy-single")
    assert (second.gold, second.cell) == ((), "hard-none")
    assert first.text == "GMMTV\nThe GMM Grammy company."
    assert first.id != second.id


def test_a_question_that_is_no_pair_is_named(tmp_path: Path) -> None:
    broken = {**ANNOTATED, "questions": ["why?"]}
    with pytest.raises(DatasetError, match=r"a\.json:2: a question is not a pair"):
        read(tmp_path / "a.json", json.dumps([ANNOTATED, broken]))


TIMEBENCH = {
    "question": "After Jan 890, who was the head of Karvel?",
    "context": "Bo Lind led Karvel from May 890 to 895 .",
    "answer": ["Bo Lind"],
    "question_type": "after_implicit",
    "idx": "/wiki/Karvel#P6#0",
}


def test_timebench_records_have_a_type_and_may_be_unanswerable(tmp_path: Path) -> None:
    none = {**TIMEBENCH, "answer": ["unanswerable"]}
    easy = {**TIMEBENCH, "question_type": "in_explicit"}
    records = read(tmp_path / "t.jsonl", "\n".join(map(json.dumps, (TIMEBENCH, none, easy))))
    assert [question.cell for question in records] == ["hard-single", "hard-none", "easy-single"]
    assert records[0].id == "timeqa-000001-wiki-Karvel-P6-0"
    assert records[1].gold == ()
    assert records[0].context("open-book") == "Bo Lind led Karvel from May 890 to 895 ."


@pytest.mark.parametrize("name", ["human_train.easy.json.gzip", "human_train.hard.json.gz"])
def test_a_gzip_file_is_read_as_what_it_packs(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_bytes(gzip.compress(json.dumps(LINE).encode()))
    made = read_foreign(file)
    assert made is not None
    (question,) = [timed(sample) for sample in made.samples]
    assert question.cell == f"{name.split('.')[1]}-multi"
    assert question.gold == ("member", "MP")


def test_half_a_gzip_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "human_train.easy.json.gzip"
    file.write_bytes(gzip.compress(json.dumps(LINE).encode())[:-12])
    with pytest.raises(DatasetError, match=r"gzip: breaks off: the gzip file is not whole"):
        read_foreign(file)


def test_half_an_array_is_named(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"a\.json: is not JSON"):
        read(tmp_path / "a.json", json.dumps([ANNOTATED])[:-9])


def test_answers_that_are_no_objects_are_named(tmp_path: Path) -> None:
    broken = {**ANNOTATED, "questions": [["Who owned GMMTV in 1999?", ["GMM"]]]}
    with pytest.raises(DatasetError, match=r"a\.json:1: the answers to 'Who owned GMMTV "):
        read(tmp_path / "a.json", json.dumps([broken]))
