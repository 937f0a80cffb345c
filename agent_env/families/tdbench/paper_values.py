"""The figures that the TDBench paper prints, by table and row."""

from __future__ import annotations

from collections.abc import Mapping

Values = Mapping[str, tuple[float | None, ...]]
ROWS = (
    "GPT-3.5", "GPT-4", "GPT-4o", "Llama3.1-70B", "Mixtral-8x7B", "Gemma2-27B", "Qwen2-72B",
    "Granite3.1-8B",
)  # fmt: skip
MODELS = {
    "gpt-3.5-turbo": "GPT-3.5", "gpt-4": "GPT-4", "gpt-4o": "GPT-4o",
    "Llama-3.1-70B-Instruct": "Llama3.1-70B", "Meta-Llama-3.1-70B-Instruct": "Llama3.1-70B",
    "Mixtral-8x7B-Instruct-v0.1": "Mixtral-8x7B", "gemma-2-27b-it": "Gemma2-27B",
    "Qwen2-72B-Instruct": "Qwen2-72B", "granite-3.1-8b-instruct": "Granite3.1-8B",
}  # fmt: skip
"""Names under which the paper's models are served."""

DOMAINS = ("Wikipedia", "Law", "Carbon tax", "Heritage", "Netflix")
DOMAIN_WORDS = {
    "Law": ("law", "legal"), "Carbon tax": ("carbon", "environ", "tax"),
    "Heritage": ("heritage", "culture", "cultural", "unesco"),
    "Netflix": ("netflix", "movie", "social", "show"),
}  # fmt: skip
"""Parts of a table's name by the paper's domain; all other tables are of Wikipedia."""


def paper_domain(domain: str) -> str:
    """The paper's name for a table's domain."""
    name = domain.casefold()
    fitting = (own for own, words in DOMAIN_WORDS.items() if any(word in name for word in words))
    return next(fitting, "Wikipedia")


TABLE_4: Values = {
    "GPT-3.5": (47.5, 22.4, 25.1, 84.3, 39.9, 44.3, 19.9, 8.4, 11.4, 62.7, 26.5, 36.2, 29.3, 19.1,
                10.1),
    "GPT-4": (44.5, 29.6, 14.9, 82.4, 52.3, 30.0, 32.0, 23.9, 8.1, 74.5, 44.5, 30.0, 32.4, 26.4,
              6.1),
    "GPT-4o": (73.9, 48.8, 25.1, 84.3, 54.0, 30.3, 72.1, 43.1, 29.0, 72.5, 53.3, 19.2, 32.9, 25.9,
               7.0),
    "Llama3.1-70B": (64.6, 56.7, 7.9, 84.6, 44.9, 39.7, 57.6, 39.7, 17.8, 75.5, 39.7, 35.8, 35.6,
                     28.6, 7.0),
    "Mixtral-8x7B": (42.9, 30.9, 12.0, 74.1, 42.2, 32.0, 28.3, 16.5, 11.8, 35.6, 18.1, 17.5, 20.7,
                     17.1, 3.6),
    "Gemma2-27B": (69.3, 32.8, 36.5, 84.3, 29.8, 54.6, 73.1, 25.2, 47.8, 69.2, 22.0, 47.2, 36.0,
                   27.7, 8.3),
    "Qwen2-72B": (62.7, 34.1, 28.6, 84.0, 34.2, 49.9, 57.2, 27.6, 29.6, 53.5, 20.2, 33.3, 22.5,
                  19.4, 3.1),
    "Granite3.1-8B": (49.6, 26.1, 23.5, 90.1, 28.6, 61.4, 45.1, 0.0, 45.1, 42.0, 4.5, 37.5, 19.6,
                      14.9, 4.7),
    "Average": (56.9, 35.2, 21.7, 83.5, 40.7, 42.8, 48.2, 23.1, 25.1, 60.7, 28.6, 32.1, 28.6, 22.4,
                6.2),
}  # fmt: skip
"""A, AT and their difference by domain."""
TABLE_5: Values = {
    "GPT-3.5": (34.4, 41.9, 20.1, 43.3, 67.8, 36.8, 17.9),
    "GPT-4": (60.3, 77.8, 49.8, 61.7, 82.9, 49.9, 45.0),
    "GPT-4o": (58.1, 67.3, 42.2, 67.8, 68.7, 43.7, 62.4),
    "Llama3.1-70B": (48.6, 45.7, 29.4, 69.1, 51.8, 33.2, 44.2),
    "Mixtral-8x7B": (36.2, 57.6, 24.1, 49.9, 78.1, 36.6, 7.8),
    "Gemma2-27B": (49.7, 56.1, 29.1, 61.9, 63.6, 41.7, 20.0),
    "Qwen2-72B": (48.3, 62.5, 37.7, 63.4, 86.4, 57.0, 49.1),
    "Granite3.1-8B": (22.5, 41.9, 14.8, 46.9, 51.2, 25.8, 25.1),
}
"""Multiple: A, T, AT; unique: A, T, AT; none: A."""
TABLE_7: Values = {
    "GPT-3.5": (63.1, 71.2, 39.4, 15.2),
    "GPT-4": (67.2, 35.4, 92.4, 93.9),
    "GPT-4o": (79.3, 89.9, 92.9, 95.5),
    "Llama3.1-70B": (83.8, 73.2, 92.9, 91.9),
    "Mixtral-8x7B": (72.7, 60.1, 67.2, 71.2),
    "Gemma2-27B": (77.8, 40.9, 83.8, 78.8),
    "Qwen2-72B": (65.2, 78.8, 77.8, 85.4),
    "Granite3.1-8B": (50.5, 54.5, 70.2, 72.2),
}
"""Original, RAG, CoT, Time-CoT; the first column is AT of the two hops of Table 27."""
TABLE_8: Values = {
    "alignment": (0.98, 0.96, 0.97),
    "reasoning": (0.87, 0.91, 0.88),
    "multi-hop": (0.95, 0.87, 0.91),
}
TABLE_19: Values = {
    "correct": (0.67, 0.92, 0.77, 0.98, 0.95, 0.96),
    "outdated": (0.69, 0.78, 0.73, 0.95, 0.88, 0.91),
    "incorrect": (0.32, 0.60, 0.39, 0.58, 0.84, 0.64),
}
"""P, R, F1 without T, then with T."""
TABLE_22: Values = {
    "GPT-3.5": (12.4, 14.2, 9.0, 0.4, 38.7, 26.6, 26.6, 12.7, 56.8, 54.2, 83.9, 97.1),
    "GPT-4": (20.2, 25.1, 21.0, 30.0, 61.3, 54.3, 65.9, 57.3, 19.0, 39.6, 51.6, 74.7),
    "GPT-4o": (34.5, 30.7, 24.3, 32.6, 65.1, 59.2, 62.9, 62.9, 37.4, 43.2, 60.4, 50.2),
    "Llama3.1-70B": (20.6, 8.6, 16.5, 19.9, 59.4, 34.5, 68.9, 48.7, 22.0, 54.9, 25.3, 33.3),
    "Mixtral-8x7B": (10.9, 9.7, 8.6, 15.4, 40.6, 30.3, 50.9, 48.7, 28.9, 16.5, 30.8, 26.7),
    "Gemma2-27B": (24.3, 13.9, 19.9, 21.3, 59.4, 45.7, 62.2, 62.5, 6.2, 16.8, 10.6, 12.1),
    "Qwen2-72B": (19.1, 17.2, 13.5, 12.7, 57.5, 51.7, 59.2, 59.9, 20.1, 32.6, 38.8, 39.6),
    "Granite3.1-8B": (6.7, 4.9, 4.9, 7.1, 34.1, 15.7, 22.8, 20.6, 20.9, 43.6, 76.9, 60.1),
}
"""Multiple, unique, none, each by prompt as in Table 7."""
TABLE_23: Values = {
    "alignment": (0.98, 0.96, 0.97),
    "reasoning, multiple": (0.85, 0.88, 0.86),
    "reasoning, unique": (0.81, 0.87, 0.83),
    "reasoning, none": (0.89, 0.90, 0.90),
    "reasoning": (0.87, 0.91, 0.88),
    "multi-hop": (0.95, 0.87, 0.91),
}
TABLE_24: Values = {
    row: (None, None, None, None, None, None, value)
    for row, value in zip(
        ROWS, (100.0, 91.0, 100.0, 98.8, 27.1, 100.0, 100.0, 100.0), strict=True
    )
}  # fmt: skip
"""Where nothing fits; in our copy of the paper the other six headings are out of order: AT would
exceed T."""
TABLE_25: Values = {
    "Llama3.1-70B": (58.4, 54.2),
    "Mixtral-8x7B": (42.9, 30.9),
    "Gemma2-27B": (69.3, 32.8),
    "TG-LLM": (41.0, 34.0),
    "Llama2-13B": (37.0, 27.0),
    "TempT5": (4.2, None),
    "T5-base": (0.0, None),
}
TABLE_26: Values = {
    "LLM-only": (1.79, 206, 1.89, 316, 1.47, 376, 1.81, 542, 1.91, 1288),
    "TDBench": (1.62, 161, 2.57, 177, 1.93, 169, 3.32, 299, 1.73, 138),
}
"""Seconds and tokens of Leaders, Olympic, Environ, Medical, Netflix."""
TABLE_27: Values = {
    "GPT-3.5": (66.7, 63.1, 9.1, 33.8, 33.8, 8.5, 7.6),
    "GPT-4": (88.4, 67.2, 4.5, 57.1, 52.5, 10.8, 0.5),
    "GPT-4o": (86.9, 79.3, 0.0, 90.4, 87.9, 26.3, 0.0),
    "Llama3.1-70B": (91.9, 83.8, 68.8, 82.8, 80.8, 38.2, 4.5),
    "Mixtral-8x7B": (80.8, 72.7, 45.9, 60.1, 49.0, 19.5, 10.6),
    "Gemma2-27B": (79.8, 77.8, 35.1, 48.0, 43.9, 26.5, 24.7),
    "Qwen2-72B": (78.3, 65.2, 50.0, 68.2, 59.1, 35.1, 5.6),
    "Granite3.1-8B": (73.7, 50.5, 80.4, 11.1, 11.1, 10.3, 77.8),
}
"""Two hops: A, AT, H1; three: A, AT, H1, H2 (these four are Table 6)."""
