"""The record of what a user let a run do: kept with the user, and trusted only where it is whole
and nobody else could have written it."""

import asyncio
import json
import shutil

import pytest

from agent_env.episodes.run_folder import RunFolder
from agent_env.errors import ConfigError
from agent_env.permits import NOTHING
from agent_env.records.reach import Reach, values_of
from agent_env.records.tool_traits import ToolTraits
from agent_env.runs.options.run_options import RunOptions
from agent_env.runs.run import Run
from agent_env.wiring.trust import check_trust, outside_settings, record_run, state_folder
from tests.plans import run_of
from tests.tables import tables


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A run that this user made, with code outside a sandbox and a reply cache."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    options = RunOptions("time-puzzles", conditions=("python",), limit=1, out=tmp_path / "run",
                         sandbox="unsafe-subprocess")  # fmt: skip
    return asyncio.run(run_of(options))


def served(*servers):
    """`features` of a run with these MCP servers."""
    return {"mcp": {"servers": list(servers)}}


def silent(text):
    """Hears what is noted."""


def _asks(folder):
    """Whether the user is asked before the run is gone on with."""
    try:
        check_trust(folder, folder.manifest, silent)
    except ConfigError:
        return True
    return False


def _records(own, **update):
    """Changes the run and records it, so that the user is not asked."""
    own.change(**{"sandbox": None, **update})
    record_run(own, silent)
    assert not _asks(own)


def test_the_user_is_not_asked_about_runs_made_here_nor_once_they_are_moved(own, tmp_path):
    assert [str(each) for each in outside_settings(own.path, own.manifest)] == [
        "sandbox unsafe-subprocess (runs code on this machine)"
    ]
    assert not _asks(own)
    assert not _asks(Run(own.path.rename(tmp_path / "moved")))


def test_a_copy_is_trusted_with_addresses_but_not_with_what_gets_the_calls_of_its_traces(
    own, tmp_path
):
    def asks(**update):
        _records(own, **{"features": {}, "conditions": plain, **update})
        shutil.rmtree(tmp_path / "copy", ignore_errors=True)
        return _asks(Run(shutil.copytree(own.path, tmp_path / "copy")))

    plain = own.manifest.conditions
    code = tmp_path / "mine.py"
    code.write_text("")
    mine = ToolTraits(name="add", path=f"{code}:add")
    calls_it = plain[0].model_copy(update={"tools": ("add",), "own_tools": (mine,)})
    assert not asks(reply_cache="/x/y")
    assert asks(sandbox="unsafe-subprocess")
    assert asks(features=served({"name": "srv", "command": ["serve"]}))
    assert asks(features=served({"name": "srv", "url": "http://127.0.0.1:9/mcp"}))
    assert asks(conditions=(calls_it,))


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b"\xff\x00", b'{"run": "0"}'])
def test_a_broken_record_trusts_nothing_and_can_be_made_again(own, data):
    file = _record()
    file.write_bytes(data)
    assert _asks(own)
    check_trust(own, own.manifest, silent, confirmed=True)
    assert not _asks(own)
    assert [oct(each.stat().st_mode)[-3:] for each in (file, file.parent)] == ["600", "700"]


def _record():
    (file,) = state_folder("runs").iterdir()
    return file


def _change(file, **entries):
    file.write_text(json.dumps(json.loads(file.read_text()) | entries))


def _make_older(file):
    run = json.loads(file.read_text())["run"]
    file.write_text(json.dumps({"run": run, "settings": ["sandbox unsafe-subprocess in /"]}))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda file: file.unlink(),
        lambda file: file.chmod(0o666),
        lambda file: file.symlink_to(file.rename(file.parents[1] / "elsewhere")),
        lambda file: _change(file, run="0" * 40),
        _make_older,
    ],
    ids=["lost", "writable by others", "a link", "of another run", "of an earlier version"],
)
def test_a_record_that_is_old_or_that_others_could_have_written_trusts_nothing(own, spoil):
    spoil(_record())
    assert _asks(own)


def test_without_a_home_nothing_is_recorded_and_nothing_fails(own, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    monkeypatch.setenv("HOME", "nowhere")
    assert state_folder("runs") is None
    notes = []
    record_run(own, notes.append)
    assert len(notes) == 1
    assert _asks(own)


def test_other_samples_make_another_run(own):
    own.change(samples_digest="0" * 64)
    assert _asks(own)


def test_files_in_the_folder_reach_nowhere(own, tmp_path):
    def names(**update):
        manifest = own.manifest.model_copy(update={"sandbox": None, **update})
        return [each.name for each in outside_settings(own.path, manifest)]

    assert names(reply_cache=str(own.path / "replies.db")) == []
    assert names(reply_cache=str(own.path / ".." / "replies.db")) == ["reply cache"]
    assert names(reply_cache="replies.db") == ["reply cache"]
    (own.path / "replies.db").symlink_to(tmp_path / "outside")
    assert names(reply_cache=str(own.path / "replies.db")) == ["reply cache"]


CONFINED = {"name": "srv", "command": ("python", "x.py"), "sandboxed": True}


COMMAND = {"command": ("python", "x.py")}


@pytest.mark.parametrize(
    ("known", "other"),
    [
        (COMMAND | {"sandboxed": True}, {"command": ("python", "x.py", "in", "a", "sandbox")}),
        (COMMAND | {"environment": ("KEY",)}, {"command": ("python", "x.py", "with", "KEY")}),
        ({"command": ("a b",)}, {"command": ("a", "b")}),
        ({"command": ("a",)}, {"url": "a"}),
    ],
)
def test_no_server_is_taken_for_another(own, known, other):
    for first, second in ((known, other), (other, known)):
        _records(own, features=served({"name": "srv"} | first))
        own.change(features=served({"name": "srv"} | second))
        assert _asks(own)
        shutil.rmtree(state_folder("runs"))


def test_a_key_that_goes_to_an_address_now_is_another_setting(own):
    """The usual key of the API, where the run was confirmed with none."""
    address = {"base_url": "http://127.0.0.1:9/v1"}
    _records(own, model="compatible/x", model_parameters=address | {"api_key_env": ""})
    own.change(model_parameters=address)
    assert _asks(own)


OUTSIDE, REST = tables(__file__).values()


def _outside(own, place):
    """What is asked for with something outside at this place."""
    entries = own.manifest.model_dump() | {"sandbox": None} | OUTSIDE[place]
    return outside_settings(own.path, type(own.manifest).model_validate(entries))


def test_every_field_that_reaches_outside_is_asked_for(own):
    """By the fields themselves: each place that says a reach has a setting once something stands
    there, and without it there is no permit."""
    fields = [each for each in values_of(own.manifest) if each.reach is not Reach.NOTHING]
    assert {each.path.partition(".")[0] for each in fields} <= OUTSIDE.keys()
    for place in OUTSIDE:
        settings = _outside(own, place)
        assert settings, place
        assert all(each.grants for each in settings if each.name != "robots.txt"), place
        assert not any(each.grants and each.is_covered(NOTHING) for each in settings), place
    of_server = _outside(own, "features.local_models")
    assert [each.name for each in of_server] == ["server", "model file"]


def test_a_new_field_is_asked_for_by_its_name(own):
    fields = {"sandbox": None, "model_parameters": {"callback": "http://x"}}
    (setting,) = outside_settings(own.path, own.manifest.model_copy(update=fields))
    assert str(setting) == "model_parameters.callback http://x"
    assert setting.grants == ((Reach.ADDRESS, "http://x"),)


def test_a_file_outside_is_read_for_nobody_else_where_the_task_needs_it(own, tmp_path):
    options = own.manifest.options | {"facts_table": str(tmp_path / "table.json")}
    own.change(sandbox=None, options=options)
    with pytest.raises(ConfigError, match=r"to read it takes: options\.facts_table "):
        _ = Run(own.path).task
    record_run(own, silent)
    assert Run(own.path).task.name == "time-puzzles"


@pytest.mark.parametrize("name", REST)
def test_a_field_that_somebody_changed_since_is_asked_for_once(own, name):
    """It may cost more with the address that is trusted; and it may come in the same folder."""
    _change(own.path / "run.json", **{name: REST[name]})
    changed = Run(own.path)
    with pytest.raises(ConfigError, match=r"asks for: plan .* all else that run\.json says"):
        check_trust(changed, changed.manifest, silent)
    check_trust(changed, changed.manifest, silent, confirmed=True)
    assert not _asks(Run(own.path))


def test_what_the_program_itself_changes_stays_trusted_and_nothing_else_becomes_so(own):
    own.change(run_limits={"tokens": 10})
    assert not _asks(Run(own.path))
    _change(own.path / "run.json", run_limits={"tokens": 99})
    changed = Run(own.path)
    assert changed.manifest.run_limits == {"tokens": 99}
    changed.change(repeats=2)
    assert _asks(Run(own.path))


@pytest.mark.parametrize("has_leave", [False, True])
def test_what_a_resumed_run_adds_is_known_before_run_json_has_it_only_by_the_users_leave(
    own, has_leave
):
    address = {"base_url": "http://127.0.0.1:1/v1"}
    own.change(model="compatible/m", model_parameters={})
    record_run(own, silent)
    changed = own.manifest.model_copy(update={"model_parameters": address})
    if has_leave:
        check_trust(own, changed, silent, from_call=("address",))
    own.change(model_parameters=address)  # and killed before `record_run`
    assert _asks(Run(own.path)) is not has_leave


@pytest.mark.parametrize("is_written", [False, True])
def test_a_run_whose_process_is_killed_while_it_changes_run_json_stays_trusted(
    own, monkeypatch, is_written
):
    def killed(folder, name, data):
        if is_written:
            (folder.path / name).write_bytes(data)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "write", killed)
        with pytest.raises(KeyboardInterrupt):
            own.change(former_urls=("http://127.0.0.1:1/v1",))
    assert not _asks(Run(own.path))
