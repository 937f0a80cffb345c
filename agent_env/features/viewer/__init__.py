"""Web pages over run folders, on loopback."""
