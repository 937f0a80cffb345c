"""What answers rest on: webs without or with other facts, faults of tools, attacks of pages; what
a budget of calls gives, and which step turned an episode."""
