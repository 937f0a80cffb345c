"""Finds out whether a regular expression takes longer than in proportion to its text.

It is given attack texts made from its own parse tree: what a repeat may hold, many times over,
behind what may stand before it; and what it begins with, over and over. CPU time is taken at
growing sizes, at larger ones only where the smaller are suspect. Not seen: a slow text that needs
two repeats of different kinds.
"""

import importlib
import re
import time
from dataclasses import dataclass
from functools import cache

_parser = importlib.import_module("re._parser")

ALPHABET = " \n\t1a.,-b0z:;()[]{}<>\"'`*_|/\\#=+&@!?$%~^x\xa0é–·日\0"
NOISE = ("\n", " ", "1", "a", "[", "(", "{", "<", '"', "'", "`", ",", ".", "-", "|", "*", "#",
         "a ", "1 ", "1,", "a,", "- ", "\\", "_", "and ", "1-", "[(", '{"a":', "{[")  # fmt: skip
"""Repeated before every pattern, whatever it holds."""
SMALL = (12, 18, 24, 36, 48, 60, 80, 100, 120, 240)
EXPONENTIAL = 40
"""How many times longer than a text of half its size such a text takes at the most."""
SIZES = (240, 960, 3840, 15360)
FIRST = 960
"""The size after which an attack is given up that shows nothing."""
PACE_S = 5e-6
"""CPU seconds a character may take: a second for 200,000."""
LONGEST_S = 0.3
STEEP, STEEP_AT_FIRST = 2.0, 1.5
"""How many times longer a character may take in the larger text, mostly four times as long."""
NOTHING_S, CLEAR_S = 5e-5, 0.03
"""CPU seconds that say nothing of growth, and those that say enough."""
LEAST_S = 2e-9
"""A character takes at least so long, as far as growth is concerned."""
REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})
MANY = 32
"""A repeat that may be said so often is attacked."""


@dataclass(frozen=True, slots=True)
class Slow:
    """A pattern, the attack on it, and what it took."""

    where: str
    method: str
    text: str
    """How the text begins."""
    size: int
    seconds: float
    growth: float
    """Time per character over that of the text before, of a quarter of the size."""

    @property
    def is_steep(self):
        """Whether its time grew by more than the text, not merely from the start."""
        return self.growth > STEEP

    def __str__(self):
        return (
            f"{self.where} .{self.method}: {self.seconds:.2f} CPU-s at {self.size} characters of "
            f"{self.text!r}, x{self.growth:.1f} a character"
        )


def slow_attack(where, pattern, methods):
    """The first attack that the pattern is slow on; None where it holds."""
    attacks = tuple(dict.fromkeys(attacks_on(pattern)))
    nested = _is_nested(_parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG), False)
    for method in methods:
        run = _runner(pattern, method)
        for attack in attacks:
            if _tried(run, attack, nested) is None:
                continue
            if (slow := _tried(run, attack, nested)) is not None:  # again, for a busy machine
                text = attack.text(60)
                return Slow(where, method, text, *slow)
    return None


@dataclass(frozen=True, slots=True)
class Attack:
    """A text of any size: `head`, then `body` over and over, then `tail`."""

    head: str
    body: str
    tail: str

    def text(self, size):
        return self.head + self.body * max(1, size // len(self.body)) + self.tail


def _runner(pattern, method):
    def searched(text):
        for _ in pattern.finditer(text):
            pass

    call = searched if method == "finditer" else getattr(pattern, method)
    if isinstance(pattern.pattern, bytes):
        return lambda text: call(text.encode("latin-1", "replace"))
    return call


def _tried(run, attack, nested):
    """Size, seconds and growth where the attack works."""
    if nested and (found := _exponential(run, attack)) is not None:
        return found
    if _seconds(run, attack.text(FIRST)) < NOTHING_S:
        return None
    before = LEAST_S
    for size in SIZES:
        took = _seconds(run, attack.text(size))
        pace, growth = took / size, took / size / before
        is_steep = growth > STEEP and (size == SIZES[-1] or took > CLEAR_S)
        if took > LONGEST_S or is_steep or (size == SIZES[-1] and pace > PACE_S):
            return size, took, growth
        if size >= FIRST and pace < PACE_S / 2 and (growth < STEEP_AT_FIRST or took < NOTHING_S):
            return None
        before = max(pace, LEAST_S)
    return None


def _exponential(run, attack):
    """Likewise, of small texts: one that takes exponential time must be seen before it is long."""
    times = {}
    for size in SMALL:
        times[size] = _seconds(run, attack.text(size))
        before = max(NOTHING_S, *(took for half, took in times.items() if half * 2 <= size), 0.0)
        if times[size] > EXPONENTIAL * before:
            return size, times[size], times[size] / before
    return None


def _seconds(run, text):
    began = time.process_time()
    run(text)
    return time.process_time() - began


def attacks_on(pattern):
    """Attack texts from the pattern's parse tree."""
    tree = _parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    atoms = list(dict.fromkeys(_atoms(tree)))
    letters = _letters(atoms, bool(pattern.flags & re.I))
    ways = _Ways(letters, bool(pattern.flags & re.I))
    whole = ways.sample(tree)
    begun = {"".join(ways.sample([part]) for part in tree[:k]) for k in range(1, len(tree))}
    begun |= {head for head, _ in ways.repeats(tree, "")}
    for body in (*NOISE, whole, whole[:-1], *sorted(begun)):
        if body:
            yield Attack("", body, "\0")
        if len(body) > 1:
            yield Attack("", body + "\n", "")
            yield Attack("", body + " ", "")
    for head, body in ways.repeats(tree, ""):
        yield Attack(head, body, "\0")
        yield Attack(head, body, "\n!")
        if head:
            yield Attack("", head + body, "\0")


def _is_nested(tree, inside):
    """Whether a repeat without a small bound stands in another."""
    for op, value in tree:
        repeats = str(op) in REPEATS and value[1] >= MANY
        if (repeats and inside) or any(
            _is_nested(inner, inside or repeats) for inner in _inside(str(op), value)
        ):
            return True
    return False


def _atoms(tree):
    """The single characters and classes of a parse tree."""
    for op, value in tree:
        name = str(op)
        if name in ("LITERAL", "NOT_LITERAL", "IN", "ANY"):
            yield name, _hashable(value)
        for inner in _inside(name, value):
            yield from _atoms(inner)


def _hashable(value):
    return tuple(value) if isinstance(value, list) else value


def _inside(name, value):
    if name in REPEATS:
        return [value[2]]
    if name == "SUBPATTERN":
        return [value[3]]
    if name == "ATOMIC_GROUP":
        return [value]
    if name == "BRANCH":
        return list(value[1])
    if name in ("ASSERT", "ASSERT_NOT"):
        return [value[1]]
    if name == "GROUPREF_EXISTS":
        return [part for part in value[1:] if part is not None]
    return []


def _letters(atoms, ignore_case):
    """One character for each way in which the atoms tell characters apart."""
    own = {chr(value) for name, value in atoms if name in ("LITERAL", "NOT_LITERAL")}
    own |= {
        chr(code)
        for name, value in atoms
        if name == "IN"
        for kind, code in value
        if str(kind) == "LITERAL"
    }
    kept = {}
    for letter in (*ALPHABET, *sorted(own)):
        kept.setdefault(tuple(_fits(n, v, letter, ignore_case) for n, v in atoms), letter)
    return "".join(kept.values())


@cache
def _fits(name, value, letter, ignore_case):
    """Whether an atom matches a character."""
    forms = {letter, letter.lower(), letter.upper()} if ignore_case else {letter}
    if name == "ANY":
        return letter != "\n"
    if name == "LITERAL":
        return chr(value) in forms
    if name == "NOT_LITERAL":
        return chr(value) not in forms
    negated = bool(value) and str(value[0][0]) == "NEGATE"
    return negated != any(_in_class(str(k), v, form) for k, v in value for form in forms)


def _in_class(kind, value, letter):
    if kind == "LITERAL":
        return chr(value) == letter
    if kind == "RANGE":
        return len(letter) == 1 and value[0] <= ord(letter) <= value[1]
    if kind == "CATEGORY":
        name = str(value)
        found = re.match(
            {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}[name.split("_")[-1]], letter
        )
        return (found is not None) != ("NOT" in name)
    return False


@dataclass(frozen=True, slots=True)
class _Ways:
    """Texts that parts of a pattern match."""

    letters: str
    ignore_case: bool

    def sample(self, tree, number=0):
        """A text that the tree matches, of its shortest; `number` chooses among the letters."""
        return "".join(self._of(str(op), value, number) for op, value in tree)

    def _of(self, name, value, number):
        if name in ("LITERAL", "NOT_LITERAL", "IN", "ANY"):
            fitting = self.fitting(name, value)
            return fitting[number % len(fitting)] if fitting else ""
        if name in REPEATS:
            return self.sample(value[2], number) * max(value[0], 1 if number else 0)
        if name == "BRANCH":
            return self.sample(value[1][number % len(value[1])], number)
        if name in ("ASSERT", "ASSERT_NOT"):
            return ""
        return "".join(self.sample(inner, number) for inner in _inside(name, value))

    def fitting(self, name, value):
        if name == "LITERAL":
            return [chr(value)]
        value = _hashable(value)
        return [x for x in self.letters if _fits(name, value, x, self.ignore_case)]

    def repeats(self, tree, head):
        """What may be said many times, each with what stands before it."""
        for op, value in tree:
            name = str(op)
            if name in REPEATS and value[1] >= MANY:
                bodies = self._bodies(value[2])
                yield from ((head, body) for body in bodies)
            for inner in _inside(name, value):
                yield from self.repeats(inner, head)
            head += self._of(name, value, 0)

    def _bodies(self, body):
        parts = list(body)
        if len(parts) == 1 and str(parts[0][0]) in ("LITERAL", "NOT_LITERAL", "IN", "ANY"):
            return self.fitting(str(parts[0][0]), parts[0][1])
        return list(filter(None, {self.sample(body, number) for number in range(6)}))
