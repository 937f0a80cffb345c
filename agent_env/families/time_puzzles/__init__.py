"""Time Puzzles (Wang and Dong): find all dates that satisfy a list of constraints."""
