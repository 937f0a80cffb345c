"""Finished runs in the formats of other tools; one module per format, all made from the traces."""
