"""Formulas of a description: numbers, names, + - * / // % ** and a few functions. They are read as a tree and never executed."""

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping

from steelyard.model import Scalar

LONGEST = 1000  # letters: a formula that is longer is a mistake
GREATEST = 1e30  # of a result, and of what stands in between: no memory has as many bytes
HIGHEST = 64  # exponent

Number = int | float


def divisor(number: Number, most: Number) -> int:
    """The greatest divisor of a whole number that is not above `most`: how ranks make a grid."""
    whole = int(number)
    if not 1 <= whole <= 10_000_000:
        raise ValueError(f"divisor() of {number:g}: expected 1 to 10000000")
    return next(d for d in range(max(1, min(whole, int(most))), 0, -1) if whole % d == 0)


FUNCTIONS: Mapping[str, Callable[..., Number]] = {
    "min": min,
    "max": max,
    "floor": math.floor,
    "sqrt": math.sqrt,
    "round": round,
    "divisor": divisor,
}
_BINARY: Mapping[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_HOLE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)


def names(formula: str) -> set[str]:
    """The names that it needs. ValueError, a sentence, for what is no formula."""
    tree = _tree(formula)
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in called}


def value(formula: str, known: Mapping[str, Scalar]) -> Number:
    """What it comes to. ValueError, a sentence, where it cannot be worked out."""
    try:
        return _value(_tree(formula), known)
    except (ArithmeticError, TypeError, RecursionError) as error:
        raise ValueError(f"'{formula}' cannot be worked out: {error}") from None


def filled(text: str, known: Mapping[str, Scalar]) -> str:
    """The text with what stands for each {{formula}} in it; a word may stand for itself."""

    def one(hole: re.Match[str]) -> str:
        inside = hole[1].strip()
        if isinstance(word := known.get(inside), str):
            return word
        number = value(inside, known)
        return str(int(number)) if number == int(number) else repr(float(number))

    end = _last(text)
    return _HOLE.sub(one, text[:end]) + text[end:]


def holes(text: str) -> list[str]:
    """The formulas in a text."""
    return [hole.strip() for hole in _HOLE.findall(text[: _last(text)])]


def _last(text: str) -> int:
    """Where the last hole may end. Behind it each {{ would be searched to the end of the text."""
    found = text.rfind("}}")
    return 0 if found < 0 else found + 2


def _tree(formula: str) -> ast.expr:
    if len(formula) > LONGEST:
        raise ValueError(f"a formula has at most {LONGEST} letters, this one has {len(formula)}")
    try:
        tree = ast.parse(formula.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(f"'{formula}' is no formula: expected as in floor(sqrt(memory / 8))") from None
    for node in ast.walk(tree):
        _expect(node, formula)
    return tree


def _expect(node: ast.AST, formula: str) -> None:
    """ValueError for all that a formula does not have."""
    if isinstance(node, ast.Constant):
        fine = type(node.value) in (int, float)
    elif isinstance(node, ast.Call):
        fine = isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS and not node.keywords
    else:
        signs = (ast.UnaryOp, ast.UAdd, ast.USub)
        fine = isinstance(node, (ast.BinOp, ast.Name, ast.expr_context, ast.Pow, *_BINARY, *signs))
    if not fine:
        shown = ast.unparse(node) if isinstance(node, ast.expr) else type(node).__name__
        raise ValueError(
            f"'{shown}' in '{formula}' is not possible: expected numbers, names, + - * / // % ** and {', '.join(FUNCTIONS)}"
        )


def _value(node: ast.expr, known: Mapping[str, Scalar]) -> Number:
    match node:
        case ast.Constant(value=int() | float() as number):
            found: Number = number
        case ast.Name(id=name):
            found = _named(name, known)
        case ast.UnaryOp(op=op, operand=operand):
            inner = _value(operand, known)
            found = -inner if isinstance(op, ast.USub) else inner
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            found = _power(_value(left, known), _value(right, known))
        case ast.BinOp(left=left, op=op, right=right):
            found = _BINARY[type(op)](_value(left, known), _value(right, known))
        case ast.Call(func=ast.Name(id=name), args=given):
            found = FUNCTIONS[name](*(_value(each, known) for each in given))
        case _:
            raise ValueError(f"'{ast.unparse(node)}' is not possible in a formula")
    if isinstance(found, complex) or not abs(found) <= GREATEST:
        raise ValueError(f"'{ast.unparse(node)}' is beyond {GREATEST:g}")
    return found


def _named(name: str, known: Mapping[str, Scalar]) -> Number:
    number = known.get(name)
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise ValueError(f"'{name}' is no number that is known here: {', '.join(sorted(known))}")
    return number


def _power(base: Number, exponent: Number) -> Number:
    if abs(exponent) > HIGHEST:
        raise ValueError(f"the exponent {exponent:g} is beyond {HIGHEST}")
    found: Number = base**exponent
    return found
