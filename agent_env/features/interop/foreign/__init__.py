"""Results of other tools, read into the records that comparisons are made of."""
