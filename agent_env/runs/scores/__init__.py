"""Episodes scored: while a run continues, at its end, by a model that judges."""
