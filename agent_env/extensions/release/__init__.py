"""Benchmark sets to be cited: a public half, and commitments to a private one."""
