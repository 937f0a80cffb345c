"""A run's claims judged again: an honest run holds, and each single change is named."""

import asyncio
import json
import random
from pathlib import Path

import pytest

from agent_env.episodes.run_folder import begun_in
from agent_env.features.verify.claims import CHECKS, VerifyOptions, differences
from agent_env.features.verify.pack import PackOptions, pack, verify_target
from agent_env.runs.run import Run
from tests import frauds
from tests.commands import agent_env, run_puzzles

PRICES = """[models.reference]
input_per_million = 1.0
output_per_million = 4.0
date = 2026-01-31
source = "made up"
"""


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    """A pack of eight episodes, in four of which pages were opened."""
    folder = tmp_path_factory.mktemp("honest")
    (folder / "prices.toml").write_text(PRICES)
    more = ("--repeats", "2", "--prices", str(folder / "prices.toml"))
    run_puzzles(folder / "run", *more, limit=2, conditions=("explicit", "web"))
    return pack(PackOptions(folder / "run"), print).file


@pytest.fixture
def changed(honest, tmp_path):
    """What the pack holds, to be changed."""
    return frauds.unpack(honest, tmp_path / "changed")


def cheated(folder, fraud):
    """Where the fraud shows; the digests of the run fit again."""
    where = fraud(folder, random.Random(7))
    frauds.resealed(folder)
    return where


def zipped(folder):
    return frauds.zipped(folder, folder.with_name("changed.zip"))


def packed_again(folder):
    return pack(PackOptions(folder / "run", folder.with_name("again.zip")), print).file


def verified(target):
    return asyncio.run(verify_target(VerifyOptions(target), print))


def verdicts(result):
    return {claim.name: claim.verdict for claim in result.claims}


def failing(result):
    return {claim.name: claim.findings for claim in result.claims if claim.verdict == "fails"}


def test_every_claim_of_an_honest_pack_holds_and_of_its_folder_what_can_be_checked(honest):
    assert verdicts(verified(honest)) == dict.fromkeys(CHECKS, "holds")
    seen = verdicts(verified(honest.with_suffix("")))
    assert {n for n, verdict in seen.items() if verdict == "unchecked"} == {"files", "figures"}
    assert "fails" not in seen.values()
    times = begun_in(Run(honest.with_suffix("")))
    assert sorted(times)[:2] == ["explicit/tp-1-00001.1", "explicit/tp-1-00001.2"]
    assert {len(each) for each in times.values()} == {1}


@pytest.mark.parametrize("fraud", [each for each in frauds.FRAUDS if each is not frauds.page])
def test_a_single_change_is_named_though_all_digests_fit_again(changed, fraud):
    where = cheated(changed, fraud)
    frauds.restated(changed)
    result = verified(zipped(changed))
    assert not result.holds
    assert any(where in line for lines in failing(result).values() for line in lines)


@pytest.mark.parametrize(
    ("fraud", "claim"),
    [(frauds.answer, "requests"), (frauds.dropped, "episodes"), (frauds.rechosen, "repeats"),
     (frauds.cut, "episodes"), (frauds.asked_again, "repeats"), (frauds.left_out, "questions"),
     (frauds.model, "model"), (frauds.gold, "gold")],
)  # fmt: skip
def test_it_is_named_too_where_the_cheat_packs_the_run_again(changed, fraud, claim):
    where = cheated(changed, fraud).removesuffix("s.jsonl")
    lines = failing(verified(packed_again(changed)))[claim]
    assert any(where in line or "tp-1-" in line for line in lines)


def test_a_reply_written_anew_before_packing_is_not_found(changed):
    """What docs/features/verify.md says that nobody can see in a pack."""
    cheated(changed, frauds.reply)
    assert verified(packed_again(changed)).holds


def test_an_episode_that_was_deleted_and_asked_again_was_begun_twice(changed):
    frauds.dropped(changed, random.Random(7))
    assert agent_env("resume", str(changed / "run"), "--trust-run").returncode == 0
    (line,) = failing(verified(changed / "run"))["repeats"]
    assert line.partition(": ")[2] == "was begun 2 times, and 1 traces are here"


def test_the_name_of_the_run_is_taken_out_of_no_word(changed, monkeypatch):
    (changed / "run").rename(changed / "a")
    next((changed / "a/episodes/explicit").glob("*.jsonl")).write_text("no trace")
    monkeypatch.chdir(changed)
    result = verified(Path("a"))
    assert failing(result)["scores"][0].endswith(": has a score and no trace")
    claims = {claim.name: claim.text for claim in result.claims}
    assert claims["files"] == "a folder has no list of its files; a pack has one"


@pytest.mark.parametrize(
    ("line", "verdict", "what"),
    [(3, "holds", "1 broken traces were set aside"), (0, "unchecked", "cannot be read")],
)
def test_a_trace_that_broke_holds_where_the_episode_went_on_from_it(changed, line, verdict, what):
    trace = frauds.traces(changed)[-1]
    lines = trace.read_bytes().splitlines(keepends=True)
    trace.write_bytes(b"".join([*lines[:line], b"garbage\n", *lines[line + 1 :]]))
    assert agent_env("resume", str(changed / "run"), "--trust-run").returncode == 0
    claim = next(each for each in verified(changed / "run").claims if each.name == "repeats")
    assert (claim.verdict, what in "\n".join((claim.text, *claim.findings))) == (verdict, True)


def test_samples_that_a_condition_cannot_ask_are_left_out_for_the_reason_that_comes_out(tmp_path):
    out = run_puzzles(tmp_path / "run", "--today", "1990-01-01", limit=6, conditions=("web",))
    assert list(Run(out).manifest.left_out) == ["tp-1-00002", "tp-1-00004"]
    assert verdicts(verified(out))["questions"] == "holds"


def test_options_that_the_task_does_not_have_fail(changed):
    frauds.change_run(changed, options={"facts": "many"})
    (line,) = failing(verified(changed / "run"))["questions"]
    assert line.startswith("run.json: ")
    assert "facts" in line


def test_code_that_is_not_ours_is_not_run_and_what_it_would_take_is_said(changed, tmp_path):
    (tmp_path / "evil.py").write_text("raise SystemExit('run')\n")
    frauds.change_run(changed, scorer=f"{tmp_path}/evil.py:score")
    frauds.restated(changed)
    seen = verdicts(verified(zipped(changed)))
    assert seen["files"] == seen["traces"] == seen["model"] == "holds"
    assert seen["gold"] == seen["scores"] == seen["requests"] == "unchecked"


def test_the_command_prints_each_verdict_and_exits_with_1_where_one_fails(honest, changed):
    done = agent_env("verify", str(honest))
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "11 holds, 0 fails, 0 unchecked")
    frauds.model(changed, random.Random(7))
    done = agent_env("verify", str(changed / "run"), "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["fails"] >= 1


def test_two_reports_differ_where_a_path_has_another_value():
    stated = {"a": {"b": [1.0, 2.0]}, "c": None, "same": 0.1 + 0.2}
    now = {"a": {"b": [1.0, 3.0]}, "d": 1, "same": 0.3}
    assert list(differences(stated, now)) == [
        "a.b[1]: 2.0 is stated, 3.0 comes out",
        "c: None is stated, nothing comes out",
        "d: nothing is stated, 1 comes out",
    ]


def test_numbers_that_a_stranger_makes_up_cost_no_time(changed):
    frauds.change_run(changed, samples=10**12, repeats=10**12)
    found = failing(verified(changed / "run"))
    assert found["questions"] == ("run.json: says 1000000000000 samples, and 2 are there",)
    assert found["episodes"][-1] == "and 39972 more"
