"""Runs that somebody else can check: claims about a run judged again, and the pack that holds what
that takes.
"""
