"""`agent-env study reproduce PAPER`: a paper's experiments as data, run here, beside its figures.

`paper` holds the records that a family declares, `engine` runs what they need and measures,
`responses` reads answers that somebody else's models gave, `pages` writes the results.
"""
