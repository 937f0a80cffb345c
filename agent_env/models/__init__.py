"""Models behind the Model seam: servers, scripted policies, tokenizers."""
