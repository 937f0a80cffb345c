"""The audit of puzzle files of any origin: golds, conventions, texts. Its base: Time Puzzles."""
