"""An evaluation environment for temporal reasoning with tools."""

__version__ = "0.1.0"
