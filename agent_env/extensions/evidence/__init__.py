"""What answers stand on: what a budget of calls gives, and which step turned an episode."""
