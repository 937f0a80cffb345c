"""The Time Puzzles paper, beside the family of its questions."""
