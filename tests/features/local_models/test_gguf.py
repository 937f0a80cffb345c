"""What is read from the header of a model file, and what is said of files that have none."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_env.errors import DatasetError
from agent_env.features.local_models.gguf import GgufHeader, read_header
from tests.features.local_models.gguf_files import gguf, small_model


def test_a_header_tells_what_it_says_and_the_rest_is_unknown(tmp_path):
    header = GgufHeader("llama", "Tiny", "Q4_1", "apache-2.0", 2048, True)
    assert read_header(small_model(tmp_path)) == header
    file = tmp_path / "bare.gguf"
    file.write_bytes(gguf({"general.architecture": "gemma3", "general.file_type": 99}))
    assert read_header(file) == GgufHeader("gemma3", None, "type 99", None, None, False)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"hello\n", "is not a GGUF file; name the weights in GGUF form"),
        (b"", "is not a GGUF file; name the weights in GGUF form"),
        (gguf({"general.name": "x"}), "is damaged: its header names no architecture"),
        (gguf({}, version=9), "is damaged or cut off: its header cannot be read; fetch the file"),
        (b"GGUF\x03\0\0\0" + b"\xff" * 40, "is damaged or cut off: its header cannot be read"),
        (None, "cannot be read: No such file"),
    ],
)
def test_another_file_is_refused_in_one_line(tmp_path, data, reason):
    file = tmp_path / "x.gguf"
    if data is not None:
        file.write_bytes(data)
    with pytest.raises(DatasetError, match="x.gguf: " + reason):
        read_header(file)


WHOLE = gguf({"general.architecture": "llama", "tokenizer.ggml.tokens": ["a", "b"]})


@settings(max_examples=40)
@given(at=st.integers(4, len(WHOLE) - 1), byte=st.integers(0, 255))
def test_a_file_cut_or_changed_anywhere_is_read_or_refused(tmp_path_factory, at, byte):
    file = tmp_path_factory.getbasetemp() / "cut.gguf"
    file.write_bytes(WHOLE[:at])
    with pytest.raises(DatasetError):
        read_header(file)
    file.write_bytes(WHOLE[:at] + bytes([byte]) + WHOLE[at + 1 :])
    with suppress(DatasetError):
        assert read_header(file).architecture != ""
