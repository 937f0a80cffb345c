"""Allen's relations of a row from s to e and an interval from b to c, written apart from the code:
each by the bounds alone, whether they are numbers or dates as texts."""

HOLDS = {
    "before": lambda s, e, b, c: e < b,
    "meets": lambda s, e, b, c: e == b,
    "overlaps": lambda s, e, b, c: s < b < e < c,
    "finished-by": lambda s, e, b, c: s < b and e == c,
    "contains": lambda s, e, b, c: s < b and c < e,
    "starts": lambda s, e, b, c: s == b and e < c,
    "equals": lambda s, e, b, c: (s, e) == (b, c),
    "started-by": lambda s, e, b, c: s == b and c < e,
    "during": lambda s, e, b, c: b < s and e < c,
    "finishes": lambda s, e, b, c: b < s and e == c,
    "overlapped-by": lambda s, e, b, c: b < s < c < e,
    "met-by": lambda s, e, b, c: s == c,
    "after": lambda s, e, b, c: c < s,
}
