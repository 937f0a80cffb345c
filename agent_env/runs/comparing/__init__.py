"""Runs compared, and the table of episodes of one."""
