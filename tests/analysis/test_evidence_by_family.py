"""Of every family: what a planted policy answers from is the verdict of each of its episodes, and
the table of tools' use says the same."""

import json
from random import Random

import pytest

import agent_env as ae
from agent_env.analysis.statistics.provenance import records_of
from agent_env.features.facts.web_cli import BuildOptions, build_web
from agent_env.features.reference.policy import Reference
from agent_env.runs.run import Run
from agent_env.sdk.run import load_family
from agent_env.tasks.family import by_digest
from agent_env.testing import calls
from tests.tables import tables

IDLE = {
    "web_search": {"query": "weather"},
    "python": {"code": "1 + 1"},
    "calendars": {"operation": "weekday", "date": "2001-01-01"},
    "sql": {"query": "SELECT"},
    "query_events": {"operation": "nothing"},
}
"""A call of each tool that tells nothing."""


def planting(answers, prints=False):
    """A model that answers with what was planted by question; it calls each tool once before,
    idly, or so that Python prints the answer."""

    def model(messages, tools):
        prompt = "\n".join(each.content for each in messages if each.role == "user")
        (answer,) = {text for asked, text in answers.items() if asked in prompt}
        if not tools or messages[-1].role == "tool":
            return answer
        given = IDLE | ({"python": {"code": f"print({answer!r})"}} if prints else {})
        names = [tool.name for tool in tools if tool.name in IDLE]
        return calls(*((name, json.dumps(given[name])) for name in names))

    return model


def planted(name, options, policy):
    """A policy that knows the right answers, or gives each question that of the third after it."""
    samples = ae.task(name, limit=8, **options).samples()
    family = load_family(name)
    chosen = family.read_options([f"{key}={value}" for key, value in options.items()])
    tables = family.make_tier(8, 1, chosen, None).tables
    task = family.make_task("default", chosen, by_digest(tables))
    (oracle,) = (each for each in task.shortcuts if each.name == "oracle")
    texts = [oracle.make(samples)(sample, Random(1)) for sample in samples]
    if policy == "wrong":
        texts = texts[3:] + texts[:3]
    asked = [(each, text) for s, text in zip(samples, texts, strict=True) for each in wordings(s)]
    return planting(dict(asked), policy == "prints")


def wordings(sample):
    """What a prompt has of the question, plain or spelled out."""
    if (question := getattr(sample, "question", None)) is not None:
        return [question]
    texts = (sample.constraints, sample.explicit_constraints)
    return ["\n".join(f"- {each}" for each in constraints) for constraints in texts]


@pytest.fixture(scope="module")
def invented(tmp_path_factory):
    """A fictional web, and the facts that it states."""
    pages = tmp_path_factory.mktemp("invented") / "pages.db"
    web = {"world": "fictional", "entities": 240, "seed": 3, "difficulty": "medium"}
    build_web(BuildOptions(out=pages, facts_table=None, **web), lambda note: None)
    return pages


OPEN = {"setting": "open-web"}


@pytest.mark.parametrize(
    ("name", "options", "condition", "web", "policy", "verdict"), tables(__file__)["rows"]
)
def test_each_answer_comes_from_where_the_policy_took_it(
    tmp_path, invented, name, options, condition, web, policy, verdict
):
    run = {"web_ablations": [web]} if web else {}
    if options == OPEN:
        facts = str(invented.with_suffix(".intervals.csv"))
        options, run = {**OPEN, "intervals": facts}, {**run, "pages": invented}
    model = Reference() if policy == "reference" else planted(name, options, policy)
    made = ae.run_sync(
        ae.task(name, limit=8, **options), model=model, conditions=[condition], progress=False,
        out=tmp_path / "run", **run,
    )  # fmt: skip
    judged = [
        each
        for each in records(made)
        if policy not in ("wrong", "prints") or _is_claim(each, policy == "prints")
    ]
    assert policy != "reference" or all(each.is_right for each in judged)
    others = [(each.episode, each.because) for each in judged if each.verdict != verdict]
    assert (len(judged) > 0, others) == (True, [])


def records(made):
    by_arm = records_of(Run.open(made.path).comparison(pytest.fail))
    return [record for own in by_arm.values() for record in own]


BRIDGES = [
    {"question": f"When was bridge {n} of Ota opened?", "answer": f"19{n}0-05-1{n}",
     "context": f"Bridge {n} of Ota was opened on 1{n} May 19{n}0."}
    for n in range(8)
]  # fmt: skip


@pytest.mark.parametrize(
    ("has_context", "condition", "policy", "verdict"),
    [
        (True, "base", "oracle", "given"),
        (True, "base", "wrong", "given"),  # misread or guessed: which cannot be told
        (True, "python", "oracle", "given"),
        (True, "python", "prints", "computed"),
        (False, "base", "oracle", "unknown"),
        (False, "python", "prints", "unknown"),
    ],
)
def test_an_answer_to_ones_own_question_comes_from_its_context_where_that_states_it(
    tmp_path, has_context, condition, policy, verdict
):
    rows = [row if has_context else row | {"context": ""} for row in BRIDGES]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, rows)))
    texts = [f"MY ANSWER: {row['answer']}" for row in rows]
    if policy == "wrong":
        texts = texts[3:] + texts[:3]
    asked = {row["question"]: text for row, text in zip(rows, texts, strict=True)}
    made = ae.run_sync(
        ae.task("qa", dataset=tmp_path / "q.jsonl", scorer="date"), out=tmp_path / "run",
        model=planting(asked, policy == "prints"), conditions=[condition], progress=False,
    )  # fmt: skip
    assert [each.verdict for each in records(made)] == [verdict] * 8


def _is_claim(record, is_right):
    """Whether it is an answer of this kind, and not by chance that of another world, or right in
    what must be looked up."""
    is_chance = not record.is_right and (record.is_original or record.verdict == "memory or luck")
    is_answer = record.answer and record.verdict != "no answer"
    return is_answer and record.is_right == is_right and not is_chance
