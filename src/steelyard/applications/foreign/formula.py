"""Formulas of a description: numbers, names, + - * / // % ** and a few functions. A formula is never executed as Python code."""

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping

from steelyard.model import Scalar

LONGEST = 1000  # characters: a longer formula is a mistake
GREATEST = 1e30  # limit of each result and intermediate result: no memory has so many bytes
HIGHEST = 64  # greatest exponent

Number = int | float


def find_divisor(number: Number, most: Number) -> int:
    """Returns the greatest divisor of a whole number that is at most `most`, for a grid of ranks."""
    whole = int(number)
    if not 1 <= whole <= 10_000_000:
        raise ValueError(f"divisor() needs a number from 1 to 10000000, not {number:g}")
    return next(d for d in range(max(1, min(whole, int(most))), 0, -1) if whole % d == 0)


FUNCTIONS: Mapping[str, Callable[..., Number]] = {
    "min": min,
    "max": max,
    "floor": math.floor,
    "sqrt": math.sqrt,
    "round": round,
    "divisor": find_divisor,
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


def list_names(formula: str) -> set[str]:
    """Returns the names that a formula needs. ValueError if it is not a formula."""
    tree = _parse(formula)
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in called}


def evaluate(formula: str, variables: Mapping[str, Scalar]) -> Number:
    """Evaluates a formula. ValueError if it has no value."""
    try:
        return _evaluate_node(_parse(formula), variables)
    except (ArithmeticError, TypeError, RecursionError) as error:
        raise ValueError(f"'{formula}' cannot be evaluated: {error}") from None


def fill_in(text: str, variables: Mapping[str, Scalar]) -> str:
    """Replaces each {{formula}} in a text by its value. A name may also stand for a word."""

    def one(hole: re.Match[str]) -> str:
        inside = hole[1].strip()
        if isinstance(word := variables.get(inside), str):
            return word
        number = evaluate(inside, variables)
        return str(int(number)) if number == int(number) else repr(float(number))

    end = _find_last_end(text)
    return _HOLE.sub(one, text[:end]) + text[end:]


def list_formulas(text: str) -> list[str]:
    """Returns the formulas in a text."""
    return [hole.strip() for hole in _HOLE.findall(text[: _find_last_end(text)])]


def _find_last_end(text: str) -> int:
    """Returns where the last hole ends. Without this limit, each later {{ would be searched to the end of the text."""
    end = text.rfind("}}")
    return 0 if end < 0 else end + 2


def _parse(formula: str) -> ast.expr:
    if len(formula) > LONGEST:
        raise ValueError(f"the formula has {len(formula)} characters: at most {LONGEST} are allowed")
    try:
        tree = ast.parse(formula.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(f"'{formula}' is not a formula: expected, for example, floor(sqrt(memory / 8))") from None
    for node in ast.walk(tree):
        _expect(node, formula)
    return tree


def _expect(node: ast.AST, formula: str) -> None:
    """ValueError for a part that formulas do not have."""
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
            f"'{shown}' in '{formula}' is not allowed: expected numbers, names, + - * / // % ** and {', '.join(FUNCTIONS)}"
        )


def _evaluate_node(node: ast.expr, variables: Mapping[str, Scalar]) -> Number:
    match node:
        case ast.Constant(value=int() | float() as number):
            result: Number = number
        case ast.Name(id=name):
            result = _read_variable(name, variables)
        case ast.UnaryOp(op=op, operand=operand):
            inner = _evaluate_node(operand, variables)
            result = -inner if isinstance(op, ast.USub) else inner
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            result = _raise_to_power(_evaluate_node(left, variables), _evaluate_node(right, variables))
        case ast.BinOp(left=left, op=op, right=right):
            result = _BINARY[type(op)](_evaluate_node(left, variables), _evaluate_node(right, variables))
        case ast.Call(func=ast.Name(id=name), args=given):
            result = FUNCTIONS[name](*(_evaluate_node(argument, variables) for argument in given))
        case _:
            raise ValueError(f"'{ast.unparse(node)}' is not allowed in a formula")
    if isinstance(result, complex) or not abs(result) <= GREATEST:
        raise ValueError(f"'{ast.unparse(node)}' is above the limit of {GREATEST:g}")
    return result


def _read_variable(name: str, variables: Mapping[str, Scalar]) -> Number:
    number = variables.get(name)
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise ValueError(f"'{name}' is not the name of a number here: expected one of {', '.join(sorted(variables))}")
    return number


def _raise_to_power(base: Number, exponent: Number) -> Number:
    if abs(exponent) > HIGHEST:
        raise ValueError(f"the exponent {exponent:g} is above the limit of {HIGHEST}")
    power: Number = base**exponent
    return power
