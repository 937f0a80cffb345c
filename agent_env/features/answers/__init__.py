"""Answer parsers and metrics that several families share; pure functions."""
