"""Where Python written by a model runs: one file per backend, one worker program."""
