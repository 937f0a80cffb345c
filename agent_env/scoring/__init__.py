"""What a score is made of, and what an answer rests on; pure functions."""
