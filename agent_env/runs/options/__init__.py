"""What a user can ask of a run, each option declared once, and the same as keywords."""
