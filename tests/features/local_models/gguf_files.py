"""GGUF files without weights, written by hand."""

import struct


def gguf(entries, version=3):
    """The header of a GGUF file with these entries: texts, whole numbers and lists of texts."""
    data = b"GGUF" + struct.pack("<IQQ", version, 0, len(entries))
    for name, value in entries.items():
        data += _text(name)
        if isinstance(value, str):
            data += struct.pack("<I", 8) + _text(value)
        elif isinstance(value, int):
            data += struct.pack("<II", 4, value)
        else:
            data += struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(_text, value))
    return data


def small_model(folder, name="tiny.gguf", **others):
    """A file that claims to be an instruct model."""
    named = {"architecture": "llama", "name": "Tiny", "file_type": 3, "license": "apache-2.0"}
    entries = {f"general.{field}": value for field, value in named.items()}
    entries |= {"tokenizer.ggml.tokens": ["a", "b"], "llama.context_length": 2048}
    entries |= {"tokenizer.chat_template": "{{ messages }}"}
    file = folder / name
    file.write_bytes(gguf(entries | others))
    return file


def _text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data
