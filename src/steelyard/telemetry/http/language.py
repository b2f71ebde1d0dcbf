"""PromQL: read by promql-parser, and turned into the few forms that are evaluated here. All else is refused by name.

The parser descends into what is nested, and a query that is nested deeply enough would end the process: so its words are
counted before it is parsed.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, cast

from steelyard.errors import UsageError
from steelyard.telemetry.http.series import NAME, Matcher, Sign

LONGEST = 16_000  # characters of a query
# Words and signs of a query beside its strings. A stack of 1 MiB holds 800 levels of anything; a word is at most one level.
MOST_WORDS = 500
FARTHEST = 100 * 365 * 86400 * 10**9  # ns: of ranges and offsets

OVER_TIME = ("avg_over_time", "min_over_time", "max_over_time", "sum_over_time", "count_over_time")
OF_COUNTERS = ("rate", "increase")
GROUPED = ("sum", "avg", "min", "max", "count")
SIGNS = ("+", "-", "*", "/", "%", "^")
_HIDDEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|`[^`]*`|#[^\n]*', re.DOTALL)
# The parser dies of a length of time that is no number, or too large a one.
_ENDLESS = re.compile(r"(?i)(?:\boffset\b|[\[:@])[\s+-]*(?:nan\b|inf\b|0x|[\d.]*e[+\d]|\d{19})")
_COMPARED: dict[str, Sign] = {"Equal": "=", "NotEqual": "!=", "Re": "=~", "NotRe": "!~"}


@dataclass(frozen=True, slots=True)
class Number:
    value: float


@dataclass(frozen=True, slots=True)
class Selector:
    """Series as they are at a moment `offset` ns before."""

    matchers: tuple[Matcher, ...]
    offset: int


@dataclass(frozen=True, slots=True)
class Window:
    """A function of what series were in the `length` ns before each moment."""

    function: str
    of: Selector
    length: int


@dataclass(frozen=True, slots=True)
class Group:
    """Series that agree in `labels` (`by`), or in all but these, made one."""

    function: Literal["sum", "avg", "min", "max", "count"]
    by: bool
    labels: tuple[str, ...]
    of: "Expression"


@dataclass(frozen=True, slots=True)
class Arithmetic:
    sign: str
    left: "Expression"
    right: "Expression"


@dataclass(frozen=True, slots=True)
class Negative:
    of: "Expression"


Expression = Number | Selector | Window | Group | Arithmetic | Negative


def parsed(text: str) -> Expression:
    """The query as what is evaluated here. UsageError for one that is none, is too long, or is not supported."""
    return _expression(_read(text))


def selector(text: str) -> Selector:
    """What `match[]` holds: a selector without an offset. UsageError for anything else."""
    found = parsed(text)
    if not isinstance(found, Selector) or found.offset:
        raise UsageError(f"match[] takes a selector such as {{system=\"cluster\"}}, not '{_short(text)}'.")
    return found


def _read(text: str) -> Any:
    import promql_parser

    if not text.strip():
        raise UsageError("There is no query. Give one, as query=steelyard_power_watts.")
    if len(text) > LONGEST:
        raise UsageError(f"The query has {len(text)} characters; at most {LONGEST} are taken.")
    bare = _HIDDEN.sub(" ", text)
    words = len(re.findall(r"\w+|[^\w\s]", bare))
    if words > MOST_WORDS:
        raise UsageError(f"The query has {words} words and signs beside its strings; at most {MOST_WORDS} are taken.")
    if _ENDLESS.search(bare):
        raise UsageError("A range or offset is a length of time such as 5m or 1h30m, of a hundred years at most.")
    try:
        return promql_parser.parse(text)
    except (ValueError, OverflowError, RecursionError) as error:
        raise UsageError(f"The query '{_short(text)}' is no PromQL: {error}.") from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of Rust; it is no Exception
            raise
        raise UsageError(f"The query '{_short(text)}' is no PromQL that can be read.") from None


def _expression(node: Any) -> Expression:
    kind = type(node).__name__
    make = _KINDS.get(kind)
    if make is None:
        raise UsageError(_UNKNOWN.get(kind, f"The query holds what is not supported here: {kind}."))
    return make(node)


def _selector(node: Any) -> Selector:
    if node.at is not None:
        raise UsageError("The modifier @ is not supported here.")
    if node.matchers.or_matchers:
        raise UsageError("'or' between matchers of a selector is not supported here.")
    found = [Matcher(m.name, _COMPARED[str(m.op).rpartition(".")[2]], m.value) for m in node.matchers.matchers]
    if node.name:
        found.append(Matcher(NAME, "=", node.name))
    return Selector(tuple(found), _nanoseconds(node.offset) if node.offset else 0)


def _call(node: Any) -> Window:
    name = node.func.name
    if name not in OVER_TIME + OF_COUNTERS:
        raise UsageError(
            f"The function {name} is not supported here; those that are: {', '.join(OF_COUNTERS + OVER_TIME)}."
        )
    of = node.args[0]
    while type(of).__name__ == "ParenExpr":
        of = of.expr
    if type(of).__name__ != "MatrixSelector":
        raise UsageError(
            f"{name} takes a selector with a range here, as {name}(steelyard_power_watts[5m]); no subquery."
        )
    return Window(name, _selector(of.vector_selector), _nanoseconds(of.range))


def _group(node: Any) -> Group:
    name = str(node.op)
    if name not in GROUPED or node.param is not None:
        raise UsageError(f"The aggregation {name} is not supported here; those that are: {', '.join(GROUPED)}.")
    function = cast(Literal["sum", "avg", "min", "max", "count"], name)
    if node.modifier is None:
        return Group(function, True, (), _expression(node.expr))
    by = str(node.modifier.type).endswith("By")
    return Group(function, by, tuple(node.modifier.labels), _expression(node.expr))


def _arithmetic(node: Any) -> Arithmetic:
    sign = str(node.op)
    if sign not in SIGNS:
        raise UsageError(f"The operator {sign} is not supported here; those that are: {' '.join(SIGNS)}.")
    if node.modifier is not None and (node.modifier.matching is not None or node.modifier.group_labels):
        raise UsageError(
            "on, ignoring, group_left and group_right are not supported here: both sides need the same labels."
        )
    return Arithmetic(sign, _expression(node.lhs), _expression(node.rhs))


def _nanoseconds(length: timedelta) -> int:
    found = (length // timedelta(microseconds=1)) * 1000
    if abs(found) > FARTHEST:
        raise UsageError("A range or offset of more than a hundred years is not taken.")
    return found


def _short(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:150]} … {text[-30:]}"


_KINDS: dict[str, Callable[[Any], Expression]] = {
    "NumberLiteral": lambda node: Number(node.val),
    "VectorSelector": _selector,
    "Call": _call,
    "AggregateExpr": _group,
    "BinaryExpr": _arithmetic,
    "UnaryExpr": lambda node: Negative(_expression(node.expr)),
    "ParenExpr": lambda node: _expression(node.expr),
}
_UNKNOWN = {
    "MatrixSelector": "A range of readings, as x[5m], is only taken by a function, as avg_over_time(x[5m]); "
    "the readings themselves are at /api/steelyard/trace.",
    "SubqueryExpr": "Subqueries, as x[5m:1m], are not supported here.",
    "StringLiteral": "A string is no query here.",
}
