"""Starts a model's server, keeps it up for a run, and stops it."""
