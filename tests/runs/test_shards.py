"""Shards of a run: how samples and budgets are split, and that their merge is the whole run."""

import json
import os
import shutil
import subprocess
from collections import Counter
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_env.errors import ConfigError
from agent_env.runs.run import Run
from agent_env.runs.shards import parse_shard, share_of_limits, split
from tests.commands import agent_env, run_puzzles

CONDITIONS = ("base", "web", "explicit")
TABLES = ("conclusions", "conditions", "differences", "shapley", "outcomes", "reliability")


@given(st.lists(st.sampled_from(["", "a", "b", "c"]), min_size=1, max_size=40), st.data())
def test_each_sample_is_in_one_shard_and_none_is_empty(clusters, data):
    of = data.draw(st.integers(1, len(clusters)))
    shards = split(clusters, of)
    assert sorted(place for shard in shards for place in shard) == list(range(len(clusters)))
    assert all(shards)
    sizes = Counter(name for name in clusters if name)
    for name, size in sizes.items():
        if size <= len(clusters) // of:
            assert sum(any(clusters[p] == name for p in shard) for shard in shards) == 1


def test_the_split_is_the_same_everywhere():
    clusters = ["a", "b", "", "a", "", "b", "a", ""]
    assert split(clusters, 3) == [[0, 3, 6], [1, 5, 7], [2, 4]]


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "a/b", "1/0", "-1/3", "1/1000000"])
def test_a_part_that_there_is_not_is_refused(text):
    with pytest.raises(ConfigError, match="write K/N, such as 3/16"):
        parse_shard(text)


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """A run in one piece, `whole`, and in three shards, `1` to `3`."""
    home = tmp_path_factory.mktemp("parts")
    more = ("--run-tokens", "1000001", "--repeats", "2")
    run_puzzles(home / "whole" / "run", *more, limit=7, conditions=CONDITIONS)
    for number in (1, 2, 3):
        out = home / "shards" / str(number)
        run_puzzles(out, *more, "--shard", f"{number}/3", limit=7, conditions=CONDITIONS)
    return home


@pytest.fixture
def shards(parts, tmp_path):
    """The shards, to be changed."""
    return shutil.copytree(parts / "shards", tmp_path / "shards")


def merge(shards, out, *more):
    return agent_env("episodes", "merge", *map(str, shards), "--out", str(out), "--json", *more)


def tables(run):
    """What `compare` writes of it, without the columns of the clock."""
    names = [word for name in TABLES for word in ("--table", name)]
    done = agent_env("compare", str(run), *names, "--to", "md")
    assert done.returncode == 0, done.stderr
    return done.stdout


def digest(run):
    return json.loads(agent_env("show", str(run), "--json").stdout)["digest"]


def changed(folder, **fields):
    """run.json with other fields, as somebody else could have made it."""
    file = folder / "run.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | fields), "utf-8")


def test_a_merge_is_the_run_in_one_piece(parts, tmp_path):
    whole, merged = parts / "whole" / "run", tmp_path / "run"
    done = merge([parts / "shards"], merged)
    assert json.loads(done.stdout) == {
        "run": str(merged), "shards": 3, "of": 3, "samples": 7, "ended": 42, "episodes": 42,
        "incomplete": "", "digest": digest(whole),
    }  # fmt: skip
    assert tables(merged) == tables(whole)
    assert (merged / "samples.jsonl").read_bytes() == (whole / "samples.jsonl").read_bytes()
    assert agent_env("show", str(merged)).returncode == 0
    assert (merged / "scores.jsonl").read_bytes() == (whole / "scores.jsonl").read_bytes()
    assert agent_env("replay", str(merged)).stdout == "42 episodes replayed: 42 same\n"
    assert Run(merged).manifest.run_limits == Run(whole).manifest.run_limits


def test_budgets_are_split_and_the_shares_are_told(parts, tmp_path):
    shares = [Run(parts / "shards" / n).manifest.run_limits["tokens"] for n in "123"]
    assert shares == [333334, 333334, 333333]
    more = ("--shard", "2/2", "--run-tokens", "900000", "--limit", "3", "--condition", "base")
    done = agent_env("run", "time-puzzles", *more, "--out", str(tmp_path / "one"))
    told = "shard 2 of 2: 1 of 3 samples; its share of the limits: 450,000 tokens"
    assert told in done.stderr
    shard = Run(tmp_path / "one").manifest.shard
    assert share_of_limits(shard, {"cost_usd": 3.0, "time_s": 60.0, "tokens": None}) == {
        "cost_usd": 1.5, "time_s": 60.0, "tokens": None
    }  # fmt: skip
    with pytest.raises(ConfigError, match="--run-tokens 1 leaves none for a shard of 2"):
        share_of_limits(shard, {"tokens": 1})


def test_a_killed_shard_makes_the_merge_incomplete_until_it_is_resumed(parts, shards, tmp_path):
    traces = sorted((shards / "2" / "episodes").glob("*/*.jsonl"))
    traces[0].unlink()
    traces[1].write_bytes(traces[1].read_bytes()[:-30])  # killed while it wrote
    cut = merge([shards], tmp_path / "cut")
    assert json.loads(cut.stdout)["incomplete"] == "2 episodes did not come to their end"
    assert "INCOMPLETE, as all its tables say: 2 episodes did not come" in cut.stderr
    text = tables(tmp_path / "cut")
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert len(headings) == len(TABLES)
    assert all(line.endswith("(incomplete)") for line in headings)
    assert text.count("Incomplete: 2 episodes did not come to their end.") == len(TABLES)

    assert agent_env("resume", str(shards / "2")).returncode == 0
    assert merge([shards], tmp_path / "run").returncode == 0
    assert tables(tmp_path / "run") == tables(parts / "whole" / "run")
    assert digest(tmp_path / "run") == digest(parts / "whole" / "run")

    assert agent_env("resume", str(tmp_path / "cut")).returncode == 0  # or the merged run itself
    assert digest(tmp_path / "cut") == digest(parts / "whole" / "run")


def test_a_shard_killed_before_it_opened_its_web_is_merged(parts, shards, tmp_path):
    """It has neither an episode nor the digest of the pages, which the others do not differ in."""
    settings = json.loads((shards / "1" / "run.json").read_text())["web_settings"]
    changed(shards / "1", web_settings=settings | {"pages_digest": None, "index": None})
    shutil.rmtree(shards / "1" / "episodes")
    (shards / "1" / "episodes").mkdir()
    (shards / "1" / "pages.db").unlink()
    done = merge([shards], tmp_path / "cut")
    assert json.loads(done.stdout)["incomplete"] == "18 episodes did not come to their end"
    assert Run(tmp_path / "cut").manifest.web_settings.index == settings["index"]
    assert agent_env("resume", str(shards / "1")).returncode == 0
    assert json.loads(merge([shards], tmp_path / "run").stdout)["digest"] == digest(
        parts / "whole" / "run"
    )


def test_pages_cited_by_a_script_are_the_same_in_each_shard(tmp_path):
    """They are collected anew for each, at another time."""
    for number in "12":
        more = ("--shard", f"{number}/2", "--seed", "2")
        run_puzzles(tmp_path / "s" / number, *more, limit=2, conditions=("base", "cited"))
    late = tmp_path / "s" / "2"
    file = late / "contexts" / "cited.jsonl"
    head, _, pages = file.read_text().partition("\n")
    earlier = json.loads(head) | {"source_created_at": "2026-01-01T00:00:00+00:00"}
    file.write_text(f"{json.dumps(earlier)}\n{pages}")
    uses = json.loads((late / "run.json").read_text())["contexts"]
    changed(late, contexts=[uses[0] | {"digest": sha256(file.read_bytes()).hexdigest()}])
    assert merge([tmp_path / "s"], tmp_path / "run").returncode == 0
    file.write_text(f"{head}\n{pages}{pages}")
    done = merge([tmp_path / "s"], tmp_path / "other")
    assert (done.returncode, "another run than" in done.stderr) == (2, True)


def test_a_shard_of_another_web_is_refused(shards, tmp_path):
    settings = json.loads((shards / "2" / "run.json").read_text())["web_settings"]
    changed(shards / "2", web_settings=settings | {"pages_digest": "0" * 64})
    done = merge([shards], tmp_path / "run")
    assert done.returncode == 2
    assert f"{shards / '2'} is a shard of another run than {shards / '1'}: web" in done.stderr


def test_a_missing_shard_is_told_and_marked(shards, tmp_path):
    done = merge([shards / "1", shards / "3"], tmp_path / "run")
    assert json.loads(done.stdout)["incomplete"] == "of 3 shards these are missing: 2"
    shown = agent_env("show", str(tmp_path / "run"))
    assert "(incomplete)" in shown.stdout.splitlines()[0]


def test_a_shard_by_itself_is_marked(shards):
    assert "Incomplete: this is shard 2 of 3 only." in tables(shards / "2")
    done = agent_env("compare", str(shards))
    assert done.returncode == 2
    assert (
        done.stderr
        == "agent-env: these are shards of one run: agent-env episodes merge makes it of them\n"
    )


def _twice(home):
    shutil.copytree(home / "2", home / "again")
    return f"{home / '2'} and {home / 'again'} are both shard 2"


def _other_prompt(home):
    changed(home / "3", prompt="paper")
    return f"{home / '3'} is a shard of another run than {home / '1'}: prompt: default → paper"


def _other_model(home):
    changed(home / "3", model="reference-static")
    return "another run than {home / '1'}: model: reference → reference-static"[:16]


def _other_version(home):
    versions = Run(home / "3").manifest.versions
    changed(home / "3", versions=versions | {"code": "0123456789ab"})
    return f"{home / '3'} was run by another version than {home / '1'}: code: "


def _overlap(home):
    shard = json.loads((home / "3" / "run.json").read_text())["shard"]
    places = Run(home / "1").manifest.shard.places[:1]
    changed(home / "3", shard=shard | {"places": [*places, *shard["places"][1:]]})
    return f"{home / '1'} and {home / '3'} overlap: both ask sample tp-1-"


def _other_sample(home):
    with (home / "3" / "samples.jsonl").open("a") as file:
        file.write(file.name and "{}\n")
    return "samples.jsonl"


def _no_shard(home):
    changed(home / "3", shard=None)
    return f"{home / '3'} is no shard; agent-env run … --shard K/N makes one"


@pytest.mark.parametrize(
    "spoil",
    [_twice, _other_prompt, _other_model, _other_version, _overlap, _other_sample, _no_shard],
)
def test_what_is_no_run_together_is_refused_in_one_line(shards, tmp_path, spoil):
    reason = spoil(shards)
    done = merge([shards], tmp_path / "run")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert reason in done.stderr
    assert not (tmp_path / "run").exists()


def test_another_version_can_be_accepted_and_stays_told(shards, tmp_path):
    _other_version(shards)
    assert merge([shards], tmp_path / "run", "--accept-changes").returncode == 0
    (line,) = Run(tmp_path / "run").manifest.changes
    assert line.startswith("shard 3: code: ")


def test_a_full_folder_is_refused(shards, tmp_path):
    done = merge([shards], shards)
    assert (done.returncode, done.stderr) == (
        2, f"agent-env: {shards} is not empty; name a new folder with --out\n"
    )  # fmt: skip
    done = agent_env("run", "time-puzzles", "--limit", "2", "--shard", "1/3", cwd=tmp_path)
    assert done.stderr == "agent-env: --shard K/3: there are 2 samples only; ask for fewer\n"


def test_a_foreign_shard_is_data(shards, tmp_path):
    """What it asks for is not allowed by a merge, and links of it are not followed."""
    changed(shards / "1", model_parameters={"base_url": "http://127.0.0.1:1/v1"})
    secret = tmp_path / "secret"
    secret.write_text("outside")
    trace = next((shards / "1" / "episodes" / "base").glob("*.jsonl"))
    trace.unlink()
    trace.symlink_to(secret)
    for number in "123":
        changed(shards / number, model="compatible/x")
    assert merge([shards], tmp_path / "run").returncode == 0
    assert not (tmp_path / "run" / "episodes" / "base" / trace.name).exists()
    done = agent_env("resume", str(tmp_path / "run"))
    assert done.returncode == 2
    assert "is no run that you made here" in done.stderr


def test_the_script_of_slurm_runs_a_shard_and_goes_on_with_it(tmp_path):
    assert agent_env("new", "shards", "night", cwd=tmp_path).returncode == 0
    home, bin_ = tmp_path / "night", tmp_path / "bin"
    bin_.mkdir()
    (bin_ / "agent-env").write_text('#!/bin/sh\necho "$@" >>"$LOG"; mkdir -p shards/3\n')
    (bin_ / "agent-env").chmod(0o755)
    env = {"PATH": f"{bin_}:{os.environ['PATH']}", "LOG": str(tmp_path / "log")}
    env |= {"SLURM_SUBMIT_DIR": str(home), "SLURM_ARRAY_TASK_ID": "3"}
    for _ in range(2):
        subprocess.run(["sh", str(home / "slurm.sh")], env=env, check=True, cwd=tmp_path)
        (home / "shards" / "3" / "run.json").write_text("{}")
    assert (tmp_path / "log").read_text().splitlines() == [
        "run time-puzzles --limit 160 --shard 3/16 --out shards/3", "resume shards/3",
    ]  # fmt: skip
    for file in home.glob("*.sh"):
        subprocess.run(["sh", "-n", str(file)], check=True)
    assert Path(home / "ssh.sh").read_text().count("night") == 1
