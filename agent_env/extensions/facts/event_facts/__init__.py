"""Asks models about the rows of an event table: which they know, and which are right."""
