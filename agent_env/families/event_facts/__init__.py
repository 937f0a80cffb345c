"""Asks models about the rows of an event table: which do they know, and which are right?"""
