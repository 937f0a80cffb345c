"""Coroutines of tests."""

import asyncio
from functools import wraps


def in_loop(function):
    """The coroutine function as a plain one: each call has a loop of its own."""

    @wraps(function)
    def called(*arguments, **named):
        return asyncio.run(function(*arguments, **named))

    return called
