"""Finished runs in the formats of other tools; one module per format, all made from the traces."""

READS_RECORDED = True
"""No episode is another one for what changes here."""
