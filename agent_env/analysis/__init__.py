"""Conditions side by side."""
