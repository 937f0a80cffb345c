"""The version of the package: of releases, and of every client that names itself to a server."""

__version__ = "0.1.0"
