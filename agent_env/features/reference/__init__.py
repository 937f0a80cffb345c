"""Scripted policies behind the Model seam. They read only the messages they are sent.

They are no language models: they know the puzzles' kinds of sentences and nothing of history.
"""
