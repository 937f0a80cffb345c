"""One file for each model API, named like the prefix of its models; its `API` declares it."""
