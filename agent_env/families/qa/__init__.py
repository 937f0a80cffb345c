"""A user's own questions, from any file of questions and answers."""
