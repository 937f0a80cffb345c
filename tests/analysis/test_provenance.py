"""Where planted answers came from, and what failed first, is told apart."""

import asyncio

import pytest

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.date_sources import date_source
from agent_env.analysis.failure_modes import calls_of
from agent_env.analysis.provenance import TraceProvenance
from agent_env.analysis.result_tables import render
from agent_env.analysis.statistics.provenance import answers, failures
from agent_env.analysis.study import QUANTITIES, Arm, Observation, Study
from agent_env.analysis.transcript import record_lines
from agent_env.families.time_puzzles.facts import ExplicitYear, KbEvent, Month, OnWeekday
from agent_env.families.time_puzzles.hooks import PuzzleFaults
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.families.time_puzzles.task import score
from agent_env.features.evidence import WORLD
from agent_env.features.facts.tables.tables import shipped_tables
from agent_env.records.disturbance import CallFault, ChangedPage, Disturbance, Fault, SampleAttack
from agent_env.records.schema import Message, PageRef, Proof, Sample, ToolCall
from agent_env.tasks.conditions import parse_condition
from agent_env.tasks.faults import ConstraintRef, Faults, MissedDate, WrongDate
from agent_env.tasks.modifiers import with_modifier
from agent_env.testing import FakeSandbox
from agent_env.tools.builtin.python import Interpreter
from agent_env.tools.toolbox import ToolSet
from tests.ended import ended

PROOF = "https://encyclopedia.example/article/First_Hague_Peace_Conference"
EVENT = KbEvent(event="the first Hague Peace Conference", aspect="start", level="day", value=18)
PUZZLE = TimePuzzle(
    id="p", gold=("1960-07-18",), evidence=(PROOF,), solution_count=1, fact_count=4,
    proofs=(Proof(constraint=0, urls=(PROOF,), dates=("1899-05-18",), shares="day"),),
    constraints=("on the day of the month on which the conference began", "1960", "July", "Monday"),
    explicit_constraints=("on day 18", "1960", "July", "Monday"),
    facts=(EVENT, ExplicitYear(year=1960), Month(month=7), OnWeekday(weekday="Monday")),
)  # fmt: skip
"""The conference opened on 18 May 1899; 18 July 1960 was a Monday, and so was the 25th."""
FINDER = PuzzleFaults(shipped_tables())


def told(condition, answer, sample=PUZZLE, **fields):
    """The record of an episode that ended with this answer line (or text of several words)."""
    text = answer if answer is None or " " in answer else f"MY ANSWER: {answer}"
    return judged(sample, parse_condition(condition), text, **fields)


def judged(sample, condition, text, metrics=(), finder=FINDER, is_stated=None, **fields):
    episode = ended(text, "p", condition.name, **{"stop_reason": "answered"} | fields)
    found = score(PUZZLE, episode)
    found = found.model_copy(update={"metrics": found.metrics | dict(metrics)})
    how = ("exact_match", finder)
    return TraceProvenance(sample, episode, found, condition, *how, is_stated=is_stated).record()


def called(*calls):
    """Calls one after the other: tool, arguments, output."""
    messages = []
    for number, (name, arguments, output) in enumerate(calls):
        call = ToolCall(id=f"c{number}", name=name, arguments=arguments)
        messages.append(Message(role="assistant", tool_calls=(call,)))
        messages.append(Message(role="tool", tool_call_id=call.id, content=output))
    return tuple(messages)


def opened(*urls):
    return tuple(PageRef(url=url, how="opened", digest="d") for url in urls)


SEARCHED = called(("web_search", '{"query": "conference"}', "[1] something"))
COMPUTED = called(("python", '{"code": "1 + 1"}', "2"))
LISTED = (PageRef(url=PROOF, how="returned"),)
OPENED = opened(PROOF + "#top")
READ = called(("open_page", PROOF, "It opened on 18 May 1899."))


def test_answers_sources_and_knowledge():
    found = told("web", "1960-07-18", messages=READ, pages=OPENED)
    assert (found.verdict, found.failure, found.errors.wrong) == ("read", "", ())
    assert found.stands_on == (PROOF + "#top",)
    assert told("web", "1960-07-18", messages=SEARCHED, pages=OPENED).verdict == "memory or luck"
    silent = told("web", "1960-07-18", messages=SEARCHED, pages=LISTED)
    assert (silent.verdict, silent.stands_on) == ("memory or luck", ())
    shown = called(("web_search", "{}", "[1] It opened on 18 May 1899"))
    listed = told("web", "1960-07-18", messages=shown, pages=LISTED)
    assert (listed.verdict, listed.stands_on) == ("read", (PROOF,))
    found = told("base", "1960-07-25")
    assert (found.verdict, found.failure) == ("guessed", "not known")
    (wrong,), (missed,) = found.errors.wrong, found.errors.missed
    assert [(ref.type, ref.pages) for ref in wrong.violates] == [("event", (PROOF,))]
    assert (missed.misread.type, missed.rule) == ("event", "the wrong dates violate it")
    proof = Proof(constraint=0, urls=(PROOF,), dates=("1960", "1964"), shares="years")
    years = PUZZLE.model_copy(update={"proofs": (proof,)})
    ferry = "https://things.example/ferry/x"
    shown = called(("open_page", ferry, "to be had from 22 September 1972 to 29 November 1976"))
    episode = ended(None, "p", "web", messages=shown, pages=opened(ferry))
    faults = told("web", "1973-07-25", messages=shown).errors
    source = date_source(years, episode, faults, calls_of(shown), ("open_page",))
    assert (source.date, source.place, source.url) == ("1972-09-22", "trusted another page", ferry)
    shown = called(("open_page", PROOF, "18 May 1899; 25 July 1899; a plan of 25 January 1898"))
    said = Message(role="assistant", content="The plan was of January 25, 1898, so day 25.")
    found = told("web", "1960-07-25", messages=(*shown, said), pages=opened(PROOF))
    assert (found.source.date, found.source.is_written) == ("1898-01-25", True)
    place = f"another date of the page, {PROOF}"
    assert f"  likely source: 1898-01-25 ({place}); the model wrote it down" in record_lines(found)


AGAIN, OTHERS = (
    called(*[("web_search", f'{{"query": "{n}"}}', "[1] y") for n in queries])
    for queries in ("xxx", "012")
)
UNREAD = ToolCall(id="c", name="unreadable", arguments="{", problem="this is not a call")
UNREAD_CALL = Message(role="assistant", tool_calls=(UNREAD,))
IN_TEXT = '<tool_call>{"name": "web_search", "arguments": {"query": "conference"}}</tool_call>'
PROMPT = "Find every date.\n- on the day of the month on which the conference began\n- 1960"
ECHO = (Message(role="user", content=PROMPT), Message(role="assistant", content=PROMPT))
REPEATED = "Let me check. " + "The year is 1960, so it is a Monday. " * 100
WRONG, UNREADABLE = "1960-07-25", "no answer: unreadable: "


def replied(work="", **fields):
    """The one reply of an episode that says in the end that there is no date."""
    return (Message(role="assistant", content=f"{work}MY ANSWER: None", **fields),)


def stopped(reason, **fields):
    return {"stop_reason": reason, **fields}


@pytest.mark.parametrize(
    ("condition", "answer", "fields", "first"),
    [
        ("web+python", WRONG, {"messages": COMPUTED}, "guessed: not searched"),
        ("web+python", WRONG, {"messages": SEARCHED}, "guessed: not found"),
        ("web+python", WRONG, {"messages": SEARCHED, "pages": LISTED}, "guessed: not opened"),
        ("web+python", WRONG, {"messages": SEARCHED, "pages": OPENED}, "guessed: misread"),
        ("web+python", WRONG, {"messages": READ, "pages": LISTED}, "guessed: misread"),
        ("explicit+web", WRONG, {}, "given: miscalculated"),
        ("web", WRONG, stopped("tool_calls"), "guessed: limit: tool_calls"),
        ("web", WRONG, stopped("tokens"), "guessed: limit: tokens"),
        ("web", WRONG, stopped("cost"), "guessed: limit: cost"),
        ("web", WRONG, stopped("time"), "guessed: limit: time"),
        ("web", WRONG, stopped("steps"), "guessed: limit: steps"),
        ("web", WRONG, stopped("truncated"), "guessed: limit: truncated"),
        ("web", WRONG, stopped("context", messages=SEARCHED), "guessed: context"),
        ("web", "1960-07-18", stopped("context", messages=SEARCHED), "memory or luck: "),
        ("web", IN_TEXT, {"tools": ("web_search",)}, "no answer: tool call in text (<tool_call>)"),
        ("base", IN_TEXT, {}, UNREADABLE),
        ("web", WRONG, {"messages": (UNREAD_CALL,)}, "guessed: malformed calls (1 of 1)"),
        ("web", None, stopped("steps", messages=AGAIN), "no answer: loop (the same call)"),
        ("web", WRONG, {"messages": AGAIN}, "guessed: not found"),
        ("web", None, stopped("steps", messages=OTHERS), "no answer: limit: steps"),
        ("web", REPEATED, stopped("truncated"), "no answer: loop (the same text)"),
        ("base", f"{REPEATED}\nMY ANSWER: {WRONG}", {}, "guessed: not known"),
        ("base", "I see no way to tell. " * 3, {}, UNREADABLE),
        ("base", PROMPT, {"messages": ECHO}, "no answer: echo of the prompt"),
        ("base", f"{PROMPT}\nIt began on some day, so I cannot say.", {"messages": ECHO},
         UNREADABLE),
        ("web", WRONG, {}, "guessed: no call"),
        ("python", WRONG, {}, "guessed: no call"),
        ("web", "I cannot tell the date of that.", {}, "no answer: no call"),
        ("python", "I cannot tell the date of that.", {}, "no answer: no call"),
        ("web", WRONG, {"hosted_calls": 1}, "guessed: not found"),
        ("base", "MY ANSWER: None", {"messages": replied()}, "no answer: no work"),
        ("explicit", "None", {"messages": replied()}, "no answer: no work"),
        ("base", "MY ANSWER: None", {"messages": replied("It began in May. " * 3)},
         "no answer: not known"),
        ("base", "MY ANSWER: None", {"messages": replied(reasoning="It began in May.")},
         "no answer: not known"),
        ("base", "MY ANSWER: None", {"messages": replied(), "reasoning_tokens": 90},
         "no answer: not known"),
        ("base~schema", "MY ANSWER: None", {"messages": replied()}, "no answer: not known"),
        ("base", None, stopped("refused"), "no answer: refused"),
        ("base", None, {"status": "failed", "failure": "ModelError: 500"}, "failed: "),
    ],
)  # fmt: skip
def test_what_failed_first_is_told(condition, answer, fields, first):
    found = told(condition, answer, **fields)
    said = f"{found.verdict}: {found.failure}"
    assert said.startswith(first) if first == UNREADABLE else said == first
    assert found.verdict != "failed" or found.because == "ModelError: 500"


COPY = "https://copies.example/page/First_Hague_Peace_Conference"


@pytest.mark.parametrize(
    ("calls", "read", "told_as"),
    [
        ([("web_search", "{}", "[1] expected from 25 May 1899")], "",
         ("1899-05-25", "stopped at a snippet")),
        ([("web_search", "{}", "[1] 18 May 1899 to 25 July 1899")], "",
         ("1899-07-25", "another date of the snippets")),
        ([("web_search", "{}", "[1] 25 July 1899"), ("web_search", "{}", "[1] 18 May 1899")], "",
         ("1899-07-25", "another date of the snippets")),
        ([("web_search", "{}", "[1] May 25th, 1899"), ("open_page", COPY, "on 1899-05-25")], COPY,
         ("1899-05-25", "trusted another page")),
        ([("open_page", PROOF, "18 May 1899 to 25 July 1899; first told on 12 June 1898")], PROOF,
         ("1899-07-25", "newest date of the page")),
        ([("open_page", PROOF, "18 May 1899; a plan of 25 Jan. 1898; 1 July 1907")], PROOF,
         ("1898-01-25", "another date of the page")),
    ],
)  # fmt: skip
def test_the_date_that_a_wrong_answer_took_is_found_in_what_was_shown(calls, read, told_as):
    pages = (*LISTED, *opened(*filter(None, [read])))
    found = told("web", "1960-07-25", messages=called(*calls), pages=pages)
    assert (found.source.date, found.failure) == told_as
    assert (found.verdict, found.source.is_written) == ("read", False)


@pytest.mark.parametrize(
    ("days", "written", "verdict"),
    [(7, "", "read"), (8, "", "unknown"), (8, "25 Jan 1901", "read")],
)
def test_a_day_that_agrees_with_one_of_many_shown_is_no_source_unless_it_was_written(
    days, written, verdict
):
    """A quarter of the 31 days of a month is between 7 and 8."""
    text = "; ".join(f"1901-01-{day:02}" for day in (18, 25, *range(1, days - 1)))
    said = Message(role="assistant", content=written)
    messages = (*called(("open_page", COPY, text)), said)
    found = told("web", "1960-07-25", messages=messages, pages=opened(COPY))
    assert found.verdict == verdict
    assert ("by chance" in found.because) is (verdict == "unknown")


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (f"See {PROOF}.", "read"),
        (f"See [it]({PROOF}#opening)", "read"),
        (f"See {PROOF}_(1907)", "guessed"),
        (f"See {PROOF}/Delegates", "guessed"),
        ("See https://elsewhere.example/article/First_Hague_Peace_Conference", "guessed"),
    ],
)
def test_a_wrong_answer_is_read_where_it_cites_the_whole_address_of_a_page_that_was_shown(
    text, verdict
):
    answer = f"{text}\nMY ANSWER: 1960-07-25"
    found = told("web", answer, messages=SEARCHED, pages=LISTED)
    assert found.verdict == verdict
    assert told("web", answer, messages=SEARCHED).verdict == "guessed"  # it was not shown


FALSE = "https://records.example/entry/1"
ATTACK = SampleAttack(
    name="false-page", variant="1", planted=("1960-07-25",), ranks={FALSE: 1},
    pages=(ChangedPage(was=None, url=FALSE, title="t", text="It was on 25 May 1899.\nRevised."),),
)  # fmt: skip


def under(sample, disturbance, answer="1960-07-25", condition="web", **fields):
    made = with_modifier(parse_condition(condition), WORLD, disturbance)
    return judged(sample, made, f"MY ANSWER: {answer}", **{"messages": SEARCHED} | fields)


def test_planted_pages_and_dates_are_told_apart():
    attacked = PUZZLE.model_copy(update={"attacks": (ATTACK,)})
    its = Disturbance(suffix="attacked-false-page", attack="false-page")
    fooled = under(attacked, its, pages=opened(FALSE))
    assert (fooled.verdict, fooled.failure) == ("fooled", "attack: false-page")
    assert fooled.stands_on == (FALSE,)
    lines = list(record_lines(fooled))
    assert f"  opened: {FALSE} (planted)" in lines
    assert "  attack false-page: the model read it; its planted value was given" in lines
    other = under(attacked, its)
    assert (other.verdict, other.failure) == ("guessed", "not found")  # it never saw the page
    right, same = (told("web", answer, messages=READ, pages=OPENED) for answer in GIVEN)
    guess = under(PUZZLE, Disturbance(suffix="blocked", ablation="blocked"))
    assert (guess.verdict, guess.failure) == ("guessed", "pages gone")
    assert fooled.in_world_of([right, guess]).verdict == "fooled"
    other = fooled.in_world_of([same])
    assert (other.verdict, other.failure, other.stands_on) == ("guessed", "misread", ())
    shifted = Disturbance(suffix="shifted", ablation="shifted")
    found = under(PUZZLE, shifted, pages=LISTED, metrics={"original": 1.0})
    assert (found.verdict, found.failure) == ("remembered", "memory without the page")


GIVEN = ("1960-07-18", "1960-07-25")


FOUND = ("open_page", PROOF, "It opened on 18 May 1899.")
BROKEN = ("web_search", "{}", "Error: HTTP 503")
MOVED = ("open_page", COPY, "It opened on 25 May 1899.")


@pytest.mark.parametrize(
    ("calls", "tool", "kind", "answer", "failure"),
    [
        ([BROKEN], "web_search", "error", "1960-07-25", "fault of a tool"),
        ([BROKEN, FOUND], "web_search", "error", "1960-07-25", "misread"),
        ([BROKEN, FOUND], "web_search", "error", "None", "fault of a tool"),
        ([BROKEN, FOUND], "web_search", "error", "1960-08-18", "dropped a constraint"),
        ([MOVED, FOUND], "open_page", "wrong", "1960-07-25", "fault of a tool"),
        ([BROKEN, MOVED], "web_search", "error", "1960-07-25", "trusted another page"),
        ([("python", "{}", "1960-08-18"), FOUND], "python", "wrong", "1960-08-18",
         "fault of a tool"),
    ],
)  # fmt: skip
def test_a_fault_of_a_tool_failed_first_only_where_it_can_be_why(
    calls, tool, kind, answer, failure
):
    drawn = Disturbance(suffix="faults", faults=(Fault(tool=tool, kind=kind, rate=1),))
    seen = {"messages": called(*calls), "pages": opened(*(call[1] for call in calls[1:]))}
    faults = (CallFault(call="c0", tool=tool, kind=kind, landed=True),)
    found = under(PUZZLE, drawn, answer, "web+python", faults=faults, **seen)
    assert found.failure == failure


def test_miscalculations_and_answers_not_given():
    found = told("web+python", "1960-08-18", messages=COMPUTED)
    assert (found.verdict, found.failure) == ("memory or luck", "dropped a constraint")
    assert {ref.type for ref in found.errors.wrong[0].violates} == {"month", "weekday"}
    facts = {"facts": (EVENT, OnWeekday(weekday="Monday")), "constraints": ("on its day", "M")}
    days = PUZZLE.model_copy(update=facts)
    assert told("web", "1960-08-18", days, messages=READ).failure == "miscalculated"
    found = told("base", "I see 1960-07-18.")
    assert found.verdict == "no answer"
    assert found.failure.startswith("unreadable: ")
    assert found.failure.endswith("the text holds the right dates")
    found = told("web", "None", messages=SEARCHED)
    assert (found.verdict, found.failure) == ("no answer", "not found")
    assert found.errors.missed[0].rule == "no date given"


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        ("1984-07-25", "dropped a constraint"),  # neither the day that it read, nor 1960
        ("1960-07-25", "misread"),
        ("1960-07-25, 1984-07-25", "misread"),  # one wrong date fits all that is stated
        ("1983-07-18", "dropped a constraint"),  # the day that it read, a Monday of another year
        ("None", "dates left out"),
    ],
)
def test_a_stated_constraint_that_no_wrong_date_meets_was_dropped(answer, failure):
    assert told("web", answer, messages=READ, pages=OPENED).failure == failure
    assert told("web", answer, messages=SEARCHED).failure in ("not found", "dropped a constraint")


def test_calls_that_could_not_be_run_are_malformed_where_they_are_more_than_half():
    bad = ("web_search", "{}", "Error: wrong arguments: query: Field required")
    good = ("web_search", '{"query": "x"}', "[1] y")
    found = told("web", "1960-07-25", messages=called(bad, bad, good))
    assert found.failure == "malformed calls (2 of 3)"
    assert told("web", "1960-07-25", messages=called(bad, good)).failure == "not found"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("search", "{}"), ("python", "{"), ("python", "[1]"), ("python", '{"cod": "1"}')],
)
def test_whatever_the_toolbox_turns_away_counts_as_malformed(name, arguments):
    toolbox = ToolSet([Interpreter(FakeSandbox(), (), 1.0)])
    call = ToolCall(id="c", name=name, arguments=arguments)
    result = asyncio.run(toolbox.run(call, frozenset({"python"})))
    found = told("python", "1960-07-25", messages=called((name, arguments, result.output)))
    assert found.failure == "malformed calls (1 of 1)"


def test_calls_are_ignored_or_repeated():
    ran = called(("python", '{"code": "x"}', "1960-07-18"))
    assert told("python", "1960-07-25", messages=ran).failure == "right result ignored"
    assert told("python", "1960-07-18", messages=ran).failure == ""
    twice = called(
        ("web_search", '{"query": "a", "limit": 5}', "x"),
        ("open_page", '{"url": "u"}', "y"),
        ("web_search", '{"limit": 5, "query": "a"}', "x"),
    )
    (again,) = told("web", "1960-07-25", messages=twice).repeated
    assert (again.tool, again.times, again.is_loop) == ("web_search", 2, False)
    row = called(*[("python", '{"code": "1"}', "1")] * 2)
    assert told("python", "1960-07-25", messages=row).repeated[0].is_loop


def test_questions_without_rules_or_with_their_evidence():
    sample = Sample(id="p", task="other", gold=("1960-07-18",))
    plain = told("base", "1960-07-25", sample, finder=None)
    assert (plain.verdict, plain.failure) == ("unknown", "cannot be told")

    def found(answer, messages=(), errors=0):
        fields = {"messages": messages, "tool_errors": errors}
        return told("python", answer, sample, finder=None, is_stated=True, **fields)

    wrong, right = found("1960-07-25", COMPUTED), found("1960-07-18", COMPUTED)
    because = "the question has what proves it; the answer is misread, miscounted or guessed"
    assert (wrong.verdict, wrong.because) == ("given", because)
    assert (wrong.failure, wrong.searches) == ("misread", False)
    assert (right.verdict, right.failure) == ("given", "")
    printed = called(("python", '{"code": "d"}', "1960-07-18"))
    assert found("1960-07-18", printed).verdict == "computed"
    assert found("None", COMPUTED).failure == "gave up"
    assert found("None", COMPUTED, errors=1).failure == "no call worked"


def test_sums_and_words():
    diagnoses = (told("web", "1960-07-25", messages=SEARCHED), told("web", "1960-07-18"))
    used = dict.fromkeys(QUANTITIES)
    observations = tuple(
        Observation("p", 1, "read", {}, used, provenance=record) for record in diagnoses
    )
    arm = Arm("web", "r", "m", parse_condition("web"), observations, 2)
    comparison = Comparison(Study("t", ("exact_match",), (arm,), (PUZZLE,), ()))
    text = render([answers(comparison), failures(comparison)], "md")
    assert "| condition | episodes | right | memory or luck | guessed |" in text
    assert "| web | 2 | 1 | 1 | 1 |" in text
    assert "| web | guessed | not found | 1 |" in text
    assert list(record_lines(diagnoses[0]))[:4] == [
        "web/p.1: guessed: nothing that was shown agrees with it",
        "  failed first: not found",
        "  1960-07-25 violates:",
        "    - on the day of the month on which the conference began",
    ]
    ref = ConstraintRef(index=0, type="month", text="The month is July.", source="calculation")
    missed = {"misread": ref, "rule": "the wrong dates violate it"}
    errors = Faults(
        wrong=tuple(WrongDate(date=f"1960-06-0{n}", violates=(ref,)) for n in (1, 2)),
        missed=tuple(MissedDate(date=f"1960-07-0{n}", **missed) for n in (1, 2)),
    )
    assert list(record_lines(diagnoses[0].model_copy(update={"errors": errors})))[2:5] == [
        "  1960-06-01, 1960-06-02 violate:",
        "    - The month is July.",
        "  1960-07-01, 1960-07-02: missing; most likely misread: The month is July "
        "(the wrong dates violate it)",
    ]
