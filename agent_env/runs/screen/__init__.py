"""What a person sees on a terminal while something runs."""
