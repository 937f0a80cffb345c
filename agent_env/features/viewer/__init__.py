"""Web pages over run folders, on loopback."""

READS_RECORDED = True
"""No episode is another one for what changes here."""
