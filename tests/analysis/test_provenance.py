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
from agent_env.extensions.facts.tables.tables import shipped_tables
from agent_env.families.time_puzzles.facts import ExplicitYear, KbEvent, Month, OnWeekday
from agent_env.families.time_puzzles.hooks import PuzzleFaults
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.families.time_puzzles.task import score
from agent_env.records.disturbance import CallFault, ChangedPage, Disturbance, Fault, SampleAttack
from agent_env.records.schema import Episode, Message, PageRef, Proof, Sample, ToolCall
from agent_env.tasks.conditions import parse_condition, with_disturbances
from agent_env.testing import FakeSandbox
from agent_env.tools.builtin.python import Interpreter
from agent_env.tools.toolbox import ToolSet

PROOF = "https://encyclopedia.example/article/First_Hague_Peace_Conference"
EVENT = KbEvent(event="the first Hague Peace Conference", aspect="start", level="day", value=18)
PUZZLE = TimePuzzle(
    id="p",
    gold=("1960-07-18",),
    evidence=(PROOF,),
    proofs=(Proof(constraint=0, urls=(PROOF,), dates=("1899-05-18",), shares="day"),),
    constraints=("on the day of the month on which the conference began", "1960", "July", "Monday"),
    explicit_constraints=("on day 18", "1960", "July", "Monday"),
    facts=(EVENT, ExplicitYear(year=1960), Month(month=7), OnWeekday(weekday="Monday")),
    solution_count=1,
    fact_count=4,
)
"""The conference opened on 18 May 1899; 18 July 1960 was a Monday, and so was the 25th."""
FINDER = PuzzleFaults(shipped_tables())


def told(condition, answer, **fields):
    """The record of an episode that ended with this answer line (or text of several words)."""
    text = answer if answer is None or " " in answer else f"MY ANSWER: {answer}"
    episode = Episode.model_validate({
        "sample": "p", "condition": condition, "repeat": 1, "model": "m", "status": "finished",
        "answer": text, "stop_reason": "answered", **fields,
    })  # fmt: skip
    scored = score(PUZZLE, episode)
    return TraceProvenance(
        PUZZLE, episode, scored, parse_condition(condition), "exact_match", FINDER
    ).record()


def called(*calls):
    """Calls one after the other: tool, arguments, output."""
    messages = []
    for number, (name, arguments, output) in enumerate(calls):
        call = ToolCall(id=f"c{number}", name=name, arguments=arguments)
        messages.append(Message(role="assistant", tool_calls=(call,)))
        messages.append(Message(role="tool", tool_call_id=call.id, content=output))
    return tuple(messages)


SEARCHED = called(("web_search", '{"query": "conference"}', "[1] something"))
COMPUTED = called(("python", '{"code": "1 + 1"}', "2"))
LISTED = (PageRef(url=PROOF, how="returned"),)
OPENED = (PageRef(url=PROOF + "#top", how="opened", digest="d"),)


READ = called(("open_page", PROOF, "It opened on 18 May 1899."))


def test_a_right_answer():
    found = told("web", "1960-07-18", messages=READ, pages=OPENED)
    assert (found.verdict, found.failure, found.errors.wrong) == ("read", "", ())
    assert found.stands_on == (PROOF + "#top",)
    assert [use.used for use in found.uses] == [True]
    unread = told("web", "1960-07-18", messages=SEARCHED, pages=OPENED)
    assert (unread.verdict, [use.used for use in unread.uses]) == ("memory or luck", [False])


def test_without_the_web_a_wrong_event_is_missing_knowledge():
    found = told("base", "1960-07-25")
    assert (found.verdict, found.failure) == ("guessed", "not known")
    (wrong,) = found.errors.wrong
    assert [ref.type for ref in wrong.violates] == ["event"]
    assert wrong.violates[0].pages == (PROOF,)
    (missed,) = found.errors.missed
    assert (missed.misread.type, missed.rule) == ("event", "the wrong dates violate it")


@pytest.mark.parametrize(
    ("fields", "failure"),
    [
        ({"messages": COMPUTED}, "not searched"),
        ({"messages": SEARCHED}, "not found"),
        ({"messages": SEARCHED, "pages": LISTED}, "not opened"),
        ({"messages": SEARCHED, "pages": OPENED}, "misread"),
        ({"messages": READ, "pages": LISTED}, "misread"),
    ],
)
def test_with_the_web_retrieval_and_reading_are_told_apart(fields, failure):
    found = told("web+python", "1960-07-25", **fields)
    assert (found.verdict, found.failure) == ("guessed", failure)


COPY = "https://copies.example/page/First_Hague_Peace_Conference"


@pytest.mark.parametrize(
    ("calls", "opened", "told_as"),
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
def test_the_date_that_a_wrong_answer_took_is_found_in_what_was_shown(calls, opened, told_as):
    pages = (*LISTED, *([PageRef(url=opened, how="opened", digest="d")] if opened else []))
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
    pages = (PageRef(url=COPY, how="opened", digest="d"),)
    messages = (*called(("open_page", COPY, text)), said)
    found = told("web", "1960-07-25", messages=messages, pages=pages)
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


def under(sample, condition, disturbance, **fields):
    (_, made) = with_disturbances([parse_condition(condition)], [disturbance])
    answer = fields.pop("answer")
    episode = Episode.model_validate({
        "sample": "p", "condition": made.name, "repeat": 1, "model": "m", "status": "finished",
        "answer": f"MY ANSWER: {answer}", "stop_reason": "answered", **fields,
    })  # fmt: skip
    metrics = fields.get("metrics", {})
    scored = score(sample, episode)
    scored = scored.model_copy(update={"metrics": {**scored.metrics, **metrics}})
    return TraceProvenance(sample, episode, scored, made, "exact_match", FINDER).record()


def test_an_answer_that_an_attacking_page_wants_stands_on_that_page():
    attacked = PUZZLE.model_copy(update={"attacks": (ATTACK,)})
    its = Disturbance(suffix="attacked-false-page", attack="false-page")
    found = under(
        attacked, "web", its, answer="1960-07-25", messages=SEARCHED,
        pages=(PageRef(url=FALSE, how="opened", digest="d"),),
    )  # fmt: skip
    assert (found.verdict, found.failure) == ("fooled", "attack: false-page")
    assert found.stands_on == (FALSE,)
    assert [use.used for use in found.uses] == [True]
    assert f"  opened: {FALSE} (planted)" in record_lines(found)
    assert "  attack false-page: the model read it; its planted value was given" in record_lines(
        found
    )
    other = under(attacked, "web", its, answer="1960-07-25", messages=SEARCHED)
    assert (other.verdict, other.failure) == ("guessed", "not found")  # it never saw the page


def test_a_planted_answer_is_a_guess_only_where_the_plain_condition_gives_it_too():
    attacked = PUZZLE.model_copy(update={"attacks": (ATTACK,)})
    its = Disturbance(suffix="attacked-false-page", attack="false-page")
    shown = (PageRef(url=FALSE, how="opened", digest="d"),)
    fooled = under(attacked, "web", its, answer="1960-07-25", messages=SEARCHED, pages=shown)
    right, same = (told("web", answer, messages=READ, pages=OPENED) for answer in GIVEN)
    blocked = Disturbance(suffix="blocked", ablation="blocked")
    guess = under(PUZZLE, "web", blocked, answer="1960-07-25", messages=SEARCHED)
    assert fooled.in_world_of([right, guess]).verdict == "fooled"
    other = fooled.in_world_of([same])
    assert (other.verdict, other.failure, other.stands_on) == ("guessed", "misread", ())


GIVEN = ("1960-07-18", "1960-07-25")


def test_the_answer_of_the_unchanged_world_is_memory_and_no_failure_of_retrieval():
    found = under(
        PUZZLE, "web", Disturbance(suffix="shifted", ablation="shifted"), answer="1960-07-25",
        messages=SEARCHED, pages=LISTED, metrics={"original": 1.0},
    )  # fmt: skip
    assert (found.verdict, found.failure) == ("remembered", "memory without the page")
    assert [use.used for use in found.uses] == [False]


def test_where_the_proving_pages_are_gone_nothing_could_be_retrieved():
    found = under(
        PUZZLE, "web", Disturbance(suffix="blocked", ablation="blocked"), answer="1960-07-25",
        messages=SEARCHED,
    )  # fmt: skip
    assert (found.verdict, found.failure) == ("guessed", "pages gone")


def test_a_right_answer_stands_on_a_listed_page_only_if_the_list_has_its_date():
    silent = told("web", "1960-07-18", messages=SEARCHED, pages=LISTED)
    assert (silent.verdict, silent.stands_on) == ("memory or luck", ())
    shown = called(("web_search", "{}", "[1] It opened on 18 May 1899"))
    listed = told("web", "1960-07-18", messages=shown, pages=LISTED)
    assert (listed.verdict, listed.stands_on) == ("read", (PROOF,))


def test_years_within_the_span_of_another_page_come_from_that_page():
    proof = Proof(constraint=0, urls=(PROOF,), dates=("1960", "1964"), shares="years")
    years = PUZZLE.model_copy(update={"proofs": (proof,)})
    ferry = "https://things.example/ferry/x"
    shown = called(("open_page", ferry, "to be had from 22 September 1972 to 29 November 1976"))
    episode = Episode.model_validate({
        "sample": "p", "condition": "web", "repeat": 1, "model": "m", "status": "finished",
        "messages": shown, "pages": (PageRef(url=ferry, how="opened", digest="d"),),
    })  # fmt: skip
    faults = told("web", "1973-07-25", messages=shown).errors
    source = date_source(years, episode, faults, calls_of(shown), ("open_page",))
    assert (source.date, source.place, source.url) == ("1972-09-22", "trusted another page", ferry)


def test_a_date_that_the_model_wrote_down_is_the_likelier_source():
    shown = called(("open_page", PROOF, "18 May 1899; 25 July 1899; a plan of 25 January 1898"))
    said = Message(role="assistant", content="The plan was of January 25, 1898, so day 25.")
    pages = (PageRef(url=PROOF, how="opened", digest="d"),)
    found = told("web", "1960-07-25", messages=(*shown, said), pages=pages)
    assert (found.source.date, found.source.is_written) == ("1898-01-25", True)
    line = (
        f"  likely source: 1898-01-25 (another date of the page, {PROOF}); the model wrote it down"
    )
    assert line in record_lines(found)


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
    faults = (CallFault(call="c0", tool=tool, kind=kind, landed=True),)
    pages = tuple(PageRef(url=call[1], how="opened", digest="d") for call in calls[1:])
    drawn = (Fault(tool=tool, kind=kind, rate=1),)
    found = under(
        PUZZLE, "web+python", Disturbance(suffix="faults", faults=drawn), answer=answer,
        messages=called(*calls), pages=pages, faults=faults,
    )  # fmt: skip
    assert found.failure == failure


def test_a_wrong_calculation_is_reasoning_even_where_nothing_was_searched():
    found = told("web+python", "1960-08-18", messages=COMPUTED)
    assert (found.verdict, found.failure) == ("memory or luck", "dropped a constraint")
    assert {ref.type for ref in found.errors.wrong[0].violates} == {"month", "weekday"}


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


def test_a_date_that_meets_what_is_stated_and_not_its_weekday_is_miscalculated():
    days = PUZZLE.model_copy(
        update={"facts": (EVENT, OnWeekday(weekday="Monday")), "constraints": ("on its day", "M")}
    )
    episode = Episode.model_validate({
        "sample": "p", "condition": "web", "repeat": 1, "model": "m", "status": "finished",
        "answer": "MY ANSWER: 1960-08-18", "stop_reason": "answered", "messages": READ,
    })  # fmt: skip
    record = TraceProvenance(
        days, episode, score(days, episode), parse_condition("web"), "exact_match", FINDER
    ).record()
    assert record.failure == "miscalculated"


def test_with_explicit_dates_there_is_nothing_to_retrieve():
    found = told("explicit+web", "1960-07-25")
    assert (found.verdict, found.failure) == ("given", "miscalculated")


@pytest.mark.parametrize("reason", ["steps", "tool_calls", "tokens", "cost", "time", "truncated"])
def test_a_limit_reached_is_the_budget(reason):
    found = told("web", "1960-07-25", stop_reason=reason)
    assert (found.verdict, found.failure) == ("guessed", f"limit: {reason}")


def test_an_unreadable_answer_is_formatting_and_the_right_dates_in_it_are_seen():
    found = told("base", "I see 1960-07-18.")
    assert found.verdict == "no answer"
    assert found.failure.startswith("unreadable: ")
    assert found.failure.endswith("the text holds the right dates")


def test_a_full_context_is_no_mere_budget():
    wrong, right = (
        told("web", answer, stop_reason="context", messages=SEARCHED)
        for answer in ("1960-07-25", "1960-07-18")
    )
    assert (wrong.failure, right.failure) == ("context", "")


def test_a_call_that_stands_in_the_answer_is_named_by_its_form():
    text = '<tool_call>{"name": "web_search", "arguments": {"query": "conference"}}</tool_call>'
    found = told("web", text, tools=("web_search", "open_page"))
    assert found.failure == "tool call in text (<tool_call>)"
    assert told("base", text).failure.startswith("unreadable: ")


@pytest.mark.parametrize(
    "output",
    [
        "Error: wrong arguments: query: Field required",
        "Error: there is no tool 'search' here; tools you can call: web_search",
        "Error: the arguments are not valid JSON (line 1); send one object",
        "Error: the arguments must be a JSON object, not list",
    ],
)
def test_calls_that_could_not_be_run_are_malformed_where_they_are_more_than_half(output):
    bad, good = ("web_search", "{}", output), ("web_search", '{"query": "x"}', "[1] y")
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


def test_a_call_that_the_text_protocol_could_not_read_is_malformed():
    call = ToolCall(id="c", name="unreadable", arguments="{", problem="this is no call")
    messages = (Message(role="assistant", tool_calls=(call,)),)
    assert told("web", "1960-07-25", messages=messages).failure == "malformed calls (1 of 1)"


def test_a_call_repeated_until_a_limit_is_a_loop_and_else_is_not():
    again = called(*[("web_search", '{"query": "x"}', "[1] y")] * 3)
    found = told("web", None, messages=again, stop_reason="steps")
    assert found.failure == "loop (the same call)"
    assert told("web", "1960-07-25", messages=again).failure == "not found"
    other = called(*[("web_search", f'{{"query": "{n}"}}', "[1] y") for n in range(3)])
    assert told("web", None, messages=other, stop_reason="steps").failure == "limit: steps"


def test_a_reply_whose_end_repeats_itself_is_a_loop_where_no_answer_is_read():
    text = "Let me check. " + "The year is 1960, so it is a Monday. " * 100
    found = told("web", text, stop_reason="truncated")
    assert found.failure == "loop (the same text)"
    assert told("base", text + "\nMY ANSWER: 1960-07-25").failure == "not known"
    assert told("base", "I see no way to tell. " * 3).failure.startswith("unreadable: ")


def test_a_reply_that_repeats_the_prompt_is_an_echo():
    prompt = "Find every date.\n- on the day of the month on which the conference began\n- 1960"
    messages = (Message(role="user", content=prompt), Message(role="assistant", content=prompt))
    assert told("base", prompt, messages=messages).failure == "echo of the prompt"
    longer = f"{prompt}\nThe conference began on some day that I do not know, so I cannot say."
    assert told("base", longer, messages=messages).failure.startswith("unreadable: ")


@pytest.mark.parametrize("condition", ["web", "python"])
def test_that_tools_were_offered_and_never_called_comes_first(condition):
    for text in ("1960-07-25", "I cannot tell the date of that."):
        assert told(condition, text).failure == "no call"


def test_no_call_is_none_where_the_reply_was_cut_or_a_provider_called():
    assert told("web", "1960-07-25", stop_reason="truncated").failure == "limit: truncated"
    assert told("web", "1960-07-25", hosted_calls=1).failure == "not found"


def test_refusals_and_failures_are_kinds_of_their_own():
    refused = told("base", None, stop_reason="refused")
    assert (refused.verdict, refused.failure) == ("no answer", "refused")
    failed = told("base", None, status="failed", failure="ModelError: 500", stop_reason=None)
    assert (failed.verdict, failed.because) == ("failed", "ModelError: 500")


def test_giving_up_with_the_proving_page_unopened_is_retrieval():
    found = told("web", "None", messages=SEARCHED)
    assert (found.verdict, found.failure) == ("no answer", "not found")
    assert found.errors.missed[0].rule == "no date given"


def test_a_right_result_of_the_interpreter_that_is_ignored():
    ran = called(("python", '{"code": "x"}', "1960-07-18"))
    (use,) = told("python", "1960-07-25", messages=ran).uses
    assert (use.tool, use.used, use.right_but_unused) == ("python", False, True)
    (used,) = told("python", "1960-07-18", messages=ran).uses
    assert (used.used, used.right_but_unused) == (True, False)


def test_identical_calls_are_counted_whatever_the_order_of_their_arguments():
    twice = called(
        ("web_search", '{"query": "a", "limit": 5}', "x"),
        ("open_page", '{"url": "u"}', "y"),
        ("web_search", '{"limit": 5, "query": "a"}', "x"),
    )
    (again,) = told("web", "1960-07-25", messages=twice).repeated
    assert (again.tool, again.times, again.is_loop) == ("web_search", 2, False)
    row = called(*[("python", '{"code": "1"}', "1")] * 2)
    assert told("python", "1960-07-25", messages=row).repeated[0].is_loop


def test_a_family_without_rules_of_its_own_is_unexplained():
    sample = Sample(id="p", task="other", gold=("1960-07-18",))
    episode = Episode(sample="p", condition="base", repeat=1, model="m", status="finished",
                      answer="MY ANSWER: 1960-07-25", stop_reason="answered")  # fmt: skip
    found = TraceProvenance(sample, episode, score(PUZZLE, episode), parse_condition("base"),
                     "exact_match", None).record()  # fmt: skip
    assert (found.verdict, found.failure) == ("unknown", "no page named")


def test_a_question_that_holds_its_evidence_is_misread_unless_a_tool_put_the_answer_out():
    sample = Sample(id="p", task="other", gold=("1960-07-18",))

    def found(answer, messages=(), errors=0):
        episode = Episode(sample="p", condition="python", repeat=1, model="m", status="finished",
                          answer=f"MY ANSWER: {answer}", stop_reason="answered",
                          messages=messages, tool_errors=errors)  # fmt: skip
        return TraceProvenance(
            sample, episode, score(PUZZLE, episode), parse_condition("python"), "exact_match",
            None, is_stated=True,
        ).record()  # fmt: skip

    wrong, right = found("1960-07-25", COMPUTED), found("1960-07-18", COMPUTED)
    assert (wrong.verdict, wrong.because) == ("given", "the question has what proves it")
    assert (wrong.failure, wrong.searches) == ("misread", False)
    assert (right.verdict, right.failure) == ("given", "")
    printed = called(("python", '{"code": "d"}', "1960-07-18"))
    assert found("1960-07-18", printed).verdict == "computed"
    assert found("None", COMPUTED).failure == "gave up"
    assert found("None", COMPUTED, errors=1).failure == "no call worked"


def test_sums_and_words():
    diagnoses = (told("web", "1960-07-25", messages=SEARCHED), told("web", "1960-07-18"))
    observations = tuple(
        Observation(
            sample="p", repeat=1, outcome="read", metrics={}, used=dict.fromkeys(QUANTITIES),
            absent=None, extra=None, stop_reason="answered", usage_sources=(), provenance=record,
        )
        for record in diagnoses
    )  # fmt: skip
    arm = Arm("web", "r", "m", parse_condition("web"), observations, 2)
    comparison = Comparison(Study("t", ("exact_match",), (arm,), (PUZZLE,), ()))
    text = render([answers(comparison), failures(comparison)], "md")
    assert "| condition | episodes | right | memory or luck | guessed |" in text
    assert "| web | 2 | 1 | 1 | 1 |" in text
    assert "| web | guessed | not found | 1 |" in text
    assert list(record_lines(diagnoses[0]))[:5] == [
        "web/p.1: guessed: nothing that was shown agrees with it",
        "  failed first: not found",
        "  web: 1 call, not used in the answer",
        "  1960-07-25 is wrong; it violates:",
        "    - on the day of the month on which the conference began",
    ]
