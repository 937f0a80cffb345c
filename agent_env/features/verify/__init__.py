"""Runs that somebody else can check: their claims judged again, and packs of what that takes."""
