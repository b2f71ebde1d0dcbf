"""Finds patterns that `re` may match in more than one way, and so in more than linear time.

A pattern becomes an automaton, with a loop in front of it for the places at which a search begins. The time is linear if no text
leads from a loop to itself, from it to another loop, and from that one to itself (infinite ambiguity), and if no text leads from
a state to itself in two ways (exponential ambiguity). Source: Weber and Seidl, "On the degree of ambiguity of finite automata"
(1991).
"""

import re
import re._constants as kinds
import re._parser as parser
from collections.abc import Sequence
from itertools import product
from typing import Any

MANY = 100  # repetitions from which on a bounded repeat counts as unbounded
ONE = (kinds.LITERAL, kinds.NOT_LITERAL, kinds.ANY, kinds.IN)  # what takes one character
COPIES = 2  # of the part of a bounded repeat
_SAMPLE = " \n\t\x1f7aZ_-.,:;|=/()[]{}<>\"'#*+\\xé٣€"
_CATEGORIES = {
    kinds.CATEGORY_DIGIT: str.isdecimal,
    kinds.CATEGORY_SPACE: str.isspace,
    kinds.CATEGORY_WORD: lambda c: c.isalnum() or c == "_",
}
_OPPOSITES = {
    kinds.CATEGORY_NOT_DIGIT: kinds.CATEGORY_DIGIT,
    kinds.CATEGORY_NOT_SPACE: kinds.CATEGORY_SPACE,
    kinds.CATEGORY_NOT_WORD: kinds.CATEGORY_WORD,
}
NEWLINE = "\n"
Before = str  # the kind of the character before a place: one of KINDS
KINDS = ("line", "blank", "word", "other")


def _kind(c: str) -> Before:
    return "line" if c == NEWLINE else "blank" if c.isspace() else "word" if c.isalnum() or c == "_" else "other"


class Automaton:
    """The states of a pattern: edges that take one of some characters, and free ones under a condition on the next character."""

    def __init__(self, pattern: str, search: bool, whole: bool, flags: int) -> None:
        tree = parser.parse(pattern, flags)
        self.flags = tree.state.flags | flags
        alphabet: set[str] = set(_SAMPLE)
        _letters(tree, alphabet)
        self.alphabet = frozenset(alphabet)
        self.edges: list[list[tuple[frozenset[str], int]]] = []
        self.kinds = {kind: frozenset(c for c in alphabet if _kind(c) == kind) for kind in KINDS}
        # The characters of which one must follow, the kinds of which one must stand before, and the next state.
        self.free: list[list[tuple[frozenset[str], Sequence[Before], int]]] = []
        start = self._state()
        if search:
            self.edges[start].append((self.alphabet, start))
        self.end = self._build(tree, start)
        if whole:
            self.end, before = self._state(), self.end
            self._skip(before, self.end, frozenset())

    def _state(self) -> int:
        self.edges.append([])
        self.free.append([])
        return len(self.edges) - 1

    def _step(self, start: int, characters: frozenset[str]) -> int:
        end = self._state()
        self.edges[start].append((characters, end))
        return end

    def _skip(
        self, start: int, end: int, following: frozenset[str] | None = None, before: Sequence[Before] = KINDS
    ) -> None:
        self.free[start].append((self.alphabet if following is None else following, before, end))

    def _build(self, items: Any, start: int) -> int:
        """Adds the items behind a state, and returns the state behind them."""
        for kind, given in items:
            start = self._add(kind, given, start)
        return start

    def _add(self, kind: Any, given: Any, start: int) -> int:
        if kind in ONE:
            return self._step(start, self._characters(kind, given))
        if kind in (kinds.MAX_REPEAT, kinds.MIN_REPEAT, kinds.POSSESSIVE_REPEAT):
            return self._repeat(kind, given, start)
        if kind is kinds.BRANCH:
            end = self._state()
            for option in given[1]:
                self._skip(self._build(option, self._place(start, KINDS)), end)
            return end
        if kind in (kinds.SUBPATTERN, kinds.ATOMIC_GROUP):
            return self._build(given[3] if kind is kinds.SUBPATTERN else given, start)
        return self._look(kind, given, start) if kind in (kinds.ASSERT, kinds.ASSERT_NOT) else self._at(given, start)

    def _look(self, kind: Any, given: Any, start: int) -> int:
        """Adds what must be behind or ahead, or must not."""
        direction, items = given
        if kind is kinds.ASSERT_NOT and direction < 0 and len(items) == 1 and items[0][0] in ONE:
            wrong = self._characters(*items[0])  # a kind of which only some characters are wrong stays possible
            return self._place(start, [k for k in KINDS if k == "line" or not self.kinds[k] <= wrong])
        if direction > 0:  # what is ahead is tried, and then the same text again
            self._build(items, self._place(start, KINDS))
        return start

    def _at(self, given: Any, start: int) -> int:
        """Adds a condition of the place."""
        if given in (kinds.AT_BEGINNING, kinds.AT_BEGINNING_STRING):
            return self._place(start, ["line"])
        end = self._state()
        if given is kinds.AT_BOUNDARY:
            self._skip(start, end, self.alphabet - self.kinds["word"], ["word"])
            self._skip(start, end, self.kinds["word"], [k for k in KINDS if k != "word"])
        else:
            self._skip(start, end, frozenset(NEWLINE) if given is kinds.AT_END else None)
        return end

    def _place(self, start: int, before: Sequence[Before]) -> int:
        end = self._state()
        self._skip(start, end, before=before)
        return end

    def _repeat(self, kind: Any, given: Any, start: int) -> int:
        least, most, part = given
        for _ in range(min(least, COPIES)):
            start = self._build(part, start)
        end = self._state()
        after = None
        if kind is kinds.POSSESSIVE_REPEAT and len(part) == 1 and part[0][0] in ONE:
            after = self.alphabet - self._characters(*part[0])
        if most >= MANY:
            loop = self._state()
            self._skip(start, loop)
            self._skip(self._build(part, loop), loop)
            self._skip(loop, end, after)
            return end
        self._skip(start, end, after)
        for _ in range(min(most - least, COPIES)):
            start = self._build(part, start)
            self._skip(start, end, after)
        return end

    def _characters(self, kind: Any, given: Any) -> frozenset[str]:
        return frozenset(c for c in self.alphabet if _takes(kind, given, c, self.flags))

    def moves(self, state: int, before: Before) -> tuple[list[tuple[frozenset[str], int]], bool]:
        """Returns the characters with the states that follow, one for each way, and whether the pattern fits at once."""
        pending, seen, moves, fits = [(state, self.alphabet)], set(), [], False
        while pending:
            at, allowed = pending.pop()
            if (at, allowed) in seen:
                continue
            seen.add((at, allowed))
            fits = fits or (at == self.end and allowed == self.alphabet)
            moves += [(characters & allowed, end) for characters, end in self.edges[at] if characters & allowed]
            pending += [(end, allowed & following) for following, places, end in self.free[at] if before in places]
        return moves, fits


def _takes(kind: Any, given: Any, c: str, flags: int) -> bool:
    if kind is kinds.LITERAL or kind is kinds.NOT_LITERAL:
        same = chr(given) == c or (bool(flags & re.IGNORECASE) and chr(given).casefold() == c.casefold())
        return same == (kind is kinds.LITERAL)
    if kind is kinds.ANY:
        return c != NEWLINE or bool(flags & re.DOTALL)
    negated = given[0][0] is kinds.NEGATE
    return any(_in(option, c, flags) for option in given[negated:]) != negated


def _in(option: Any, c: str, flags: int) -> bool:
    kind, given = option
    if kind is kinds.RANGE:
        return given[0] <= ord(c) <= given[1] or (
            bool(flags & re.IGNORECASE) and given[0] <= ord(c.swapcase()[0]) <= given[1]
        )
    if kind is kinds.CATEGORY:
        return _CATEGORIES[given](c) if given in _CATEGORIES else not _CATEGORIES[_OPPOSITES[given]](c)
    return _takes(kind, given, c, flags)


def _letters(items: Any, alphabet: set[str]) -> None:
    if isinstance(items, parser.SubPattern | list | tuple):
        if len(items) == 2 and items[0] in (kinds.LITERAL, kinds.NOT_LITERAL):
            alphabet.add(chr(items[1]))
        elif len(items) == 2 and items[0] is kinds.RANGE:
            alphabet.update(map(chr, items[1]))
        else:
            for item in items:
                _letters(item, alphabet)


State = tuple[int, Before]


class _Graph:
    """The states that can be reached, with a move for each set of characters. From a state that fits nothing else is tried."""

    def __init__(self, automaton: Automaton) -> None:
        self.next: dict[State, list[tuple[frozenset[str], State]]] = {}
        pending: list[State] = [(0, kind) for kind in KINDS]
        while pending:
            state = pending.pop()
            if state in self.next:
                continue
            moves, fits = automaton.moves(*state)
            parts = ((characters & automaton.kinds[kind], (end, kind)) for characters, end in moves for kind in KINDS)
            self.next[state] = [] if fits else [(part, end) for part, end in parts if part]
            pending += [end for _, end in self.next[state]]
        self.reached = {state: self._reach(state) for state in self.next}
        self.looping = [state for state in self.next if state in self.reached[state]]

    def _reach(self, state: State) -> set[State]:
        seen: set[State] = set()
        pending = [end for _, end in self.next[state]]
        while pending:
            if (at := pending.pop()) not in seen:
                seen.add(at)
                pending += [end for _, end in self.next[at]]
        return seen


def find_ambiguity(pattern: str, *, search: bool = True, whole: bool = False, flags: int = int(re.MULTILINE)) -> str:
    """Returns why the time of the pattern may be more than linear, "" if it is linear.

    `search`: it is looked for at all places. `whole`: it must fit the whole text.
    """
    graph = _Graph(Automaton(pattern, search, whole, flags))
    if any(_is_doubled(graph, state) for state in graph.looping):
        return "exponential: a text leads from a state to itself in two ways"
    pairs = ((p, q) for p in graph.looping for q in graph.looping if p[0] != q[0] and q in graph.reached[p])
    if any(_is_crossed(graph, p, q) for p, q in pairs):
        return "polynomial: two repeats take the same text"
    return ""


def _is_crossed(graph: _Graph, p: State, q: State) -> bool:
    """Returns whether a text leads from p to p, from p to q, and from q to q."""
    seen, pending = set(), [(p, p, q)]
    while pending:
        a, b, c = pending.pop()
        for first, x in graph.next[a]:
            if p not in graph.reached[x] and x != p:
                continue
            for third, z in graph.next[c]:
                if not first & third or (q not in graph.reached[z] and z != q):
                    continue
                for second, y in graph.next[b]:
                    if first & third & second and (x, y, z) not in seen:
                        if (x, y, z) == (p, q, q):
                            return True
                        seen.add((x, y, z))
                        pending.append((x, y, z))
    return False


def _is_doubled(graph: _Graph, p: State) -> bool:
    """Returns whether a text leads from p to p in two ways that differ in a state."""
    seen, pending = set(), [(p, p, False)]
    while pending:
        a, b, apart = pending.pop()
        for (i, (first, x)), (j, (second, y)) in product(enumerate(graph.next[a]), enumerate(graph.next[b])):
            if not first & second or not all(s == p or p in graph.reached[s] for s in (x, y)):
                continue
            split = apart or x != y or (a == b and i != j)
            if (x, y, split) not in seen:
                if x == y == p and split:
                    return True
                seen.add((x, y, split))
                pending.append((x, y, split))
    return False
