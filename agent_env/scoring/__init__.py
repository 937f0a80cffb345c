"""Pure metrics: how far an answer is from its gold."""
