"""Lines of a server: of any size and cut anywhere, but never more kept than the limit."""

from hypothesis import given
from hypothesis import strategies as st

from agent_env.features.mcp.transport import Lines


@given(
    st.lists(st.binary(max_size=30).map(lambda b: b.replace(b"\n", b".")), max_size=8), st.data()
)
def test_lines_come_whole_wherever_the_stream_is_cut(lines, data):
    stream = b"".join(line + b"\n" for line in lines)
    cutter, parts = Lines(), []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        parts += cutter.feed(stream[:size])
        stream = stream[size:]
    assert parts == [(line, True) for line in lines]


def test_of_a_line_too_large_both_ends_are_kept():
    cutter = Lines(most=10_000)
    chunks = [b'{"id": 7, ', *[b"x" * 5_000] * 20, b' "end": 8}\nnext\n']
    (line, is_whole), after = [each for chunk in chunks for each in cutter.feed(chunk)]
    assert (is_whole, after) == (False, (b"next", True))
    assert line.startswith(b'{"id": 7, ')
    assert line.endswith(b' "end": 8}')
    assert len(line) < 10_000
