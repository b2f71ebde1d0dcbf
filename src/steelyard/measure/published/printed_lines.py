"""The figures of the library as lines beside the measured ones of a figure. They are hidden until the reader chooses a system."""

from collections.abc import Mapping, Sequence

from steelyard.measure.published.our_case import NODE, UNIT, OurCase
from steelyard.measure.published.system import Figure, System
from steelyard.measure.published.system_library import list_shipped
from steelyard.model import Scalar
from steelyard.model.figure import Series
from steelyard.model.words import find_words

TELLING = (
    "transport",
    "variant",
    "stores",
    "compiler",
    "memory_policy",
)  # parameters that name the lines of one system
LIMIT = "limit"
EVERYWHERE: Mapping[str, Scalar | None] = {}


def draw_printed(
    benchmark: str, kernel: str, metric: str, x: str, own: Sequence[Series], *, levels: bool = True, words: str = "",
    where: Mapping[str, Scalar | None] = EVERYWHERE, limits: bool = False,
) -> tuple[Series, ...]:  # fmt: skip
    """Returns what the systems of the library have of this metric of a kernel, over the parameter `x`.

    A number is a level line over the width of the measured lines `own` if its source does not print `x`, or prints 0, which a
    logarithmic axis does not have. Without `levels`, such numbers are not drawn. If `own` is over words, so are the lines.
    `words` follow the system in the name of a line. `where` has parameters that a case must have; None: must not have.
    `limits`: the limits that were printed beside the numbers, instead of the numbers.
    """
    over_words = any(isinstance(at, str) for line in own for at in line.x)
    width = [float(at) for line in own for at in line.x if isinstance(at, int | float) and at > 0]
    if not width and not over_words:
        return ()
    lines: dict[str, list[tuple[float | str, float]]] = {}
    found = [f for f in _find(benchmark, kernel, metric, where) if not limits or f[1].limit]
    along = {system.name for system, _, case in found if _position(case, x, over_words)}
    for system, figure, case in found:
        at = _position(case, x, over_words)
        value = (figure.limit if limits and figure.limit else figure.value) * case.share
        told = (find_words(n, v) or f"{v} {n}" for n in TELLING if (v := case.parameters.get(n)) is not None)
        rest = ", ".join([*told, *([LIMIT] if limits else [])])
        if at:
            lines.setdefault(_name(system, words, rest), []).append((at, value))
        elif not levels or over_words:
            continue
        elif case.parameters.get(x) != 0 or system.name not in along:
            zero = f"{x.replace('_', ' ')} 0" if case.parameters.get(x) == 0 else ""
            name = _name(system, words, figure.conditions or rest, case.note, zero)
            lines[name] = [(min(width), value), (max(width), value)]
    return tuple(_line(name, points if over_words else sorted(points)) for name, points in lines.items())


def _line(name: str, points: Sequence[tuple[float | str, float]]) -> Series:
    is_number = all(isinstance(at, float) for at, _ in points)
    places, values = tuple(at for at, _ in points), tuple(value for _, value in points)
    return Series(name, places, values, published=True, connected=is_number)


def _position(case: OurCase, x: str, over_words: bool) -> float | str:
    """Returns the value of `x`; nothing (0 or "") also if the source does not print it, or prints a word beside numbers."""
    at = case.parameters.get(x)
    if over_words:
        return at if isinstance(at, str) else ""
    return float(at) if isinstance(at, int | float) else 0.0


def _find(
    benchmark: str, kernel: str, metric: str, where: Mapping[str, Scalar | None]
) -> list[tuple[System, Figure, OurCase]]:
    """Returns the figures with this case, the first of its benchmark; of data sheets only those of a node."""
    return [
        (system, figure, case)
        for system in list_shipped()
        for figure in system.figures
        for case in [c for c in figure.cases if c.benchmark == benchmark][:1]
        if (case.benchmark, case.kernel, case.metric) == (benchmark, kernel, metric)
        and case.parameters.get(UNIT, NODE) == NODE
        and all(case.parameters.get(name) == value for name, value in where.items())
    ]


def _name(system: System, *words: str) -> str:
    rest = ", ".join(filter(None, words))
    return f"{system.name} ({rest})" if rest else system.name
