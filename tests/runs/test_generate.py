"""Sets from file to file: what is written beside them, and a model behind a real socket that words
their questions."""

import asyncio
import json
import re

import pytest

from agent_env.errors import ConfigError, DatasetError
from agent_env.extensions.fake_server import FakeServer, Refusal, ScriptedAnswer
from agent_env.runs.generate import GenerateOptions, make_set
from tests.plans import QUIET


def generate(out, url=None, **more):
    wording = {"wording": "model:compatible/m-1", "base_url": url} if url else {}
    asked = {"limit": 30, "seed": 2, "options": ("rows=60",), **wording, **more}
    return asyncio.run(make_set(GenerateOptions(task="tdbench", out=out, **asked), QUIET))


def lines(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


def served(out, policy, **more):
    """What is made with the model behind a server, and how many requests that took."""

    async def go():
        async with FakeServer(policy) as server:
            asked = {"limit": 30, "seed": 2, "options": ("rows=60",), **more}
            options = GenerateOptions(
                task="tdbench",
                out=out,
                wording="model:compatible/m-1",
                base_url=server.url,
                **asked,
            )
            return await make_set(options, QUIET), server.counts["/v1/chat/completions"]

    return asyncio.run(go())


async def rewords(turns, offers):
    """Says each sentence a little otherwise, the second with another year."""
    assert not offers
    sentences = turns[-1].content.split("\n\n")[1].splitlines()
    sentences[1] = re.sub(r"(19|20)\d\d", "1871", sentences[1])
    return ScriptedAnswer(
        "\n".join(f"{n}. Tell me, {text}" for n, text in enumerate(sentences, start=1))
    )


async def refuses(turns, offers):
    raise Refusal(400, "no")


def test_what_is_read_back_is_taken_and_the_rest_keeps_the_template(tmp_path):
    plain, out = tmp_path / "plain.jsonl", tmp_path / "td.jsonl"
    generate(plain)
    made, calls = served(out, rewords)
    assert calls == 10
    for own, worded in zip(lines(plain), lines(out), strict=True):
        by_model = own["phrasing"] != 1
        assert worded["worded_by"] == ("compatible/m-1" if by_model else "template")
        assert (worded["wording_prompt"] is not None) is by_model
        assert worded["question"] == ("Tell me, " if by_model else "") + own["question"]
        changed = ("question", "worded_by", "wording_prompt")
        assert {k: v for k, v in own.items() if k not in changed} == {
            k: v for k, v in worded.items() if k not in changed
        }
    assert (made.wording.worded, sum(made.wording.refused.values())) == (20, 10)
    summary = json.loads((tmp_path / "td.summary.json").read_text())
    assert (summary["generator"], summary["made"]) == (3, 30)
    told = summary["wording"]
    assert (told["model"], told["share_kept_template"]) == ("compatible/m-1", pytest.approx(1 / 3))
    assert told["tokens"]["input_tokens"] > 1000
    assert told["prompt_digest"] == lines(out)[0]["wording_prompt"]


def test_the_same_replies_give_the_same_bytes_and_are_asked_for_once(tmp_path):
    served(tmp_path / "td.jsonl", rewords)
    first = (tmp_path / "td.jsonl").read_bytes(), (tmp_path / "td.summary.json").read_bytes()
    _, calls = served(tmp_path / "td.jsonl", refuses)
    assert calls == 0
    again = (tmp_path / "td.jsonl").read_bytes(), (tmp_path / "td.summary.json").read_bytes()
    assert again == first


def test_a_model_that_refuses_ends_nothing_and_is_asked_again_next_time(tmp_path):
    out = tmp_path / "td.jsonl"
    made, _ = served(out, refuses)
    assert (made.wording.answered, made.wording.refused) == (0, {"no reply": 30})
    assert made.wording.totals.failed_calls == 10
    assert len(lines(out)) == 30
    made, calls = served(out, rewords)
    assert (calls, made.wording.worded) == (10, 20)


def test_a_limit_on_its_tokens_leaves_the_rest_to_the_template(tmp_path):
    from agent_env.episodes.calls.budget import RunLimits

    made, calls = served(tmp_path / "td.jsonl", rewords, limits=RunLimits(tokens=2500))
    assert 0 < calls < 10
    assert made.wording.stopped.startswith("the run")
    assert len(lines(tmp_path / "td.jsonl")) == 30


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"wording": "compatible/m"}, "--wording 'compatible/m': write template, or model:NAME"),
        ({"wording": "model:compatible/m"}, "model compatible/m needs --base-url"),
        ({"wording": "model:reference"}, "--wording: reference is a script and words nothing"),
        ({"wording": "model:gpt"}, "unknown model 'gpt'"),
    ],
    ids=["no model", "no server", "a script", "unknown"],
)
def test_a_model_that_cannot_be_asked_is_said_before_anything(tmp_path, more, said):
    with pytest.raises(ConfigError, match=f"^{said}"):
        generate(tmp_path / "td.jsonl", **more)
    assert list(tmp_path.iterdir()) == []


BAD = {
    "an end before its start": ("a,b,2001-01-01,2000-01-01", (), "ends before its start"),
    "mixed granularity": ("a,b,2001-01-01,\nc,d,2001,", (), "mixed"),
    "no column": ("a,b,2001-01-01,", ("answer=whom",), "posts has no column 'whom'"),
    "nothing to ask": ("a,b,2001-01-01,", (), "has nothing to ask"),
    "no such option": ("a,b,2001-01-01,", ("colour=1",), "tdbench has no option 'colour'"),
    "nothing known yet": ("a,b,2101-01-01,\na,c,2102-01-01,", ("unique=false",), "nothing to ask"),
}


@pytest.mark.parametrize("name", sorted(BAD))
def test_what_is_wrong_with_a_table_is_named_and_nothing_written(tmp_path, name):
    rows, more, said = BAD[name]
    (tmp_path / "posts.csv").write_text(f"order,who,start,end\n{rows}\n")
    own = () if "answer=whom" in more else ("answer=who",)
    given = (f"tables={tmp_path}/posts.csv", "question=order", "now=2025-01-01", *own, *more)
    with pytest.raises((ConfigError, DatasetError), match=said):
        generate(tmp_path / "td.jsonl", options=given)
    assert [file.name for file in tmp_path.iterdir()] == ["posts.csv"]
