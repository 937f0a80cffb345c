"""TDBench: the published set and its import, the paper's tables, the authors' scorer."""
