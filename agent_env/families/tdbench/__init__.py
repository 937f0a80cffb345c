"""Questions from temporal tables: the gold of each is a query, its wording is made by rules."""
