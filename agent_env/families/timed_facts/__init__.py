"""Questions on facts that held for a time, for any family with such a context."""
