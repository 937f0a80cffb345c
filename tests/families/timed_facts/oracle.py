"""Answers by going through every month, sharing nothing with the solver but the facts' bounds."""

from agent_env.temporal.months import Span

FIRST, LAST = 1780 * 12, 2060 * 12


def months_of(fact, half_open=False):
    """Every month in which the fact holds."""
    start = FIRST
    if fact.start is not None:
        year, _, month = fact.start.partition("-")
        start = int(year) * 12 + int(month or 1) - 1
    stop = LAST
    if fact.end is not None:
        year, _, month = fact.end.partition("-")
        stop = int(year) * 12 + int(month or 12) - 1
    return set(range(start, stop + (not half_open)))


def brute_force(facts, query, half_open=False):
    """The answers, found month by month."""
    reference = query.reference
    if query.relation in ("before", "after"):
        return _walk(facts, query)
    asked = set(range(reference.first, reference.last + 1))
    held = {n: months_of(fact, half_open) for n, fact in enumerate(facts)}
    if query.relation == "throughout":
        return {facts[n].value for n, months in held.items() if asked <= months}
    return {facts[n].value for n, months in held.items() if asked & months}


def _walk(facts, query):
    """Walk away from the reference until something begins."""
    begins = {}
    for fact in facts:
        begins.setdefault(min(months_of(fact)), set()).add(fact.value)
    before, reference = query.relation == "before", query.reference
    if isinstance(reference, Span):
        at = reference.first if before else reference.last
    else:
        own = [month for month, values in begins.items() if reference in values]
        if not own:
            return set()
        at = min(own) if before else max(own)
    path = range(at - 1, FIRST - 2, -1) if before else range(at + 1, LAST)
    return next((begins[month] for month in path if month in begins), set())
