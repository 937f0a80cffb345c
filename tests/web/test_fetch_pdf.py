"""PDF pages, through the extra: real files, written here byte by byte."""

import resource
import zlib

import pytest

from tests.web.test_fetch import fetched, refused, reply


def pdf(*pages, packed=False):
    """A PDF with a line of text on each page, as PDF 1.4 has it."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [*head(kids, len(pages)), b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    for number, text in enumerate(pages):
        drawn = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode("latin-1")
        objects += [sheet(5 + 2 * number), stream(drawn, packed)]
    dates = b"/CreationDate (D:20190704120000Z) /ModDate (D:20200101)"
    return whole([*objects, b"<< /Title (On the comet) " + dates + b" >>"])


def head(kids, count):
    yield b"<< /Type /Catalog /Pages 2 0 R >>"
    yield f"<< /Type /Pages /Kids [{kids}] /Count {count} >>".encode()


def sheet(contents):
    text = f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {contents} 0 R "
    return f"{text}/Resources << /Font << /F1 3 0 R >> >> >>".encode()


def stream(data, packed=False):
    data, how = (zlib.compress(data, 9), b" /Filter /FlateDecode") if packed else (data, b"")
    return b"<< /Length %d%s >>\nstream\n%s\nendstream" % (len(data), how, data)


def whole(objects):
    """The file around the objects: header, cross-reference table, trailer."""
    data, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n" % number + body + b"\nendobj\n"
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    data, start = data + b"xref\n0 %d\n0000000000 65535 f \n" % size + table, len(data)
    trailer = b"trailer\n<< /Size %d /Root 1 0 R /Info %d 0 R >>\n" % (size, size - 1)
    return data + trailer + b"startxref\n%d\n%%%%EOF\n" % start


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("kind", ["application/pdf", "", "application/octet-stream"])
def test_the_text_of_a_pdf_is_read_page_by_page(kind, packed):
    page = fetched({"/": reply(pdf("Seen on 2 April 1982.", "Lost again.", packed=packed), kind)})
    assert page.text == "Seen on 2 April 1982.\n\nLost again."
    assert (page.title, page.published, page.modified) == (
        "On the comet",
        "2019-07-04",
        "2020-01-01",
    )
    assert page.extractor.startswith("pypdf/")


def test_a_pdf_that_is_cut_or_swapped_for_noise_is_a_short_error_or_what_is_left():
    good = pdf("Seen on 2 April 1982.")
    for bad in (good[:40], b"%PDF-1.4\n" + b"\x00\xff" * 500, b"%PDF-"):
        assert refused({"/": reply(bad, "application/pdf")}).startswith("the PDF is broken")


def test_a_pdf_whose_text_fills_the_memory_is_a_short_error_and_the_next_is_read():
    """A font that makes 256 letters of each, in a few kilobytes."""
    drawn = b"BT /F1 12 Tf 72 720 Td (" + b"a" * 1_200_000 + b") Tj ET"
    letters = b"1 beginbfchar\n<61> <" + b"4E00" * 256 + b">\nendbfchar\n"
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 6 0 R >>"
    bomb = whole([*head("4 0 R", 1), font, sheet(5), stream(drawn, packed=True), stream(letters)])
    assert len(bomb) < 10_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    error = refused({"/": reply(bomb, "application/pdf")})
    assert error == "the PDF cannot be read: that took more than 512 MB of memory"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # kB
    assert fetched({"/": reply(pdf("Seen."), "application/pdf")}).text == "Seen."
