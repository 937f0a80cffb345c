"""Runs whose answers a server holds to a form, beside free ones."""

import json

import agent_env as ae
from agent_env.features.reference.policy import Reference
from tests.fake_server import FakeServer
from tests.fake_server.policies import model_policy
from tests.loops import in_loop


@in_loop
async def run_against(mode, folder, **options):
    """A run of two puzzles against the reference behind a fake server, and the bodies it got."""
    async with FakeServer(model_policy(Reference()), mode=mode) as server:
        given = {"limit": 2, "conditions": ["explicit", "web"], "out": folder} | options
        run = await ae.run("time-puzzles", model="compatible/fake", base_url=server.url, **given)
        return run, list(server.recent)


def test_each_condition_stands_beside_itself_with_the_form_enforced(tmp_path):
    run, bodies = run_against("vllm", tmp_path / "run", answer_formats=["free", "schema"])
    manifest = json.loads((run.path / "run.json").read_text())
    assert [(each["name"], each.get("answer_format")) for each in manifest["conditions"]] == [
        ("explicit", None),
        ("explicit~schema", "schema"),
        ("web", None),
        ("web~schema", "schema"),
    ]
    table = run.scores()[0]
    metric = [column.name for column in table.columns].index("exact_match")
    assert [row[metric][0] for row in table.rows] == [1, 1, 1, 1]
    assert any(note.startswith("~schema: the server held the answer") for note in table.notes)
    names = [row[0] for row in ae.compare(run).table("differences").rows]
    assert names == ["explicit~schema − explicit", "web − explicit", "web~schema − web"]
    held = [body for body in bodies if "response_format" in body]
    assert held
    assert all("tools" not in body for body in held)
    assert any(body["messages"][-1]["content"].startswith("Now give") for body in held)


def test_under_the_text_protocol_calls_are_held_too(tmp_path):
    run, bodies = run_against(
        "llama.cpp", tmp_path / "run", conditions=["web"], limit=1,
        answer_formats=["schema"], tool_protocol="text",
    )  # fmt: skip
    held = [body["response_format"]["json_schema"]["schema"]["properties"]["step"]["anyOf"]
            for body in bodies if "response_format" in body]  # fmt: skip
    preflight, first, second = ([[*each["properties"]] for each in forms] for forms in held[:3])
    assert second == [["tool", "arguments"], ["tool", "arguments"], ["answer"]]
    assert second[:2] == first == preflight
    (trace,) = (run.path / "episodes" / "web~schema").glob("*.jsonl")
    end = json.loads(trace.read_text().splitlines()[-1])
    assert end["stop_reason"] == "answered"
    assert end["answer"].startswith("MY ANSWER: ")
