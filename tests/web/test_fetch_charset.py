"""Bytes to text: what is announced, what is not, and what is announced wrongly."""

import os
import time

import pytest

from agent_env.web.extract import decode
from tests.tables import tables
from tests.web.test_fetch import fetched, reply

CASES = tables(__file__)
TEXTS = CASES["texts"]
FRENCH, RUSSIAN = TEXTS["french"], TEXTS["russian"]


@pytest.mark.parametrize(("name", "codec", "header"), CASES["told"])
def test_the_mark_goes_before_the_header_and_the_header_before_a_guess(name, codec, header):
    assert decode(TEXTS[name].encode(codec), header) == TEXTS[name]


META = '<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">'
XML = '<?xml version="1.0" encoding="koi8-r"?>'


@pytest.mark.parametrize(
    "declared", ['<meta charset="koi8-r">', "<META CHARSET=koi8-r>", META, XML]
)
def test_a_page_declares_its_own(declared):
    page = f"<!doctype html>{declared}<p>{RUSSIAN}"
    assert decode(page.encode("koi8-r"), "text/html") == page


LIES = "utf-8 ascii latin1 gbk hex punycode unicode_escape x zip idna".split()


@pytest.mark.parametrize("lie", LIES)
def test_an_announcement_that_cannot_be_is_passed_over(lie):
    page = f'<meta charset="{lie}"><p>{FRENCH}'
    assert decode(page.encode(), f"text/html; charset={lie}") == page
    assert decode(page.encode(), "") == page


LEGACY = {"french": "cp1252", "russian": "cp1251", "japanese": "cp932", "chinese": "gb18030"}


@pytest.mark.parametrize(("name", "codec"), LEGACY.items())
def test_a_page_that_lies_about_utf_8_is_still_read(name, codec):
    page = f"<html><body><p>{TEXTS[name] * 8}</p></body></html>"
    assert decode(page.encode(codec), "text/html; charset=utf-8") == page


def test_any_bytes_give_a_text_soon_and_a_stray_one_spoils_one_letter():
    body = (FRENCH * 50).encode() + b"\xff" + FRENCH.encode()
    assert decode(body, "") == FRENCH * 50 + "\ufffd" + FRENCH
    since = time.process_time()
    for size in (0, 1, 2, 3, 1000, 300_000):
        assert isinstance(decode(os.urandom(size), "text/html; charset=utf-8"), str)
        assert isinstance(decode(b"\x80" * size, ""), str)
    assert time.process_time() - since < 4


def test_a_fetched_page_is_read_in_its_encoding():
    body = f"<html><title>{RUSSIAN}</title><body><p>{RUSSIAN}</p></body></html>".encode("cp1251")
    page = fetched({"/": reply(body, "text/html; charset=windows-1251")})
    assert (page.title, page.text, page.body) == (RUSSIAN.strip(), RUSSIAN.strip(), body)
    plain = fetched({"/": reply(RUSSIAN.encode("cp1251"), "text/plain; charset=windows-1251")})
    assert plain.text == RUSSIAN
