"""Compiles the sentences of constraints, ours and foreign ones, into meanings and day sets."""
