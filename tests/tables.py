"""Cases of parametrised tests, by what is expected of them."""


def each(table):
    """Each thing given, with what is expected; the table groups the former by the latter."""
    return [(given, expected) for expected, many in table.items() for given in many]
