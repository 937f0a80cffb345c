"""The viewer and the report in a real browser; skipped where there is none."""

import re

import pytest

from agent_env.analysis.comparison import Comparison, Options
from agent_env.analysis.report import chapter_of, report_of
from agent_env.episodes.run_folder import RunFolder
from tests.analysis.simulated import Plant, study
from tests.features.viewer import stage
from tests.programs import needs, path_of

HOSTILE = "</pre><script>window.hacked=1</script><img src=http://127.0.0.9/x onerror=hacked=1>"

pytestmark = needs("Chromium")


@pytest.fixture(scope="module")
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as play:
        found = play.chromium.launch(executable_path=path_of("Chromium"), args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    for name, answer in (("one", stage.RIGHT), ("two", stage.WRONG)):
        folder = stage.make_run(root / name, ["s1", "s2"], model=HOSTILE if name == "two" else "m")
        stage.write(folder, "s1", answer, "the same")
        stage.write(folder, "s2", answer, HOSTILE * 40, url="javascript:window.hacked=1")
        stage.score(folder)
    going = stage.make_run(root / "going", ["g1", "g2"])
    stage.write(going, "g1")
    with stage.viewer(root) as found:
        yield found


@pytest.fixture
def page(browser, client):
    """A page that fails the test where a script broke, was blocked, or asked another host."""
    found = browser.new_page(base_url=str(client.base_url))
    wrong = []
    found.on("console", lambda message: wrong.append(message.text))
    found.on("pageerror", lambda error: wrong.append(str(error)))
    found.on("dialog", lambda dialog: wrong.append(dialog.message))
    found.on("request", lambda request: wrong.append(request.url)
             if not request.url.startswith(str(client.base_url)) else None)  # fmt: skip
    yield found
    found.close()
    assert wrong == []


def test_a_hostile_page_of_a_trace_runs_nothing(page):
    for address in ("/", "/run/two/", "/run/two/episode/web/s2.1", "/run/two/sample/s2",
                    "/side?e=one:web/s2.1&e=two:web/s2.1"):  # fmt: skip
        page.goto(address)
        page.keyboard.press("e")
        assert page.evaluate("window.hacked") is None
        assert page.locator("main img, main script").count() == 0


def test_the_policy_stops_script_that_got_in_all_the_same(browser, client):
    """Were the escaping to fail, the second wall would hold."""
    page = browser.new_page()
    blocked = []
    page.on("console", lambda message: blocked.append(message.text))
    page.goto(str(client.base_url))
    page.evaluate("""() => {
        const script = document.createElement("script");
        script.textContent = "window.hacked = 1";
        document.body.append(script);
        document.body.insertAdjacentHTML("beforeend", "<img src=/none onerror='hacked = 2'>");
    }""")
    page.wait_for_timeout(200)
    assert page.evaluate("window.hacked") is None
    assert any("Content Security Policy" in text for text in blocked)
    page.close()


def test_keys_filters_and_colours_lead_choose_and_stay(page):
    def press(keys, address):
        for key in keys:
            page.keyboard.press(key)
        page.wait_for_url(address)

    page.goto("/run/one/")
    press(["j", "j", "Enter"], "**/run/one/episode/web/s2.1")
    press("p", "**/run/one/episode/web/s1.1")
    press("u", "**/run/one/")
    page.goto("/run/one/sample/s1")
    assert page.locator("button.compare").is_disabled()
    press("jxjxc", "**/side?e=**")
    assert page.locator("table.side thead th").count() == 3
    assert "differ from step 2 on" in page.inner_text("main")
    page.goto("/run/two/")
    page.select_option("select[name=verdict]", "right")
    page.wait_for_url("**/run/two/?verdict=right")
    assert page.locator("tr[data-row]").count() == 0
    colour = "getComputedStyle(document.body).backgroundColor"
    page.goto("/")
    before = page.evaluate(colour)
    page.keyboard.press("t")
    after = page.evaluate(colour)
    page.goto("/run/one/")
    assert page.evaluate(colour) == after != before


@pytest.mark.parametrize("address", ["/", "/run/one/", "/run/one/episode/web/s2.1"])
def test_no_page_is_wider_than_a_phone(page, address):
    page.set_viewport_size({"width": 360, "height": 700})
    page.goto(address)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_new_steps_appear_while_one_looks(page, tmp_path_factory, client):
    folder = RunFolder(next(tmp_path_factory.getbasetemp().glob("runs*/going")))
    with folder.locked():
        trace = stage.begin(folder, "g2")
        page.goto("/run/going/episode/web/g2.1")
        assert page.locator("article.step").count() == 0
        stage.step(trace, "war", "just found")
        page.wait_for_selector("article.step >> text=just found", timeout=10_000)
        stage.end(trace, stage.RIGHT)
        page.wait_for_selector(".message.answer", timeout=10_000)


def test_the_default_name_of_a_run_stands_on_one_line(browser, tmp_path):
    for name in ("time-puzzles-compatible-gpt-5-mini-20261121-154700", "b"):
        stage.make_run(tmp_path / name, ["s1"])
    with stage.viewer(tmp_path) as client:
        page = browser.new_page(viewport={"width": 1400, "height": 800})
        page.goto(str(client.base_url))
        rows = page.locator("[data-row]")
        tall, low = (row.bounding_box()["height"] for row in (rows.first, rows.last))
        page.close()
    assert tall < low + 5


@pytest.fixture
def report(browser, tmp_path):
    """The page of a report on two models, one of them of a hostile name; it loads nothing."""
    made = study(Plant(samples=30), {"base": 0.0, "web": 0.2}, ("a", HOSTILE), seed=1)
    folder = stage.make_run(tmp_path / "run", ["s1"], model=HOSTILE)
    file, seen = tmp_path / "report.html", []
    chapter = chapter_of(Comparison(made, Options()), {HOSTILE: folder.manifest})
    file.write_text(report_of([chapter], HOSTILE))
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.on("console", lambda message: seen.append(message.text))
    page.on("request", lambda request: seen.append(request.url))
    page.goto(file.as_uri())
    yield page
    assert seen == [file.as_uri()]
    assert page.evaluate("window.hacked") is None
    page.close()


def test_the_report_is_a_page_that_sorts_filters_and_prints(report):
    figure = report.locator(".first figure").bounding_box()
    assert figure["y"] + figure["height"] <= 900  # the finding and the picture come first
    assert report.locator(".first figure svg:visible").count() == 1
    wide = "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth)"
    assert report.evaluate(f"{wide}.map(e => e.parentElement.id)") == []
    report.click("#results summary")
    assert "difference" in report.locator(".differences th").all_inner_texts()
    table = report.locator("#results .table.differences")
    head = table.locator("th button", has_text="exact_match").first
    column = head.evaluate("b => [...b.closest('tr').children].indexOf(b.parentElement)")
    found = []
    for _ in range(2):
        head.click()
        texts = table.locator(f"tbody tr td:nth-child({column + 1})").all_inner_texts()
        found.append([float(text.split()[0]) for text in texts])
    assert found == [sorted(found[0], reverse=True), sorted(found[0])]
    assert not report.locator("#method .settings").is_visible()
    report.evaluate("location.hash = 'method'")
    for text, shown in (("sandbox", []), ("seed", ["seed\t1"])):
        report.fill("#method .settings input", text)
        assert report.locator("#method .settings tbody tr:visible").all_inner_texts() == shown


def test_the_report_is_printed_on_few_pages_with_what_a_reader_opened(report):
    def pages():
        return len(re.findall(rb"/Type\s*/Page\b", report.pdf(prefer_css_page_size=True)))

    before = pages()
    assert not report.locator("#method").evaluate("each => each.open")
    report.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    assert 1 <= before < pages() <= 7
    assert before <= 4
