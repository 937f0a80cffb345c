"""Question families: each makes or loads samples, words the prompt and names its scorer."""
