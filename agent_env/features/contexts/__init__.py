"""Pages that a run's episodes named, as contexts for other runs: `web context`."""
