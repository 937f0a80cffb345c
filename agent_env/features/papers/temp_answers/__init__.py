"""TempAnswerQA: the published responses scored as published and by ours, the paper's tables."""
