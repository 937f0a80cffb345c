"""One file for each built-in tool, named like the tool; its `TOOL` declares it."""
