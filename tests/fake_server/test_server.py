"""The fake server's faults, and what it refuses whoever it plays."""

import asyncio
from collections import Counter

import pytest

from tests.fake_server import ScriptedAnswer
from tests.fake_server.talk import always, at_server

SAYING_X = always(ScriptedAnswer("x"))


def test_faults_come_at_their_rates_and_not_by_the_order_of_arrival():
    def outcomes(numbers):
        few = asyncio.Semaphore(10)  # httpx looks through all connections for every request

        async def ask(post):
            async def code(number):
                body = {"messages": [{"role": "user", "content": str(number)}]}
                async with few:
                    return (await post("/v1/chat/completions", body)).status_code

            codes = await asyncio.gather(*map(code, numbers))
            return dict(zip(numbers, codes, strict=True))

        return at_server(ask, SAYING_X, errors={"429": 0.2, "500": 0.1}, seed=3)

    forwards, backwards = outcomes(range(200)), outcomes(range(199, -1, -1))
    assert forwards == backwards
    assert Counter(forwards.values()) == {200: 139, 429: 35, 500: 26}


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("chat/completions", b"{", 400),
        ("chat/completions", b"[]", 400),
        ("chat/completions", b'{"messages": []}', 400),
        ("chat/completions", b'{"messages": [{"role": "king"}]}', 400),
        ("chat/completions", b'{"messages": [1]}', 400),
        ("responses", b'{"input": [{"type": "rune"}]}', 400),
        ("responses", b'{"input": "x", "tools": [{"type": "web_search"}]}', 200),
        ("responses", b'{"input": "x", "tools": [{"type": "file_search"}]}', 400),
        ("responses", b'{"input": "x", "tools": [{"type": "code_interpreter"}]}', 400),
        ("responses", b'{"input": "x", "tool_choice": "required"}', 400),
        ("responses", b'{"input": [{"type": "reasoning", "id": "rs_1"}]}', 404),
        ("responses", b'{"input": "x", "instructions": "y"}', 200),
        ("embeddings", b"{}", 404),
    ],
)
def test_requests_are_checked(path, body, status):
    got = at_server(lambda post: post(f"/v1/{path}", body), SAYING_X)
    assert got.status_code == status
    assert status == 200 or got.json()["error"]["message"]
