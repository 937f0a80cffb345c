"""The pages of a corpus that state what samples rest on, and those that state another date."""

import asyncio
import json

import pytest

from agent_env.errors import ConfigError
from agent_env.features.evidence.prove import prove
from agent_env.features.facts.sealed import SealedWeb
from agent_env.features.facts.tables.tables import shipped_tables
from agent_env.features.pages.corpus_import import import_files
from agent_env.tasks.sample_files import samples_bytes
from tests.families.time_puzzles.sets import generate

EVENT = "the Battle of Waterloo"
PAGES = [
    {"id": "title", "title": "Battle of Waterloo", "text": "It was fought south of Brussels. On "
     "June 18th, 1815 it rained. It ended the same day."},
    {"id": "line", "title": "Battles", "text": "Battle of Leipzig | 16 October 1813\nBattle of "
     "Waterloo | 18 June 1815"},
    {"id": "apart", "title": "Weather", "text": "It rained at the Battle of Waterloo. The storm of "
     "18 June 1815 went north."},
    {"id": "near", "title": "Battle of Waterloo (film)", "text": "A film, first shown in 1970."},
]  # fmt: skip
OTHER = "Fought on 17 June 1815."


def corpus(tmp_path, rows, name="corpus"):
    file = tmp_path / f"{name}.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    list(import_files(tmp_path / f"{name}.db", [file], "", print))
    return tmp_path / f"{name}.db"


@pytest.fixture(scope="module")
def puzzles():
    return generate(shipped_tables(), 40, seed=5)


@pytest.fixture(scope="module")
def waterloo(puzzles):
    """A puzzle whose one event is the battle's first day."""
    puzzle = next(p for p in puzzles if len(p.proofs) == 1 and p.facts[p.proofs[0].constraint]
                  .type == "kb_event")  # fmt: skip
    proof = puzzle.proofs[0]
    fact = puzzle.facts[proof.constraint].model_copy(update={"event": EVENT, "aspect": "start"})
    facts = [fact if n == proof.constraint else f for n, f in enumerate(puzzle.facts)]
    dated = proof.model_copy(update={"dates": ("1815-06-18",)})
    return puzzle.model_copy(update={"facts": tuple(facts), "proofs": (dated,)})


def proved(tmp_path, puzzles, pages, is_stated_only=False):
    file, out = tmp_path / "puzzles.jsonl", tmp_path / "out.jsonl"
    file.write_bytes(samples_bytes(puzzles))
    result = asyncio.run(prove(file, pages, out, is_stated_only, print))
    return result, [json.loads(line) for line in out.read_text().splitlines()]


def test_a_page_titled_so_and_a_line_with_the_name_prove_the_date(tmp_path, waterloo):
    result, (sample,) = proved(tmp_path, [waterloo], corpus(tmp_path, PAGES))
    (fact,) = result.facts
    assert fact.status == "stated"
    assert {s.url.rpartition("/")[2]: s.sentences for s in fact.statements} == {
        "title": ("On June 18th, 1815 it rained.",),
        "line": ("Battle of Waterloo | 18 June 1815",),
    }
    urls = ["https://corpus.invalid/line", "https://corpus.invalid/title"]
    assert sorted(sample["evidence"]) == sorted(sample["proofs"][0]["urls"]) == urls
    row = json.loads(result.listed.read_text())
    assert (row["name"], row["dates"]) == ("Battle of Waterloo", ["1815-06-18"])


@pytest.mark.parametrize(
    ("row", "status", "sentences"),
    [
        (PAGES[2], "not stated", []),
        ({"id": "o", "title": "Battle of Waterloo", "text": OTHER}, "other date", [OTHER]),
        (PAGES[3], "not stated", []),
    ],
)
def test_a_fact_that_is_not_stated_is_listed_and_has_no_page(
    tmp_path, waterloo, row, status, sentences
):
    result, (sample,) = proved(tmp_path, [waterloo], corpus(tmp_path, [row]))
    (fact,) = result.facts
    assert (fact.status, [s.sentences[0] for s in fact.statements]) == (status, sentences)
    assert (sample["evidence"], sample["proofs"][0]["urls"]) == ([], [])
    with pytest.raises(ConfigError, match="states all facts of none of the 1 samples"):
        proved(tmp_path, [waterloo], tmp_path / "corpus.db", is_stated_only=True)


def test_a_year_alone_counts_where_the_page_begins_or_names_the_thing(tmp_path, waterloo):
    year = waterloo.proofs[0].model_copy(update={"dates": ("1815",)})
    puzzle = waterloo.model_copy(update={"proofs": (year,)})
    late = "It rained for days. " * 60 + "In 1815 many died of fever."
    rows = [
        {"id": "late", "title": "Battle of Waterloo", "text": late},
        {"id": "lead", "title": "Battle of Waterloo", "text": f"In 1815 armies met. {late}"},
    ]
    result, _ = proved(tmp_path, [puzzle], corpus(tmp_path, rows))
    assert [s.url for s in result.facts[0].statements] == ["https://corpus.invalid/lead"]


@pytest.fixture(scope="module")
def sealed_texts(tmp_path_factory):
    """The shipped web as a stranger's corpus: other addresses, plain text, and nothing else."""
    folder = tmp_path_factory.mktemp("corpus")
    web = SealedWeb.shipped(folder / "sealed.db")
    texts = list(enumerate(web.store.texts()))
    web.close()
    rows = [{"id": number, "title": title, "text": text} for number, (_, title, text) in texts]
    return corpus(folder, rows), {f"https://corpus.invalid/{n}": url for n, (url, *_) in texts}


def test_the_pages_of_the_sealed_web_are_found_again_by_what_they_say(
    tmp_path, puzzles, sealed_texts
):
    pages, addresses = sealed_texts
    result, samples = proved(tmp_path, puzzles, pages)
    assert {fact.status for fact in result.facts} == {"stated"}
    found = missed = 0
    for puzzle, sample in zip(puzzles, samples, strict=True):
        assert sample["gold"] == list(puzzle.gold)
        for wanted, proof in zip(puzzle.proofs, sample["proofs"], strict=True):
            urls = {addresses[url] for url in proof["urls"]}
            assert wanted.urls[0] in urls  # the article
            found, missed = found + len(urls & {*wanted.urls}), missed + len({*wanted.urls} - urls)
    assert missed / (found + missed) < 0.1


def test_samples_without_facts_say_so(tmp_path, waterloo):
    pages = corpus(tmp_path, PAGES)
    with pytest.raises(ConfigError, match="name no facts that a page could prove"):
        proved(tmp_path, [waterloo.model_copy(update={"proofs": (), "evidence": ()})], pages)
