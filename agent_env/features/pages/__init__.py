"""Stores of pages as files: looked at, checked, merged, written as WARC, and made of a corpus."""
