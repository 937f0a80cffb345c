"""Running episodes, writing their traces, and reading them again."""
