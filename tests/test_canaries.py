"""A canary in every field of run.json and of study.toml: no command over the folder lets one fire.

The fields are those that the records declare. An audit hook sees every process that is started,
every module that is imported, every connection and every file that is opened in this process.
"""

import asyncio
import json
import runpy
import shutil
import socket
import sqlite3
import subprocess
from contextlib import AsyncExitStack, contextmanager, suppress
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel, ValidationError

from agent_env.errors import AgentEnvError
from agent_env.features.viewer.library import Library
from agent_env.records.manifest import Manifest
from agent_env.records.reach import Reach, values_of
from agent_env.runs.environment import open_environment
from agent_env.runs.options.keywords import keywords_of
from agent_env.runs.options.run_options import RunOptions, reach_of
from agent_env.runs.run import Run
from agent_env.tasks.features import features
from tests.audit import watching
from tests.commands import agent_env
from tests.plugged_in import make_foreign

MARK = "canary0f3a"
PORT = "59317"
"""Nobody listens there; that somebody connects is seen."""


@contextmanager
def looking():
    """What fires in the block."""
    fired = []

    def look(event, arguments):
        text = ""
        if event in ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system", "import"):
            text = repr(arguments)
        elif (event == "open" and "w" in str(arguments[1] or "")) or event == "sqlite3.connect":
            text = repr(arguments[0])
        elif event == "socket.connect":
            text = f"{MARK} {arguments[1]}" if PORT in repr(arguments[1]) else ""
        elif event == "exec":
            text = repr(getattr(arguments[0], "co_filename", ""))
        if MARK in text:
            fired.append(f"{event} {text[:200]}")

    with watching(look):
        yield fired


def fires(*words, **env):
    """What the command lets fire; it ends with a sentence, and not with a traceback."""
    with looking() as fired:
        done = agent_env(*words, env=env)
    assert "Traceback" not in done.stderr, (words, done.stderr)
    assert done.returncode in (0, 1, 2), words
    return fired


@pytest.fixture(scope="module")
def folder(web_run, tmp_path_factory):
    """A run of somebody else's: one episode ended, one is still to be asked."""
    run = shutil.copytree(web_run, tmp_path_factory.mktemp("theirs") / "run")
    make_foreign(run)
    for trace in run.glob("episodes/*/*.2.jsonl"):
        trace.unlink()
    return run


def payloads(place):
    code = place / f"{MARK}.py"
    code.write_text("TOOL = answer = FAMILY = None\n")
    return {
        "code": f"{code}:TOOL",
        "command": f"touch {place}/{MARK}",
        "address": f"http://127.0.0.1:{PORT}/{MARK}",
        "file": f"{place}/{MARK}.db",
    }


# Plants -------------------------------------------------------------------------------------------

EXAMPLES = {
    "McpServer.name": "srv", "ContextUse.file": "contexts/x.jsonl", "ModelFacts.date": "2026-01-01",
    "ToolTraits.name": "tool", "Condition.name": "base", "Manifest.web": "live",
}  # fmt: skip
"""Values that make a record act on the planted one."""


def values(record, payload):
    """For each field of the record that can hold a text, and of those in it, the record's data with
    the payload there and as little as can be elsewhere."""
    least = _least(record)
    for name, each in record.model_fields.items():
        for inner in _records_in(each.annotation):
            if inner is record:  # such as a usage of usages, whose fields are planted one level up
                continue
            for path, data in values(inner, payload):
                whole = "tuple" in str(each.annotation)
                yield f"{name}.{path}", least | {name: [data] if whole else data}
        for value in _planted(each.annotation, payload):
            yield name, least | {name: value}


def _planted(annotation, payload):
    text = str(annotation)
    if "dict" in text:
        names = ("base_url", "api_key_env", "extra_body", "facts_table", "tables", MARK)
        yield from ({name: payload} for name in names)
    elif "tuple" in text and "str" in text:
        yield [payload]
    elif "str" in text or "Literal" in text or "Json" in text:
        yield payload
    elif "bool" in text:
        yield True


def _records_in(annotation):
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [each for inner in get_args(annotation) for each in _records_in(inner)]


def _least(record):
    return {
        name: EXAMPLES.get(f"{record.__name__}.{name}", _example(each.annotation))
        for name, each in record.model_fields.items()
        if each.is_required()
    }


def _example(annotation):
    text = str(annotation)
    if records := _records_in(annotation):
        return [_least(records[0])] if "tuple" in text else _least(records[0])
    for word, value in (("dict", {}), ("tuple", []), ("str", "x"), ("int", 1), ("float", 1.0)):
        if word in text:
            return value
    return False


def runs_with_a_plant(manifest, payload):
    """By field, run.json with the payload there and all else as it was; and what the field says
    that it reaches."""
    for path, data in values(Manifest, payload):
        top = path.partition(".")[0]
        planted = data[top]
        if isinstance(planted, dict) and isinstance(manifest.get(top), dict):
            planted = manifest[top] | planted
        if top == "conditions" and isinstance(planted, list):
            planted = [manifest["conditions"][0] | planted[0] | {"name": "base"}]
        whole = manifest | {top: planted}
        if top == "web_settings":
            whole |= {"web": "live"}
        if top == "server":  # the hole: any model, and a server to start
            whole |= {"model_parameters": {"base_url": f"http://127.0.0.1:{PORT}/v1"}}
        if top in ("model_parameters", "model_facts"):
            whole |= {"model": "compatible/x"}
        if (reaches := _reaches(Manifest, whole, path)) is not None:
            yield path, json.dumps(whole), reaches
    for feature in features():
        for path, data in () if feature.settings is None else values(feature.settings, payload):
            whole = manifest | {"features": {feature.name: data}}
            if (reaches := _reaches(feature.settings, data, path)) is not None:
                yield f"features.{feature.name}.{path}", json.dumps(whole), reaches


def _reaches(record, data, path):
    """What the field reaches; None where the record refuses the data by its form."""
    try:
        made = record.model_validate(data)
    except ValidationError:
        return None
    found = {each.reach for each in values_of(made) if each.path.startswith(path)}
    return found - {Reach.NOTHING}


KINDS = {"code", "command", "address", "file"}
FIELDS = 90
"""At least so many take a text at all."""


def commands(run):
    trace = str(next(run.glob("episodes/web/*.1.jsonl")))
    out = str(run.parent / "out")
    return [
        ("resume", str(run), "--accept-changes"),
        ("episodes", "fork", trace, "--at", "0", "--out", out),
        ("replay", str(run), "--model", "live", "--lenient"),
        ("replay", str(run), "--tools", "live", "--lenient"),
        ("show", str(run)),
        ("compare", str(run)),
        ("show", trace),
        ("show", "--why", str(run)),
        ("episodes", "list", str(run)),
        ("episodes", "export", str(run), "--to", "jsonl", "--out", f"{out}.jsonl"),
        ("web", "pages", "list", str(run)),
        ("episodes", "judge", str(run), "--model", "reference"),
        ("study", "status", str(run.parent)),
        ("resume", str(run.parent), "--accept-changes"),
    ]


def look_around(run):
    """What Python does over a folder: the viewer's library, an environment."""
    library = Library(run)
    library.warm()
    library.close()

    async def step():
        async with AsyncExitStack() as stack:
            opened = await stack.enter_async_context(open_environment(Run(run)))
            opened.episode(opened.samples[0].id)

    with suppress(AgentEnvError):
        asyncio.run(step())


# Tests --------------------------------------------------------------------------------------------


def in_turn(commands, kind, reaches, number):
    """All commands where the field says that it reaches a thing of this kind, or one that is none
    of the kinds; else one of them, another one for the next field and kind."""
    if {reach.value for reach in reaches} - (KINDS - {kind}):
        return commands
    return [commands[number % len(commands)]]


def test_a_canary_in_any_one_field_of_run_json_does_not_fire(folder, tmp_path):
    """Of every kind where the field says that it reaches outside; of one kind in turn elsewhere."""
    run = Path(shutil.copytree(folder, tmp_path / "run"))
    manifest, fields = json.loads((run / "run.json").read_text()), set()
    for turn, (kind, payload) in enumerate(payloads(tmp_path).items()):
        plants = enumerate(runs_with_a_plant(manifest, payload))
        for number, (path, text, reaches) in plants:
            if not reaches and number % 4 != turn:
                continue
            fields.add(path)
            (run / "run.json").write_text(text)
            for words in in_turn(commands(run)[:5], kind, reaches, number + 2 * turn):
                mine = str(tmp_path / "mine")
                assert fires(*words, XDG_STATE_HOME=mine) == [], (path, words)
            for made in ("out", "run/episodes", "run/forks", "run/replays"):
                shutil.rmtree(tmp_path / made, ignore_errors=True)
            shutil.copytree(folder / "episodes", run / "episodes")
    assert len(fields) > FIELDS
    assert not (tmp_path / MARK).exists()


def hostile(folder, place, plants, model):
    """A copy of the run in which every field at once asks for something outside."""
    run = Path(shutil.copytree(folder, place))
    manifest = json.loads((run / "run.json").read_text())
    address = f"http://127.0.0.1:{PORT}/v1"
    fields = {
        "model": model, "sandbox": "unsafe-subprocess", "web": "live", "tokenizer": "server",
        "model_parameters": {"base_url": address, "api_key_env": "MY_SECRET",
                             "extra_body": {"x": 1}, "hosted_tools": False},
        "server": {"command": plants["command"], "file": None},
        "reply_cache": plants["file"], "scorer": plants["code"], "metrics": [plants["code"]],
        "features": {
            "batch": {"dir": plants["file"]},
            "mcp": {"servers": [
                {"name": "srv", "command": plants["command"].split(),
                 "environment": ["MY_SECRET"], "tools": [{"name": "t", "offered": "t"}]},
                {"name": "far", "url": address},
            ]},
        },
        "web_settings": {"search": "searxng", "search_url": address, "pages": plants["file"],
                         "allow_hosts": [f"127.0.0.1:{PORT}"], "obey_robots": False},
        "model_facts": {"input_per_million": 0.0, "date": "2026-01-01", "source": "x"},
        "options": manifest["options"] | {"facts_table": plants["file"]},
        "plugins": [{"kind": "family", "name": "time-puzzles", "reference": plants["code"]}],
        "conditions": [each | {"tools": [*each.get("tools", []), "mine"],
                               "own_tools": [{"name": "mine", "path": plants["code"]}],
                               "strategy": plants["code"]} for each in manifest["conditions"]],
    }  # fmt: skip
    (run / "run.json").write_text(json.dumps(manifest | fields))
    return run


def test_a_folder_in_which_every_field_is_hostile_fires_nothing(folder, tmp_path):
    plants = payloads(tmp_path)
    env = {"XDG_STATE_HOME": str(tmp_path / "mine"), "MY_SECRET": "sk-canary"}
    for number, model in enumerate(("reference", "compatible/x", plants["code"], "openai/x")):
        run = hostile(folder, tmp_path / f"{number}/run", plants, model)
        for words in commands(run):
            assert fires(*words, **env) == [], (model, words)
        with looking() as fired:
            look_around(run)
        assert fired == [], model
    assert not (tmp_path / MARK).exists()


def test_a_canary_in_any_field_of_study_toml_does_not_fire(tmp_path):
    """Each option of run, at each place of a begun study, and the entries of its own."""
    study, plants = tmp_path / "study", payloads(tmp_path)
    study.mkdir()
    plain = '[tasks.t]\ntask = "time-puzzles"\n[models.m]\nmodel = "reference"\n'
    (study / "study.toml").write_text(f'limit = 1\nconditions = ["base"]\n{plain}')
    theirs = {"XDG_STATE_HOME": str(tmp_path / "theirs")}
    assert agent_env("study", "run", str(study), env=theirs).returncode == 0
    mine = str(tmp_path / "mine")
    options = {name: {reach_of(key.option)} for name, key in keywords_of(RunOptions).items()}
    own = {f"models.m.{name}" for name in ("model", "api_key_env", "prices")} | {"tasks.t.task"}
    reaches = options | {name: {Reach.KEY} for name in own}
    orders = [("study", "status"), ("resume",)]
    for place, name in enumerate(sorted(reaches)):
        outside = reaches[name] - {Reach.NOTHING}
        for turn, (kind, payload) in enumerate(plants.items()):
            if not outside and place % len(plants) != turn:
                continue
            for form in (payload, [payload]):
                line = f"{name} = {json.dumps(form)}\nlimit = 1\n{plain}"
                (study / "study.toml").write_text(line)
                for words in in_turn(orders, kind, outside, place + turn):
                    assert fires(*words, str(study), XDG_STATE_HOME=mine) == [], (line, words)
    assert not (tmp_path / MARK).exists()


def test_the_hook_sees_each_kind_of_canary(tmp_path):
    """What the tests above would see, if it happened."""
    plants = payloads(tmp_path)
    with looking() as fired:
        subprocess.run(["true", plants["command"]], check=True)
        runpy.run_path(str(tmp_path / f"{MARK}.py"))
        sqlite3.connect(plants["file"]).close()
        with socket.socket() as own, suppress(OSError):
            own.connect(("127.0.0.1", int(PORT)))
    kinds = {line.split()[0] for line in fired}
    assert kinds >= {"subprocess.Popen", "exec", "sqlite3.connect", "socket.connect"}
