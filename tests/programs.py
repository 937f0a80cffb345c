"""Programs that some tests need and not every machine has. A test whose program is not here skips
with the program's name; `pytest --skipped-last` asks just those again, once it is here."""

import shutil
from collections import Counter

import pytest

COMMANDS = {
    "bubblewrap": ("bwrap",),
    "Chromium": ("chromium", "chromium-browser", "chrome"),
    "a Docker engine": ("dockerd",),
    "openssl": ("openssl",),
    "binutils": ("as", "objcopy"),
    "unshare": ("unshare",),
}
"""By what the reason says: the commands of which one is enough; of binutils the first."""
NEEDS = "needs "
REMEMBERED = "agent-env/skipped-for-programs"


def path_of(program):
    """Where the program is, or None."""
    return next(filter(None, map(shutil.which, COMMANDS[program])), None)


def need(program):
    """Skips the test that calls it where the program is not here."""
    if path_of(program) is None:
        pytest.skip(NEEDS + program)


def needs(program):
    """The same as a mark."""
    return pytest.mark.skipif(path_of(program) is None, reason=NEEDS + program)


class Skips:
    """Counts what skipped by its reason, and remembers what skipped for a program."""

    def __init__(self, config):
        self._config = config
        self._reasons = {}

    def _for_programs(self):
        programs = {NEEDS + name for name in COMMANDS}
        return [test for test, reason in self._reasons.items() if reason in programs]

    def pytest_collection_modifyitems(self, config, items):
        if config.option.skipped_last:
            wanted = set(config.cache.get(REMEMBERED, []))
            config.hook.pytest_deselected(items=[i for i in items if i.nodeid not in wanted])
            items[:] = [item for item in items if item.nodeid in wanted]

    def pytest_runtest_logreport(self, report):
        if report.skipped and isinstance(report.longrepr, tuple):
            self._reasons[report.nodeid] = report.longrepr[2].removeprefix("Skipped: ")

    def pytest_collectreport(self, report):
        self.pytest_runtest_logreport(report)

    def pytest_sessionfinish(self, session):
        if hasattr(self._config, "workerinput") or not hasattr(self._config, "cache"):
            return
        if not self._config.option.skipped_last:
            self._config.cache.set(REMEMBERED, self._for_programs())
        elif self._for_programs() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter):
        for reason, count in Counter(self._reasons.values()).most_common():
            terminalreporter.write_line(f"{count} skipped: {reason}")
