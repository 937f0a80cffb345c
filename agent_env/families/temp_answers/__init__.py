"""TempAnswerQA: questions whose answer is a time, asked and scored as numbers."""
