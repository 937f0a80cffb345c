"""Runs with web ablations, from the options to the split."""

import asyncio
import json

import pytest

import agent_env as ae


def run(out, **options):
    given = {"conditions": ["web"], "limit": 3, "progress": False, "preflight": "off"}
    return ae.run_sync("time-puzzles", **{**given, "out": out, **options})


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ablation")
    return {
        model: run(folder / model, model=model, web_ablations=["shifted"])
        for model in ("reference", "rememberer")
    }


def rights(run):
    found = {}
    for episode in run.episodes():
        found.setdefault(episode.record.condition, []).append(episode.score["exact_match"])
    return found


def test_readers_follow_the_shifted_world_and_the_split_tells_it_of_one_question(runs):
    assert rights(runs["reference"]) == {"web": [1, 1, 1], "web~shifted": [1, 1, 1]}
    assert rights(runs["rememberer"]) == {"web": [1, 1, 1], "web~shifted": [0, 0, 0]}
    rows = ae.compare(*runs.values()).table("ablation").rows
    evidence_and_memory = {row[0]: (row[2][0], row[3][0]) for row in rows}
    assert evidence_and_memory == {"reference web": (1, 0), "rememberer web": (0, 1)}
    folder = runs["reference"].path / "episodes"
    for trace in (folder / "web").glob("*.jsonl"):
        plain, shifted = (
            json.loads((folder / name / trace.name).read_text().splitlines()[0])["messages"]
            for name in ("web", "web~shifted")
        )
        assert plain == shifted


def test_without_the_proving_pages_a_reader_is_lost_and_a_rememberer_is_not(tmp_path):
    given = {"web_ablations": ["blocked"], "limit": 1}
    reader = run(tmp_path / "reference", model="reference", **given)
    rememberer = run(tmp_path / "rememberer", model="rememberer", **given)
    assert rights(reader) == {"web": [1], "web~blocked": [0]}
    assert rights(rememberer) == {"web": [1], "web~blocked": [1]}


def test_the_shifted_world_is_replayed_and_forked_with_its_own_gold(runs, tmp_path):
    run = runs["reference"]
    for live in (False, True):
        assert [result.verdict for result in run.replay(tools_live=live)] == ["same"] * 6
    plain, shifted = (run.episode(f"{name}/tp-1-00001.1") for name in ("web", "web~shifted"))
    assert plain.sample.gold != shifted.sample.gold
    assert shifted.answer.endswith(", ".join(shifted.sample.gold))
    assert dict(shifted.score)["original"] == 0
    given = {"condition": "web+cal", "out": tmp_path / "fork", "progress": False}
    (again,) = asyncio.run(shifted.fork(at=1, **given)).episodes()
    assert (again.record.condition, again.score["exact_match"]) == ("web+cal~shifted", 1)


def test_a_sample_without_proving_page_is_left_out_and_named(tmp_path, runs):
    lines = (runs["reference"].path / "samples.jsonl").read_text().splitlines()
    first, second, _ = map(json.loads, lines)
    first |= {"evidence": [], "proofs": [], "ablation": None}
    file = tmp_path / "set.jsonl"
    file.write_text(json.dumps(first) + "\n" + json.dumps(second) + "\n")
    made = run(tmp_path / "run", dataset=file, web_ablations=["blocked"], limit=None)
    manifest = json.loads((made.path / "run.json").read_text())
    reason = "the web has no page that proves their answers"
    assert (manifest["samples"], manifest["left_out"]) == (1, {first["id"]: reason})
