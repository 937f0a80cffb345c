"""The process that runs the code: one call after the other, in one lasting set of variables."""

from __future__ import annotations

import _ast  # not ast, which is Python and takes its time to load
import builtins
import io
import json
import os
import signal
import sys
import types
from contextlib import suppress

from agent_env.sandbox.kernel import die_with_parent

OUT_OF_MEMORY = 71
"""Exit status where the code's variables leave no room to take another call."""
ASKED, ANSWERING = 3, 4
"""The descriptors on which calls come and replies go."""


def become_executor(pipes: tuple[int, int, int, int], limit: int) -> None:
    """Turn this freshly forked process into the one that runs code; never returns.

    `pipes` are those for calls, replies, standard output and standard error.
    """
    status = 1
    try:
        os.setpgid(0, 0)
        if sys.platform == "linux":
            die_with_parent()
        keep_only(*pipes)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        answer_calls(fresh_main(), limit)
        status = 0
    except MemoryError:  # not in the code, but in reading a call beside what the code holds
        status = OUT_OF_MEMORY
    finally:
        os._exit(status)


def keep_only(asked: int, answering: int, out: int, err: int) -> None:
    """Nothing to read on 0, the pipes on 1 and 2, the supervisor on 3 and 4, all else closed."""
    null = os.open(os.devnull, os.O_RDONLY)
    high = [os.dup(fd) for fd in (null, out, err, asked, answering)]
    for target, fd in enumerate(high):
        os.dup2(fd, target, inheritable=target < ASKED)
    os.closerange(ANSWERING + 1, 65536)
    sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115  lives as long as the process
    sys.stdout = text_stream(1)
    sys.stderr = text_stream(2)
    vars(sys).update(__stdin__=sys.stdin, __stdout__=sys.stdout, __stderr__=sys.stderr)


def text_stream(fd: int) -> io.TextIOWrapper:
    """Buffered text to a descriptor; what cannot be encoded is escaped."""
    raw = io.BufferedWriter(io.FileIO(fd, "w", closefd=False), 1 << 16)
    return io.TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace")


def fresh_main() -> types.ModuleType:
    """An empty `__main__`, and no trace of the harness's own modules."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "agent_env"]:
        del sys.modules[name]
    sys.path[:] = [entry for entry in sys.path if "guest" not in entry.split(os.sep)]
    sys.argv = [""]
    vars(builtins).update(exit=sys.exit, quit=sys.exit)  # as in a terminal
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    return main


def answer_calls(main: types.ModuleType, limit: int) -> None:
    """Read a request, run it, reply; until the supervisor hangs up.

    A child that the code forked and that ran to the end of the code ends here, without a reply.
    """
    dumps, loads, write, getpid, leave = json.dumps, json.loads, os.write, os.getpid, os._exit
    myself, sources = getpid(), dict[str, str]()
    with open(ASKED, "rb", closefd=False) as requests:
        for request in requests:
            call = loads(request)
            name = f"<call {call['id']}>"
            sources[name] = call["code"]
            reply = {"id": call["id"], **run(name, sources, main, limit)}
            if getpid() != myself:
                leave(0)
            rest = dumps(reply).encode() + b"\n"
            while rest:
                rest = rest[write(ANSWERING, rest) :]


def run(
    name: str, sources: dict[str, str], main: types.ModuleType, limit: int
) -> dict[str, object]:
    """Status, value and error of one call; `sources` holds the code of this and earlier ones."""
    value, error = None, None
    try:
        value = evaluate(sources[name], name, main)
    except SystemExit as exc:
        error = words_of(exc)
    except BaseException as exc:  # the code may raise anything; the session goes on
        error = explain(exc, sources)
    for stream in ("stdout", "stderr"):
        with suppress(BaseException):  # the code may have put its own there, or none
            getattr(sys, stream).flush()
    texts = {"value": value, "error": error}
    return {
        "status": "ok" if error is None else "error",
        "truncated": any(text is not None and len(text) > limit for text in texts.values()),
        **{key: None if text is None else cut(text, limit) for key, text in texts.items()},
    }


def words_of(exc: SystemExit) -> str | None:
    """What exit was given; None where that means that all is well."""
    try:
        return None if exc.code is None or exc.code == 0 else str(f"SystemExit: {exc.code}")
    except BaseException as odd:  # of an object whose own methods fail
        return f"SystemExit: an object that cannot be shown: {type(odd).__name__}"


def evaluate(code: str, name: str, main: types.ModuleType) -> str | None:
    """Run the code; the repr of its last expression, where it ends in one that is not None."""
    parsed = compile(code, name, "exec", _ast.PyCF_ONLY_AST, dont_inherit=True)
    tree = _ast.Module(parsed.body, parsed.type_ignores)  # type: ignore[attr-defined]
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], _ast.Expr) else None
    exec(compile(tree, name, "exec", dont_inherit=True), main.__dict__)
    if not isinstance(last, _ast.Expr):
        return None
    value = eval(
        compile(_ast.Expression(last.value), name, "eval", dont_inherit=True), main.__dict__
    )
    if value is None:
        return None
    main.__dict__["_"] = value
    return "".join((repr(value),))  # a plain text, whatever class of text it was


def explain(exc: BaseException, sources: dict[str, str]) -> str:
    """The traceback of the code's own frames, with their lines.

    Imports what it needs only here: most sessions never fail, and all must start quickly.
    """
    with suppress(BaseException):  # the exception's own methods may raise anything, too
        import linecache
        import traceback

        for name, code in sources.items():
            linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        frame = exc.__traceback__
        while frame is not None and not is_of_a_call(frame):
            frame = frame.tb_next
        return "".join(traceback.format_exception(type(exc), exc, frame)).rstrip()
    return type(exc).__name__


def is_of_a_call(step: types.TracebackType) -> bool:
    """Whether a step of a traceback lies in code that was sent here."""
    return step.tb_frame.f_code.co_filename.startswith("<call ")


def cut(text: str, limit: int) -> str:
    """The text with its middle left out where it is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    half = limit // 2
    note = f"\n... {len(text) - 2 * half} characters left out ...\n"
    return text[:half] + note + text[-half:]
