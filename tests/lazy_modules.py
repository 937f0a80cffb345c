"""Modules that are imported when a test uses them: each process of the suite collects every test,
and runs few of them."""

from importlib import import_module


class LazyModule:
    """The module of this name."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, attribute):
        if attribute.startswith("_"):  # such as __test__: pytest asks for it while it collects
            raise AttributeError(attribute)
        return getattr(import_module(self._name), attribute)
