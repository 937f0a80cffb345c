"""Search, pages and where they are kept."""
