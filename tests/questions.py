"""A set of questions as its family makes it, and the task that asks them."""

from agent_env.wiring.registry import load_family


def questions(name, count=1, seed=1, difficulty=None, **options):
    """The set of the family with these options or of this level of difficulty, and its task."""
    family = load_family(name)
    chosen = family.checked_options(options)
    if difficulty is not None:
        chosen = family.read_options([], difficulty)
    made = family.make_samples(count, seed, chosen)
    return made, family.make_task("default", chosen, made.tables_by_digest)
