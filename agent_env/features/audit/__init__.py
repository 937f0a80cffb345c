"""The audit of puzzle files of any origin: golds, conventions, texts. Its base: Time Puzzles."""

READS_RECORDED = True
"""No episode is another one for what changes here."""
