"""Runs that somebody else can check: their claims judged again, and packs of what that takes."""

READS_RECORDED = True
"""No episode is another one for what changes here."""
