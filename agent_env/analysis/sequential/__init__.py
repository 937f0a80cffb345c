"""Tests that may be looked at after every sample, and stop when they know."""
