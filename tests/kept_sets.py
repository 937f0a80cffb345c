"""A set of questions is made once in a test process: family, number, seed and options give the same
bytes, as `tests/families` asserts by calling the families themselves. The pages on which two worlds
differ, a pure function of their tables, are rendered once, too."""

import re
from functools import lru_cache

from agent_env.families.time_puzzles import shift as of_puzzles
from agent_env.families.timed_facts import shift as of_timed_facts
from agent_env.features.facts.site.render import render_changed
from agent_env.tasks.family import Family

MOST = 100
_make_tier = Family.make_tier
_kept = lru_cache(MOST)(_make_tier)


def make_tier(family, count, seed, chosen, tier):
    """Anew for a family that is not ours, and where an option may name a file, which can change."""
    is_ours = family.make_samples.__module__.startswith("agent_env.families.")
    may_change = not is_ours or re.search(r"/|\.\D", chosen.model_dump_json())
    return (_make_tier if may_change else _kept)(family, count, seed, chosen, tier)


def keep_sets():
    """From now on."""
    Family.make_tier = make_tier
    of_puzzles.render_changed = of_timed_facts.render_changed = lru_cache(MOST)(render_changed)
