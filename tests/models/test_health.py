"""Whether a server is up: by its list of models, and llama.cpp by its own word."""

from __future__ import annotations

import asyncio

import pytest

from agent_env.models.health import Health
from agent_env.wiring.trust import own_call

from .raw_server import RawServer, reply

LLAMA = reply('{"data": [{"id": "m", "owned_by": "llamacpp"}]}')


@pytest.mark.parametrize(
    ("answers", "is_up"),
    [
        ([reply('{"data": []}')], True),
        ([reply("no", "401 Unauthorized")], True),
        ([reply("no", "404 Not Found")], True),
        ([reply("no", "502 Bad Gateway")], False),
        ([LLAMA, reply('{"error": "Loading model"}', "503 Service Unavailable")], False),
        ([LLAMA, reply('{"status": "ok"}')], True),
    ],
)
def test_a_server_is_up_where_it_answers_for_itself(answers, is_up):
    async def go() -> bool:
        async with RawServer(*answers) as server:
            return await Health(server.url, permit=own_call()).is_up()

    assert asyncio.run(go()) is is_up


def test_nobody_at_the_address_is_away():
    async def go() -> bool:
        async with RawServer() as server:
            url = server.url
        return await Health(url, permit=own_call()).is_up()

    assert asyncio.run(go()) is False
