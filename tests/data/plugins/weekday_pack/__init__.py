"""A package of plug-ins as somebody else would write it."""
