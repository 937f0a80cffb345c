"""A model judges the answers of a run: `episodes judge`. Its verdicts stand in the traces, beside
the scores, which they do not change.
"""

from agent_env.sdk.family import Feature

FEATURE = Feature("judge", tables=("agent_env.features.judge.tables:judges",))

READS_RECORDED = True
"""No episode is another one for what changes here."""
