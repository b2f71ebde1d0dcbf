"""The library of systems: its systems, all their figures, and the keys of a file of a user."""

from sources.tables import table
from steelyard.measure.published.system import System, count_comparable, describe_figure
from steelyard.measure.published.system_library import list_shipped
from steelyard.measure.published.system_reader import FIGURE_KEYS, KEYS


def listed() -> str:
    """Returns the table of all shipped systems, the newest first."""
    ordered = sorted(list_shipped(), key=lambda system: (-(system.year or 0), system.name))
    return table(("system", "year", "kind", "figures", "source"), map(_system, ordered))


def figures() -> str:
    """Returns for each shipped system a table: the printed number, its place, and what it is compared with or why not."""
    return "\n".join(
        f"### {system.name}\n\n{table(('figure', 'printed', 'place', 'compared with'), map(list, _figures(system)))}"
        for system in list_shipped()
    )


def keys() -> str:
    """Returns the keys of the file of a system, and of each of its figures."""
    of_figure = [(f"`figures.{key}`", meaning) for key, meaning in FIGURE_KEYS.items()]
    return table(("key", "value"), [*((f"`{key}`", meaning) for key, meaning in KEYS.items()), *of_figure])


def _system(system: System) -> tuple[str, ...]:
    count = f"{count_comparable(system)} of {len(system.figures)}"
    return (system.name, str(system.year or ""), system.kind, count, system.source)


def _figures(system: System) -> list[tuple[str, ...]]:
    described = ((describe_figure(figure), figure) for figure in system.figures)
    return [(name, figure.printed, figure.place, matched) for (name, matched), figure in described]
