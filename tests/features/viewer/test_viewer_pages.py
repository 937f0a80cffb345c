"""The viewer's pages as a browser gets them, without one."""

import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from threading import Event

import pytest

from agent_env.features.viewer import library
from agent_env.records.manifest import Preflight
from agent_env.runs.comparing.indexed_run import IndexedRun
from tests.features.viewer import stage
from tests.features.viewer.stage import RIGHT, WRONG, begin, make_run, viewer, write

HOSTILE = "</pre><script>hacked=1</script><img src=x onerror=hacked=1>"


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """The viewer over two runs of the same samples, one with a hostile page, and a broken one."""
    found = tmp_path_factory.mktemp("runs")
    for name, answer in (("one", RIGHT), ("two", WRONG)):
        folder = make_run(found / name, ["s1", "s2", "s3"], ("web", "base"), model=name)
        write(folder, "s1", answer, "the same")
        write(folder, "s2", RIGHT, "another" if name == "two" else "the same")
        write(folder, "s1", WRONG, condition="base")
        stage.score(folder)
    hostile = make_run(found / "hostile", ["s1"], model=HOSTILE)
    write(hostile, "s1", HOSTILE + "\x1b[2J\u202e", HOSTILE * 50, url="javascript:hacked=1")
    (found / "broken").mkdir()
    (found / "broken/run.json").write_text("{}")
    with viewer(found) as client:
        yield client


def rows(text):
    return text.count("<tr data-row>")


def test_runs_comparisons_and_samples_are_listed(client):
    text = client.get("/").text
    assert rows(text) == 4
    for part in ("not a run&#39;s manifest", 'href="/run/one/"', "3 of 6"):
        assert part in text
    text = client.get("/run/one/").text
    assert rows(text) == 3
    assert "3 of 6 episodes done" in text
    assert "<td>1.000</td>" in text
    text = client.get("/run/one/compare").text
    found = text.index("<h1>No gain over web can be shown for one</h1>")
    first = text.index("base cannot be told apart from web")
    assert found < first < text.index("<svg") < text.index("Method and")
    assert "How large are the differences" in text
    assert "two web − one web" in client.get("/run/one/compare?runs=all").text
    text = client.get("/run/one/samples").text
    assert "same as that of the first day of the Falklands War." in text
    text = client.get("/run/hostile/compare").text
    assert "do on time-puzzles?" in text
    assert "How large are the differences" not in text
    assert "<script>hacked" not in text


def test_a_run_tells_whether_its_tools_arrived(tmp_path):
    """Both conditions had 100 input tokens in their first calls."""
    folder = make_run(tmp_path / "run", ["s1", "s2"], ("web", "base"))
    for name in ("s1", "s2"):
        write(folder, name, RIGHT, "the same")
        write(folder, name, WRONG, condition="base")
    conditions = [{"condition": "web", "problem": "<b>dropped</b>"}]
    tried = Preflight.model_validate({"at": "", "model": "m", "conditions": conditions})
    folder.change(preflights=(tried,))
    with viewer(tmp_path) as client:
        while "Reading the traces" in (text := client.get("/run/run/").text):
            time.sleep(0.05)
        assert 'title="&lt;b&gt;dropped&lt;/b&gt;">(!)' in text
        text = client.get("/run/run/compare").text
    assert "<h3>Did the tools reach the model?</h3>" in text
    assert "<td>web (!)</td>" in text
    assert "web (!): cannot mean anything: &lt;b&gt;dropped&lt;/b&gt;." in text


def test_filters_episodes_and_pairs_stand_in_the_address(client):
    queries = ("verdict=wrong", "condition=web", "condition=web&sample=s2", "status=failed")
    numbers = [rows(client.get(f"/run/one/?{query}").text) for query in queries]
    assert numbers == [1, 2, 1, 0]
    filtered = client.get("/run/one/?verdict=right&sort=-steps").text
    assert "/run/one/episode/web/s1.1?verdict=right" in filtered
    text = client.get("/run/two/episode/web/s1.1").text
    for part in ("When?", "I look it up.", "web_search", "war", "the same", WRONG, "100 in",
                 "40 cached", "10 out", "1982-04-03 is wrong", "Tokens by step",
                 'rel="next" href="/run/two/episode/web/s2.1"'):  # fmt: skip
        assert part in text
    text = client.get("/run/one/sample/s1").text
    assert (rows(text), "hostile:" in text) == (4, False)
    assert "The year is 1982." in text
    assert 'value="two:web/s1.1"' in text
    many = "&".join(f"e=one:web/s{n}.1" for n in range(7))
    for address, status in (("", 400), (f"?{many}", 400), ("?e=none:web/s1.1", 404)):
        assert client.get(f"/side{address}").status_code == status


@pytest.mark.parametrize(
    "query",
    ["page=99999999999999999999", "page=-1", "page=x", "sort=episode;drop", "verdict=odd",
     "condition=' OR 1=1 --", "sample=%00", "stop=%F0%9F%A4%96"],
)  # fmt: skip
def test_an_odd_address_is_no_error(client, query):
    assert client.get(f"/run/one/?{query}").status_code == 200


@pytest.mark.parametrize(
    ("sample", "words"),
    [("s1", 'differ from <a href="#step-2">'), ("s2", 'differ from <a href="#step-1">')],
)
def test_side_by_side_says_where_episodes_part(client, sample, words):
    text = client.get(f"/side?e=one:web/{sample}.1&e=two:web/{sample}.1").text
    assert words in text
    assert text.count('id="step-') == 2


@pytest.mark.parametrize(
    "address",
    ["/run/hostile/", "/run/hostile/episode/web/s1.1", "/run/hostile/sample/s1", "/",
     "/side?e=hostile:web/s1.1&e=one:web/s1.1", "/run/%3Cscript%3Ehacked=1/",
     "/run/one/?sample=%3Cscript%3Ehacked=1"],
)  # fmt: skip
def test_hostile_text_is_escaped_everywhere(client, address):
    text = client.get(address).text
    for part in ("<script>hacked", "<img", 'href="javascript:', "\x1b", "\u202e"):
        assert part not in text


def test_only_own_files_own_hosts_and_reading_are_allowed(client):
    for address in ("/", "/run/one/", "/static/viewer.js", "/nothing", "/state/"):
        headers = client.get(address).headers
        assert headers["content-security-policy"] == (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
            "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        )
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
    # A name of an attacker's that resolves to loopback: DNS rebinding.
    port = client.base_url.port
    for host in (f"evil.example:{port}", "127.0.0.1", f"127.0.0.1.evil.example:{port}",
                 f"127.0.0.1:{port}@evil.example", ""):  # fmt: skip
        assert client.get("/", headers={"host": host}).status_code == 421
    assert client.get("/", headers={"host": f"localhost:{port}"}).status_code == 200
    assert client.get("/", headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert (client.post("/").status_code, client.head("/").status_code) == (405, 200)


@pytest.mark.parametrize(
    "path",
    ["/run/one/episode/../../run.json", "/run/one/episode/web/..%2f..%2f..%2frun.json",
     "/run/one/episode/%2e%2e/one", "/run/../", "/static/../app.py", "/run/one/episode/web/s9.1",
     "/run/one/episode/web/%00", "/run/one/sample/none", "/run/nobody/"],
)  # fmt: skip
def test_what_is_no_episode_is_not_found(client, path):
    connection = HTTPConnection("127.0.0.1", client.base_url.port)  # sends it as it is
    connection.request("GET", path)
    answer = connection.getresponse()
    assert (answer.status, b"samples_digest" in answer.read()) == (404, False)
    connection.close()


@pytest.fixture
def folder(tmp_path):
    """A run of two samples, with an episode of the first."""
    folder = make_run(tmp_path / "run", ["s1", "s2"])
    write(folder, "s1")
    return folder


def test_a_broken_trace_shows_what_stands_above_the_defect(folder, tmp_path):
    file = next(folder.traces())
    lines = file.read_bytes().split(b"\n")
    lines[3] = lines[3].replace(b"1982", b"1983")
    file.write_bytes(b"\n".join(lines))
    with viewer(tmp_path) as client:
        text = client.get("/run/run/episode/web/s1.1").text
        for part in ("The trace is not sound", "its checksum does not fit", "I look it up."):
            assert part in text
        assert ">broken<" in client.get("/run/run/?status=broken").text


def test_a_run_is_followed_while_it_goes_on(folder, tmp_path):
    with folder.locked(), viewer(tmp_path) as client:
        assert rows(client.get("/run/run/").text) == 1
        before = client.get("/state/run").json()
        assert before["live"] is True
        trace = begin(folder, "s2")
        stage.step(trace, "war", "so far")
        assert becomes(lambda: client.get("/state/run").json()["stamp"] != before["stamp"])
        assert rows(client.get("/run/run/").text) == 2
        text = client.get("/run/run/episode/web/s2.1").text
        assert "so far" in text
        assert "no end yet" in text
        one = client.get("/state/run/web/s2.1").json()["stamp"]
        stage.end(trace, RIGHT)
        assert client.get("/state/run/web/s2.1").json()["stamp"] != one
        assert "ended by: answered" in client.get("/run/run/episode/web/s2.1").text


def test_a_run_is_running_only_while_a_process_holds_its_lock(folder, tmp_path):
    with viewer(tmp_path) as client:
        with folder.locked():
            assert ">running<" in client.get("/").text
            held = client.get("/state/").json()
        assert held["live"] is True
        assert client.get("/state/").json()["stamp"] != held["stamp"]
        for address in ("/", "/run/run/"):
            text = client.get(address).text
            assert [part in text for part in (">stopped<", ">running<")] == [True, False]
            assert "1 of 2" in text


def test_a_run_whose_traces_were_not_read_yet_is_said_to_be_read(tmp_path, monkeypatch):
    for number in range(3):
        write(make_run(tmp_path / f"run{number}", ["s1"]), "s1")
    going = Event()
    monkeypatch.setattr(IndexedRun, "update", lambda run: going.wait(20))
    with viewer(tmp_path) as client:
        text, state = client.get("/").text, client.get("/state/").json()
        going.set()
    assert [text.count(part) for part in (">reading<", "0 of 1", ">running<")] == [3, 0, 0]
    assert state["soon"] is True


def becomes(is_true):
    """Whether it does within a hundred seconds."""
    end = time.monotonic() + 100
    while not (found := is_true()) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def test_many_ask_at_once_while_the_table_is_thrown_away(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(library, "PAUSE_S", 0.1)
    with viewer(tmp_path) as client, ThreadPoolExecutor(8) as pool:
        client.get("/run/run/")
        asked = [pool.submit(client.get, "/run/run/") for _ in range(20)]
        for end in ("", "-wal", "-shm"):
            (tmp_path / f"run/index.db{end}").unlink(missing_ok=True)
        asked += [pool.submit(client.get, "/run/run/") for _ in range(20)]
        assert [each.result().status_code for each in asked] == [200] * 40
        write(folder, "s2")
        assert becomes(lambda: rows(client.get("/run/run/").text) == 2)


def test_empty_folders_and_those_only_to_be_read_are_shown(tmp_path, monkeypatch):
    with viewer(tmp_path) as client:
        assert "agent-env run time-puzzles" in client.get("/").text
        make_run(tmp_path / "deep/first", ["s1"])
        assert 'href="/run/deep~first/"' in client.get("/").text
        assert client.get("/run/deep~first/").status_code == 200
    write(make_run(tmp_path / "run", ["s1"]), "s1")
    monkeypatch.setattr("agent_env.runs.comparing.indexed_run.os.access", lambda path, mode: False)
    with viewer(tmp_path / "run") as client:
        assert rows(client.get("/run/run/").text) == 1
    assert not (tmp_path / "run/index.db").exists()
