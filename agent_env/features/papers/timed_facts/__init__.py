"""The paper on extraction and code, for `study reproduce`."""
