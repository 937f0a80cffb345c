"""TimeQA: easy and hard questions on facts in running text, some without an answer."""
