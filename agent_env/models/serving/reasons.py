"""Why a model's server ended, in one line, from its exit code and its log."""

from __future__ import annotations

import re
import signal

from agent_env.records.escaping import visible

_MEMORY = "take a smaller model or quantisation, a shorter context, or free some memory"
_ADVICE = (
    (r"unknown model architecture|architecture.*not supported",
     "this server does not know it; install a newer one, or serve the model by another"),
    (r"corrupted or incomplete|invalid magic|failed to read (?:key-value|tensor)|file bounds",
     "the model's file is damaged or cut off; fetch it again"),
    (r"bad_alloc|out of memory|OutOfMemory|unable to allocate|failed to allocate|Cannot allocate"
     r"|insufficient memory|No available memory", _MEMORY),
    (r"[Aa]ddress already in use|couldn't bind", "its port is taken; write {port} in its command"),
    (r"(?:command )?not found|No such file or directory", "check the command of --serve"),
    (r"unrecognized arguments?|invalid argument|unknown argument", "check its options"),
)  # fmt: skip
"""What to do, by a pattern of the line that tells the reason."""
_TROUBLE = re.compile(r"\berror\b|exception|failed|fatal| E ", re.IGNORECASE)
_STAMP = re.compile(r"^[\d.:\-T\s]++(?<=\s)(?=[A-Z] )")


def reason_of_end(code: int, log: str) -> str:
    """What ended it and what to do."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    for pattern, advice in _ADVICE:
        if line := next((line for line in lines if re.search(pattern, line)), None):
            return f"{_short(line)}; {advice}"
    number = -code if code < 0 else code - 128
    if number == signal.SIGKILL:
        return f"killed by signal 9, usually for want of memory: {_MEMORY}"
    trouble = [line for line in lines if _TROUBLE.search(line)] or lines
    last = f", its last words: {_short(trouble[-1])}" if trouble else " without a word"
    names = {each.value: each.name for each in signal.Signals}
    if number in names:
        return f"ended by {names[number]}{last}"
    return f"exit code {code}{last}"


def _short(line: str) -> str:
    text = visible(_STAMP.sub("", line))
    return text if len(text) <= 200 else f"{text[:199]}…"
