"""Tables of what happened when; each row names its source."""
